//! Modes of locks, and which of them two transactions cannot hold at once.
//!
//! ```text
//!   rows                KEY SHARE   SHARE   NO KEY UPDATE   UPDATE
//!     KEY SHARE             .         .           .            x       a foreign key looks at its parent
//!     SHARE                 .         .           x            x
//!     NO KEY UPDATE         .         x           x            x       a change that leaves the keys alone
//!     UPDATE                x         x           x            x
//!
//!   relations           AS   RS   RE   SUE   S   SRE   E   AE
//!     ACCESS SHARE       .    .    .    .    .    .    .    x
//!     ROW SHARE          .    .    .    .    .    .    x    x
//!     ROW EXCLUSIVE      .    .    .    .    x    x    x    x
//!     SHARE UPDATE EXC.  .    .    .    x    x    x    x    x
//!     SHARE              .    .    x    x    .    x    x    x
//!     SHARE ROW EXC.     .    .    x    x    x    x    x    x
//!     EXCLUSIVE          .    x    x    x    x    x    x    x
//!     ACCESS EXCLUSIVE   x    x    x    x    x    x    x    x
//! ```
//!
//! Both tables are PostgreSQL's. Two modes of relations are ours, because a query reads rows and schema
//! of one snapshot and no definition disturbs it: READ is the ACCESS SHARE of a query, and DEFINE the
//! ACCESS EXCLUSIVE of a definition. They conflict as those do, but not with each other, and READ waits
//! for nothing but the ACCESS EXCLUSIVE of `LOCK TABLE`.
//!
//! A lock knows its modes as a set of bits, rows' and relations' apart: a row and a relation that share
//! a hash do not even notice.

/// How strongly a row is locked, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowLock {
    /// Its keys stay as they are, and it stays: `FOR KEY SHARE`, and what a foreign key takes.
    KeyShare,
    /// It stays as it is: `FOR SHARE`.
    Share,
    /// It is changed, but for its keys: `FOR NO KEY UPDATE`.
    NoKeyUpdate,
    /// It is changed or removed: `FOR UPDATE`.
    Update,
}

/// How strongly a relation is locked: the modes of `LOCK TABLE`, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RelationLock {
    /// Conflicts with ACCESS EXCLUSIVE only.
    AccessShare,
    /// `SELECT ... FOR UPDATE` and the like.
    RowShare,
    /// Changes of rows.
    RowExclusive,
    /// Maintenance, one at a time.
    ShareUpdateExclusive,
    /// No changes of rows: `CREATE INDEX`.
    Share,
    /// As SHARE, one at a time.
    ShareRowExclusive,
    /// Only readers beside it.
    Exclusive,
    /// Excludes all others: `LOCK TABLE` without a mode.
    AccessExclusive,
    /// The lock of a query that reads. Conflicts with ACCESS EXCLUSIVE only, not with DEFINE.
    Read,
    /// Excludes all others but readers: `DROP TABLE`, most of `ALTER TABLE`.
    Define,
}

impl RelationLock {
    /// All modes, in the order of their numbers.
    const ALL: [RelationLock; 10] = [
        RelationLock::AccessShare,
        RelationLock::RowShare,
        RelationLock::RowExclusive,
        RelationLock::ShareUpdateExclusive,
        RelationLock::Share,
        RelationLock::ShareRowExclusive,
        RelationLock::Exclusive,
        RelationLock::AccessExclusive,
        RelationLock::Read,
        RelationLock::Define,
    ];
}

/// A set of modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modes(u16);

const ROW_MODES: u16 = 0b1111;

/// By the number of a mode: the modes of others that it cannot stand beside.
const CONFLICTS: [u16; 14] = [
    0b1000,
    0b1100,
    0b1110,
    0b1111,
    0b10_1000_0000 << 4,
    0b10_1100_0000 << 4,
    0b10_1111_0000 << 4,
    0b10_1111_1000 << 4,
    0b10_1110_1100 << 4,
    0b10_1111_1100 << 4,
    0b10_1111_1110 << 4,
    0b11_1111_1111 << 4,
    0b00_1000_0000 << 4,
    0b10_1111_1111 << 4,
];

impl From<RowLock> for Modes {
    fn from(strength: RowLock) -> Modes {
        Modes::of_row(strength)
    }
}

impl From<RelationLock> for Modes {
    fn from(mode: RelationLock) -> Modes {
        Modes(1 << (4 + mode as u16))
    }
}

impl Modes {
    pub(crate) const NONE: Modes = Modes(0);

    pub(crate) const fn of_row(strength: RowLock) -> Modes {
        Modes(1 << strength as u16)
    }

    /// Returns those of the modes that are modes of relations.
    pub(crate) fn relation_locks(self) -> impl Iterator<Item = RelationLock> {
        RelationLock::ALL.into_iter().filter(move |mode| self.meets(Modes::from(*mode)))
    }

    /// True of the modes of queries and changes of rows, which get along with one another.
    pub(crate) fn is_weak(self) -> bool {
        const WEAK: u16 = 0b01_0000_0111 << 4;
        self.0 & !WEAK == 0
    }

    /// True of the modes of relations that a weak one may be in the way of.
    pub(crate) fn is_strong(self) -> bool {
        const STRONG: u16 = 0b10_1111_0000 << 4;
        self.0 & STRONG != 0
    }

    /// All of them in 16 bits.
    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    /// The modes that [`Modes::bits`] gave.
    pub(crate) fn of_bits(bits: u16) -> Modes {
        Modes(bits)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn with(self, others: Modes) -> Modes {
        Modes(self.0 | others.0)
    }

    pub(crate) fn without(self, others: Modes) -> Modes {
        Modes(self.0 & !others.0)
    }

    pub(crate) fn meets(self, others: Modes) -> bool {
        self.0 & others.0 != 0
    }

    /// Returns the modes that another transaction cannot hold beside any of these.
    #[inline]
    pub(crate) fn conflicts(self) -> Modes {
        let mut rest = self.0;
        let mut all = 0;
        while rest != 0 {
            all |= CONFLICTS[rest.trailing_zeros() as usize];
            rest &= rest - 1;
        }
        Modes(all)
    }

    /// True if the owner of these keeps out all that `mode` would: it need not ask for `mode`.
    pub(crate) fn cover(self, mode: Modes) -> bool {
        mode.conflicts().without(self.conflicts()).is_empty()
    }

    /// True of the modes of relations: a new transaction does not overtake a waiting one. Of rows,
    /// a transaction that gets along with the owners goes in, so that no transaction waits for one
    /// that merely waits.
    pub(crate) fn queues_fairly(self) -> bool {
        self.0 & !ROW_MODES != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELATION: [RelationLock; 10] = RelationLock::ALL;
    const ROW: [RowLock; 4] =
        [RowLock::KeyShare, RowLock::Share, RowLock::NoKeyUpdate, RowLock::Update];

    fn picture<T: Copy + Into<Modes>>(modes: &[T]) -> Vec<String> {
        let cell =
            |one: T, other: T| if one.into().conflicts().meets(other.into()) { 'x' } else { '.' };
        modes.iter().map(|one| modes.iter().map(|other| cell(*one, *other)).collect()).collect()
    }

    /// The conflicts are those of PostgreSQL's manual, and mutual; readers and definitions pass each
    /// other by.
    #[test]
    fn conflicts_are_those_of_the_manual() {
        assert_eq!(picture(&ROW), ["...x", "..xx", ".xxx", "xxxx"]);
        assert_eq!(
            picture(&RELATION),
            [
                ".......x.x",
                "......xx.x",
                "....xxxx.x",
                "...xxxxx.x",
                "..xx.xxx.x",
                "..xxxxxx.x",
                ".xxxxxxx.x",
                "xxxxxxxxxx",
                ".......x..",
                "xxxxxxxx.x",
            ]
        );
        for one in RELATION.map(Modes::from) {
            assert!(!one.conflicts().meets(RowLock::Update.into()));
            for other in RELATION.map(Modes::from) {
                assert_eq!(one.conflicts().meets(other), other.conflicts().meets(one));
            }
        }
    }

    /// A weak mode conflicts with strong ones only, and SHARE UPDATE EXCLUSIVE is neither.
    #[test]
    fn weak_and_strong() {
        let strong: Vec<_> =
            RELATION.into_iter().filter(|mode| Modes::from(*mode).is_strong()).collect();
        assert_eq!(
            strong,
            [
                RelationLock::Share,
                RelationLock::ShareRowExclusive,
                RelationLock::Exclusive,
                RelationLock::AccessExclusive,
                RelationLock::Define,
            ]
        );
        for weak in RELATION.map(Modes::from).into_iter().filter(|mode| mode.is_weak()) {
            assert!(weak.conflicts().relation_locks().all(|mode| Modes::from(mode).is_strong()));
        }
    }

    /// Of rows a stronger lock covers the weaker ones; of relations SHARE and ROW EXCLUSIVE together
    /// cover neither more nor less than they say.
    #[test]
    fn stronger_locks_cover_weaker_ones() {
        for one in ROW {
            for other in ROW {
                assert_eq!(Modes::from(one).cover(other.into()), other <= one);
            }
        }
        let share = Modes::from(RelationLock::Share);
        assert!(!share.cover(RelationLock::RowExclusive.into()));
        let both = share.with(RelationLock::RowExclusive.into());
        assert!(both.cover(RelationLock::ShareRowExclusive.into()));
        assert!(!both.cover(RelationLock::Exclusive.into()));
        assert!(!Modes::NONE.cover(RelationLock::AccessShare.into()));
    }
}

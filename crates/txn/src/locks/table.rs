//! [`Locks`]: the locks of a shard of the table.
//!
//! ```text
//!   alone     7f..3a  T4 UPDATE      02..c1  T9 UPDATE  ...      16 bytes each: nearly all
//!   crowds    55..10  T4 KEY SHARE, T7 KEY SHARE; queue T8 UPDATE
//! ```
//!
//! A transaction that writes millions of rows has a lock on each, so one that has a single owner for whom nobody
//! waits takes no more than its hash, its owner and its modes.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::mode::Modes;
use super::{Acquired, RowHash, TxnId, WaitState, Waiter};

/// A lock that is held: by its first owner, and where it is shared or waited for by more.
pub(super) struct Lock {
    owner: TxnId,
    modes: Modes,
    pub(super) crowd: Option<Box<Crowd>>,
}

#[derive(Default)]
pub(super) struct Crowd {
    /// The owners beside the first.
    others: Vec<(TxnId, Modes)>,
    pub(super) queue: VecDeque<Arc<Waiter>>,
}

impl Lock {
    pub(super) fn owners(&self) -> impl Iterator<Item = (TxnId, Modes)> + '_ {
        let others = self.crowd.iter().flat_map(|crowd| crowd.others.iter().copied());
        std::iter::once((self.owner, self.modes))
            .chain(others)
            .filter(|(_, modes)| !modes.is_empty())
    }

    pub(super) fn queue(&self) -> impl Iterator<Item = &Arc<Waiter>> {
        self.crowd.iter().flat_map(|crowd| &crowd.queue)
    }

    fn waiter(&self, at: usize) -> Option<Arc<Waiter>> {
        self.crowd.as_ref()?.queue.get(at).map(Arc::clone)
    }

    pub(super) fn owned_by(&self, txn: TxnId) -> Modes {
        self.owners().find(|(owner, _)| *owner == txn).map_or(Modes::NONE, |(_, modes)| modes)
    }

    /// The owners that `txn` would have to wait for.
    pub(super) fn against(&self, txn: TxnId, modes: Modes) -> impl Iterator<Item = TxnId> + '_ {
        let conflicts = modes.conflicts();
        let against = move |(owner, held): &(TxnId, Modes)| *owner != txn && held.meets(conflicts);
        self.owners().filter(against).map(|(owner, _)| owner)
    }

    /// Gives `modes` to `txn` if no other owner conflicts; returns the bits that it had not.
    fn try_give(&mut self, txn: TxnId, modes: Modes) -> Option<Acquired> {
        if self.owner == txn && self.modes.cover(modes) {
            return Some(Acquired::Already);
        }
        let own = self.owned_by(txn);
        if own.cover(modes) {
            return Some(Acquired::Already);
        }
        if self.against(txn, modes).next().is_some() {
            return None;
        }
        let overtakes = own.is_empty()
            && modes.queues_fairly()
            && self.queue().any(|waiter| waiter.modes.conflicts().meets(modes));
        if overtakes {
            return None;
        }
        self.add(txn, modes);
        Some(Acquired::Now)
    }

    fn add(&mut self, txn: TxnId, modes: Modes) {
        if self.modes.is_empty() {
            (self.owner, self.modes) = (txn, modes);
        } else if self.owner == txn {
            self.modes = self.modes.with(modes);
        } else {
            let others = &mut self.crowd.get_or_insert_default().others;
            match others.iter_mut().find(|(owner, _)| *owner == txn) {
                Some((_, held)) => *held = held.with(modes),
                None => others.push((txn, modes)),
            }
        }
    }

    fn take(&mut self, txn: TxnId, modes: Modes) {
        if self.owner == txn && !self.modes.is_empty() {
            assert!(self.modes.without(modes) != self.modes, "only what is held is let go of");
            self.modes = self.modes.without(modes);
            if self.modes.is_empty()
                && let Some((owner, modes)) =
                    self.crowd.as_mut().and_then(|crowd| crowd.others.pop())
            {
                (self.owner, self.modes) = (owner, modes);
            }
            return;
        }
        let others = self.crowd.as_mut().map(|crowd| &mut crowd.others);
        let others = others.expect("only the owner lets go of a lock");
        let at = others.iter().position(|(owner, _)| *owner == txn);
        let at = at.expect("only the owner lets go of a lock");
        others[at].1 = others[at].1.without(modes);
        if others[at].1.is_empty() {
            others.swap_remove(at);
        }
    }

    /// Grants the lock to each waiter that no owner and no waiter before it conflicts with; false if the lock has
    /// no owner then.
    pub(super) fn hand_over(&mut self) -> bool {
        let mut at = 0;
        let mut ahead = Modes::NONE;
        while let Some(waiter) = self.waiter(at) {
            let Waiter { txn, modes, .. } = *waiter;
            let behind = modes.queues_fairly() && modes.conflicts().meets(ahead);
            if behind || self.against(txn, modes).next().is_some() {
                ahead = ahead.with(modes);
                at += 1;
                continue;
            }
            if let Some(crowd) = &mut self.crowd {
                crowd.queue.remove(at);
            }
            self.add(txn, modes);
            waiter.settle(WaitState::Granted);
        }
        self.crowd.take_if(|crowd| crowd.others.is_empty() && crowd.queue.is_empty());
        !self.modes.is_empty()
    }
}

/// The owner of a lock, and its modes.
#[derive(Clone, Copy)]
struct Alone(u64);

/// Bits of the modes.
const MODES_BITS: u32 = 16;
/// A shard keeps room for so many locks.
const ROOM_KEPT: usize = 1_024;

impl Alone {
    /// `None` for a transaction whose number is too large.
    fn new(txn: TxnId, modes: Modes) -> Option<Alone> {
        let number = txn.0 << MODES_BITS;
        (number >> MODES_BITS == txn.0).then_some(Alone(number).with(modes))
    }

    fn owner(self) -> TxnId {
        TxnId(self.0 >> MODES_BITS)
    }

    fn modes(self) -> Modes {
        Modes::of_bits(self.0 as u16)
    }

    /// The same owner with other modes.
    fn with(self, modes: Modes) -> Alone {
        Alone(self.0 >> MODES_BITS << MODES_BITS | u64::from(modes.bits()))
    }
}

/// The locks of a shard. Each is in one of both maps.
#[derive(Default)]
pub(super) struct Locks {
    alone: HashMap<RowHash, Alone, FixedState>,
    /// Locks that have, or had, several owners or a waiter.
    crowds: HashMap<RowHash, Lock, FixedState>,
}

impl Locks {
    /// How many locks there are.
    pub(super) fn len(&self) -> usize {
        self.alone.len() + self.crowds.len()
    }

    /// How many transactions wait.
    pub(super) fn waiting(&self) -> usize {
        self.crowds.values().map(|lock| lock.queue().count()).sum()
    }

    /// Calls `f` with the lock of a row; `None` if the row is not locked.
    pub(super) fn look<R>(&self, row: RowHash, f: impl FnOnce(&Lock) -> R) -> Option<R> {
        if let Some(lock) = self.crowds.get(&row) {
            return Some(f(lock));
        }
        let alone = self.alone.get(&row)?;
        Some(f(&Lock { owner: alone.owner(), modes: alone.modes(), crowd: None }))
    }

    /// The lock of a row, if it is one of the crowds.
    pub(super) fn get_mut(&mut self, row: RowHash) -> Option<&mut Lock> {
        self.crowds.get_mut(&row)
    }

    /// Makes the lock of a row, which has an owner, one of the crowds, so that it can have more owners and a queue.
    pub(super) fn crowded(&mut self, row: RowHash) -> &mut Lock {
        let alone = self.alone.remove(&row);
        self.crowds.entry(row).or_insert_with(|| Lock {
            owner: alone.map_or(TxnId(0), Alone::owner),
            modes: alone.map_or(Modes::NONE, Alone::modes),
            crowd: None,
        })
    }

    /// Gives the lock of a row to `txn` if no other owner conflicts.
    pub(super) fn try_give(&mut self, row: RowHash, txn: TxnId, modes: Modes) -> Option<Acquired> {
        if !self.crowds.is_empty()
            && let Some(lock) = self.crowds.get_mut(&row)
        {
            return lock.try_give(txn, modes);
        }
        match self.alone.entry(row) {
            Entry::Vacant(slot) => {
                if let Some(alone) = Alone::new(txn, modes) {
                    slot.insert(alone);
                    return Some(Acquired::Now);
                }
            }
            Entry::Occupied(mut slot) => {
                let (owner, held) = (slot.get().owner(), slot.get().modes());
                if owner == txn {
                    if held.cover(modes) {
                        return Some(Acquired::Already);
                    }
                    let more = slot.get().with(held.with(modes));
                    slot.insert(more);
                    return Some(Acquired::Now);
                }
                if held.meets(modes.conflicts()) {
                    return None;
                }
            }
        }
        self.crowded(row).add(txn, modes);
        Some(Acquired::Now)
    }

    /// Gives the lock of a row to `txn`; no other owner can conflict.
    pub(super) fn give(&mut self, row: RowHash, txn: TxnId, modes: Modes) {
        let is_given = !self.crowds.contains_key(&row) && self.try_give(row, txn, modes).is_some();
        if !is_given {
            self.crowded(row).add(txn, modes);
        }
    }

    /// Takes modes from an owner of the lock of a row, and hands the lock to its waiters.
    pub(super) fn take(&mut self, row: RowHash, txn: TxnId, modes: Modes) {
        if let Entry::Occupied(mut slot) = self.alone.entry(row) {
            let (owner, held) = (slot.get().owner(), slot.get().modes());
            let rest = held.without(modes);
            assert!(owner == txn && rest != held, "only what is held is let go of");
            if rest.is_empty() {
                slot.remove();
                self.give_back();
            } else {
                let less = slot.get().with(rest);
                slot.insert(less);
            }
            return;
        }
        let lock = self.crowds.get_mut(&row).expect("a lock that is held is in the table");
        lock.take(txn, modes);
        let is_owned = match lock.crowd {
            Some(_) => lock.hand_over(),
            None => !lock.modes.is_empty(),
        };
        if !is_owned {
            self.crowds.remove(&row);
        }
    }

    /// Gives memory back that many locks have taken.
    fn give_back(&mut self) {
        let (count, room) = (self.alone.len(), self.alone.capacity());
        if room > ROOM_KEPT && count < room / 8 {
            self.alone.shrink_to(2 * count.max(ROOM_KEPT / 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::RowLock;

    const ONE: TxnId = TxnId(1);
    const OTHER: TxnId = TxnId(2);

    fn update() -> Modes {
        Modes::of_row(RowLock::Update)
    }

    fn key_share() -> Modes {
        Modes::of_row(RowLock::KeyShare)
    }

    /// The memory of many locks is freed when they are released.
    #[test]
    fn many_locks_leave_no_room_behind() {
        let mut locks = Locks::default();
        for row in 0..100_000 {
            assert_eq!(locks.try_give(RowHash(row), ONE, update()), Some(Acquired::Now));
        }
        for row in 0..100_000 {
            locks.take(RowHash(row), ONE, update());
        }
        assert_eq!(locks.len(), 0);
        assert!(locks.alone.capacity() < 8 * ROOM_KEPT, "{}", locks.alone.capacity());
    }

    /// A lock that is shared, and one of a transaction with a very large number, are like any other.
    #[test]
    fn crowds_are_like_the_others() {
        let mut locks = Locks::default();
        let (row, large) = (RowHash(7), TxnId(u64::MAX));
        assert_eq!(locks.try_give(row, large, key_share()), Some(Acquired::Now));
        assert_eq!(locks.try_give(row, ONE, key_share()), Some(Acquired::Now));
        assert_eq!(locks.try_give(row, OTHER, update()), None);
        locks.take(row, large, key_share());
        assert_eq!(locks.look(row, |lock| lock.owned_by(ONE)), Some(key_share()));
        locks.take(row, ONE, key_share());
        assert_eq!((locks.len(), locks.look(row, |_| ())), (0, None));
        // From one owner to two and back.
        assert_eq!(locks.try_give(row, ONE, key_share()), Some(Acquired::Now));
        assert_eq!((locks.alone.len(), locks.crowds.len()), (1, 0));
        assert_eq!(locks.try_give(row, OTHER, key_share()), Some(Acquired::Now));
        assert_eq!((locks.alone.len(), locks.crowds.len()), (0, 1));
        locks.take(row, ONE, key_share());
        locks.take(row, OTHER, key_share());
        assert_eq!(locks.len(), 0);
    }
}

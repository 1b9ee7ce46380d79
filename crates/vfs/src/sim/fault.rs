//! Faults on purpose: operations that fail, and syncs that lie.
//!
//! A [`FaultPlan`] makes an operation return an error. A [`Mutation`] makes it return success without the
//! promised durability. With a mutation a test proves that it would notice if the code under test forgot
//! that call.

use std::io;
use std::ops::BitOr;

/// Kinds of operations, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpClasses(u16);

impl OpClasses {
    /// Opening a file that exists.
    pub const OPEN: OpClasses = OpClasses(1);
    /// Creating a file or a directory.
    pub const CREATE: OpClasses = OpClasses(2);
    /// Reading bytes, lengths, lists of names.
    pub const READ: OpClasses = OpClasses(4);
    /// Writing bytes, setting the length.
    pub const WRITE: OpClasses = OpClasses(8);
    /// `sync_data`, `sync_all`.
    pub const SYNC: OpClasses = OpClasses(16);
    /// `sync_dir`.
    pub const SYNC_DIR: OpClasses = OpClasses(32);
    /// `rename`.
    pub const RENAME: OpClasses = OpClasses(64);
    /// `remove`.
    pub const REMOVE: OpClasses = OpClasses(128);
    /// Everything that changes the disk.
    pub const CHANGES: OpClasses = OpClasses(2 | 8 | 16 | 32 | 64 | 128);
    /// Everything.
    pub const ALL: OpClasses = OpClasses(255);

    /// True if the two sets share a class.
    pub fn overlaps(self, other: OpClasses) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for OpClasses {
    type Output = OpClasses;
    fn bitor(self, other: OpClasses) -> OpClasses {
        OpClasses(self.0 | other.0)
    }
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An input/output error; nothing was done.
    Eio,
    /// No space left; nothing was done.
    Enospc,
    /// The first half of a write is done, then no space is left. Other operations: as `Eio`.
    ShortWrite,
}

impl FaultKind {
    pub(super) fn error(self) -> io::Error {
        // EIO and ENOSPC have these numbers on every Unix.
        io::Error::from_raw_os_error(match self {
            FaultKind::Eio => 5,
            FaultKind::Enospc | FaultKind::ShortWrite => 28,
        })
    }
}

/// Which operations fail, and how.
#[derive(Clone, Copy, Debug)]
pub struct FaultPlan {
    /// How many operations of these classes still succeed, counted from the call of `fail`.
    pub nth: usize,
    /// How it fails.
    pub kind: FaultKind,
    /// True: one operation fails. False: it and every later one fail.
    pub once: bool,
    /// The operations that count and fail.
    pub on: OpClasses,
}

/// A promise of durability that is to be broken silently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// `sync_data` does nothing.
    SyncData,
    /// `sync_all` does nothing.
    SyncAll,
    /// `sync_dir` does nothing.
    SyncDir,
    /// A rename never becomes durable.
    Rename,
}

/// Which of the operations of a class a [`Mutation`] hits, counted from the call of `disable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// Every one.
    All,
    /// The n-th, from 0.
    Nth(usize),
}

/// All plans in force.
#[derive(Default)]
pub(super) struct Faults {
    plans: Vec<FaultPlan>,
    mutations: Vec<(Mutation, Which)>,
    pub hits: usize,
}

impl Faults {
    pub fn add(&mut self, plan: FaultPlan) {
        self.plans.push(plan);
    }

    pub fn disable(&mut self, what: Mutation, which: Which) {
        self.mutations.push((what, which));
    }

    pub fn clear(&mut self) {
        self.plans.clear();
        self.mutations.clear();
    }

    /// Counts an operation; returns how it must fail, or `None` if it succeeds.
    pub fn strike(&mut self, class: OpClasses) -> Option<FaultKind> {
        let mut found = None;
        self.plans.retain_mut(|plan| {
            if !plan.on.overlaps(class) {
                return true;
            }
            if plan.nth > 0 {
                plan.nth -= 1;
                return true;
            }
            found = Some(plan.kind);
            !plan.once
        });
        self.hits += usize::from(found.is_some());
        found
    }

    /// Counts an operation that a mutation could disable; true if one does.
    pub fn lies(&mut self, what: Mutation) -> bool {
        let mut lies = false;
        self.mutations.retain_mut(|(mutation, which)| {
            if *mutation != what {
                return true;
            }
            match which {
                Which::All => lies = true,
                Which::Nth(0) => {
                    lies = true;
                    return false;
                }
                Which::Nth(n) => *n -= 1,
            }
            true
        });
        self.hits += usize::from(lies);
        lies
    }
}

//! The content of the disk after a power failure.
//!
//! ```text
//!   operation   1 create a    2 write a    3 sync a   4 write a   5 sync_dir    6 write a
//!               ─────────────────────────────────────────|─────────────────────────────────
//!   image(4):   pending name  durable ────────────────>  pending
//!               (lost or not)                            (lost, kept, torn)
//! ```
//!
//! A [`Replay`] walks along the recorded operations and holds, for the place it has reached, what
//! is certainly durable (`durable`) and what is not yet (`writes` for each file, `names` for
//! directories). An image is the durable part plus whatever a [`CrashPolicy`] lets survive of the
//! rest. Walking on is cheap, so visiting the operations in ascending order costs each one once.
//!
//! # Invariants
//! * Content becomes durable by a sync of that file alone, a name by a sync of its directory alone
//!   (of both, for a rename across two).
//! * A failed sync decides there and then which of the pending writes reached the disk; the others
//!   never will, whatever is synced later. (Linux marks the pages clean: a retry proves nothing.)
//! * Names that are kept out of order never contradict themselves: an operation on a name survives
//!   only with all earlier ones on the same name, as in one directory block.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::{Content, Data};
use super::random::SimRandom;

/// A file, whatever its name.
pub(super) type Inode = u32;

/// Which of the unsynced changes survive a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrashPolicy {
    /// Nothing.
    SyncedOnly,
    /// All of it: what a killed process leaves behind.
    Everything,
    /// Any of the writes, each whole; of each directory the names up to some moment.
    Subset,
    /// Any sectors of 512 bytes of any write; names up to some moment.
    Torn512,
    /// As `Torn512`, in blocks of 4 KiB.
    Torn4096,
    /// Any of the writes, each whole, and any of the names, in no order.
    Reordered,
}

impl CrashPolicy {
    /// Every policy.
    pub const ALL: [CrashPolicy; 6] = [
        CrashPolicy::SyncedOnly,
        CrashPolicy::Everything,
        CrashPolicy::Subset,
        CrashPolicy::Torn512,
        CrashPolicy::Torn4096,
        CrashPolicy::Reordered,
    ];
}

/// Names, directories and contents: one view of the disk.
#[derive(Clone, Default)]
pub(super) struct State {
    pub dirs: BTreeSet<PathBuf>,
    pub names: BTreeMap<Arc<Path>, Inode>,
    pub contents: BTreeMap<Inode, Arc<Content>>,
}

impl State {
    pub fn content_mut(&mut self, inode: Inode) -> &mut Content {
        Arc::make_mut(self.contents.entry(inode).or_default())
    }
}

/// One recorded operation.
pub(super) struct Op {
    /// The file or directory; for a rename, the old name.
    pub path: Arc<Path>,
    pub action: Action,
}

pub(super) enum Action {
    CreateDir,
    Create {
        inode: Inode,
    },
    /// `lies`: never becomes durable, whatever is synced.
    Rename {
        to: Arc<Path>,
        inode: Inode,
        lies: bool,
    },
    Remove,
    SyncDir {
        lies: bool,
    },
    Write {
        inode: Inode,
        offset: u64,
        data: Data,
    },
    SetLen {
        inode: Inode,
        len: u64,
    },
    Sync {
        inode: Inode,
        all: bool,
        outcome: Outcome,
    },
    Flip {
        inode: Inode,
        bit: u64,
    },
}

/// The true result of a sync.
pub(super) enum Outcome {
    Done,
    /// Reported success and did nothing.
    Lied,
    /// Reported failure; the seed decides what of the pending writes is on the disk.
    Failed(u64),
}

/// The certainly durable and the pending after the first `at` operations.
pub(super) struct Replay {
    pub at: usize,
    durable: State,
    /// Operations (by number) on each file's content that no sync has covered.
    writes: BTreeMap<Inode, Vec<usize>>,
    names: Vec<PendingName>,
}

struct PendingName {
    op: usize,
    /// Directories whose sync is still missing.
    waits_for: Vec<PathBuf>,
    lies: bool,
}

impl Replay {
    pub fn new(base: &State) -> Replay {
        Replay { at: 0, durable: base.clone(), writes: BTreeMap::new(), names: Vec::new() }
    }

    /// Walks on until the first `to` operations are in.
    pub fn advance(&mut self, ops: &[Op], to: usize) {
        while self.at < to {
            self.step(ops, self.at);
            self.at += 1;
        }
    }

    fn step(&mut self, ops: &[Op], number: usize) {
        let op = &ops[number];
        match &op.action {
            // The contract of `create_dir_all` includes the sync of the parent.
            Action::CreateDir => {
                self.durable.dirs.insert(op.path.to_path_buf());
            }
            Action::Create { .. } | Action::Remove => self.names.push(PendingName {
                op: number,
                waits_for: vec![dir_of(&op.path).to_path_buf()],
                lies: false,
            }),
            Action::Rename { to, lies, .. } => {
                let mut waits_for = vec![dir_of(&op.path).to_path_buf(), dir_of(to).to_path_buf()];
                waits_for.dedup();
                self.names.push(PendingName { op: number, waits_for, lies: *lies });
            }
            Action::SyncDir { lies: true } => {}
            Action::SyncDir { lies: false } => self.sync_names(ops, &op.path),
            Action::Write { inode, .. } | Action::SetLen { inode, .. } => {
                self.writes.entry(*inode).or_default().push(number);
            }
            Action::Sync { outcome: Outcome::Lied, .. } => {}
            Action::Sync { inode, outcome: Outcome::Done, .. } => {
                for number in self.writes.remove(inode).unwrap_or_default() {
                    apply_content(&mut self.durable, &ops[number]);
                }
            }
            Action::Sync { inode, outcome: Outcome::Failed(seed), .. } => {
                let random = SimRandom::new(*seed);
                for number in self.writes.remove(inode).unwrap_or_default() {
                    if random.chance(1, 2) {
                        apply_content(&mut self.durable, &ops[number]);
                    }
                }
            }
            Action::Flip { .. } => apply_content(&mut self.durable, op),
        }
    }

    fn sync_names(&mut self, ops: &[Op], dir: &Path) {
        let durable = &mut self.durable;
        self.names.retain_mut(|name| {
            if name.lies {
                return true;
            }
            name.waits_for.retain(|d| d != dir);
            if name.waits_for.is_empty() {
                apply_name(durable, &ops[name.op]);
            }
            !name.waits_for.is_empty()
        });
    }

    /// The disk as found after power loss here.
    pub fn image(&self, ops: &[Op], policy: CrashPolicy, random: &SimRandom) -> State {
        let mut state = self.durable.clone();
        self.keep_names(&mut state, ops, policy, random);
        // A write may be kept in any share of cases: few, half or most of them.
        let keep = random.below(3) + 1;
        let shape = random.below(3);
        for numbers in self.writes.values() {
            for &number in numbers {
                match policy {
                    CrashPolicy::SyncedOnly => {}
                    CrashPolicy::Everything => apply_content(&mut state, &ops[number]),
                    CrashPolicy::Subset | CrashPolicy::Reordered => {
                        if random.chance(keep, 4) {
                            apply_content(&mut state, &ops[number]);
                        } else if random.chance(1, 4) {
                            apply_length(&mut state, &ops[number]);
                        }
                    }
                    CrashPolicy::Torn512 => tear(&mut state, &ops[number], 512, shape, random),
                    CrashPolicy::Torn4096 => tear(&mut state, &ops[number], 4096, shape, random),
                }
            }
        }
        // A file that no name leads to is gone.
        let reachable: BTreeSet<Inode> = state.names.values().copied().collect();
        state.contents.retain(|inode, _| reachable.contains(inode));
        state
    }

    fn keep_names(&self, state: &mut State, ops: &[Op], policy: CrashPolicy, random: &SimRandom) {
        match policy {
            CrashPolicy::SyncedOnly => {}
            CrashPolicy::Everything => {
                for name in &self.names {
                    apply_name(state, &ops[name.op]);
                }
            }
            CrashPolicy::Subset | CrashPolicy::Torn512 | CrashPolicy::Torn4096 => {
                // Each directory keeps its own prefix; a rename across two needs both.
                let mut cut: BTreeMap<&Path, u64> = BTreeMap::new();
                let count = self.names.len() as u64;
                for (place, name) in self.names.iter().enumerate() {
                    let mut cut_of =
                        |dir| *cut.entry(dir).or_insert_with(|| random.below(count + 1));
                    if name.waits_for.iter().all(|dir| (place as u64) < cut_of(dir)) {
                        apply_name(state, &ops[name.op]);
                    }
                }
            }
            CrashPolicy::Reordered => {
                let mut lost: BTreeSet<&Path> = BTreeSet::new();
                for name in &self.names {
                    let op = &ops[name.op];
                    let touched = [Some(&*op.path), renamed_to(op)];
                    if touched.iter().flatten().any(|p| lost.contains(p)) || random.chance(1, 2) {
                        lost.extend(touched.into_iter().flatten());
                    } else {
                        apply_name(state, op);
                    }
                }
            }
        }
    }
}

/// The directory of a path.
pub(super) fn dir_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn renamed_to(op: &Op) -> Option<&Path> {
    match &op.action {
        Action::Rename { to, .. } => Some(to),
        _ => None,
    }
}

/// Brings a change of names into `state`.
pub(super) fn apply_name(state: &mut State, op: &Op) {
    match &op.action {
        Action::CreateDir => {
            state.dirs.insert(op.path.to_path_buf());
        }
        Action::Create { inode } => {
            state.names.insert(op.path.clone(), *inode);
            state.contents.entry(*inode).or_default();
        }
        Action::Rename { to, inode, .. } => {
            state.names.remove(&op.path);
            state.names.insert(to.clone(), *inode);
            state.contents.entry(*inode).or_default();
        }
        Action::Remove => {
            state.names.remove(&op.path);
        }
        _ => {}
    }
}

/// Brings a change of content into `state`.
pub(super) fn apply_content(state: &mut State, op: &Op) {
    match &op.action {
        Action::Write { inode, offset, data } => {
            state.content_mut(*inode).write_part(*offset, data, 0..data.len())
        }
        Action::SetLen { inode, len } => state.content_mut(*inode).set_len(*len),
        Action::Flip { inode, bit } => {
            state.content_mut(*inode).flip(*bit);
        }
        _ => {}
    }
}

/// The write did not survive, but the length it gave the file did.
fn apply_length(state: &mut State, op: &Op) {
    if let Action::Write { inode, offset, data } = &op.action {
        state.content_mut(*inode).grow(offset + data.len() as u64);
    }
}

/// Keeps some sectors of a write: any (shape 0), the first ones (1) or the last ones (2).
fn tear(state: &mut State, op: &Op, sector: u64, shape: u64, random: &SimRandom) {
    let Action::Write { inode, offset, data } = &op.action else {
        if random.chance(1, 2) {
            apply_content(state, op);
        }
        return;
    };
    if random.chance(1, 4) {
        return apply_content(state, op);
    }
    let end = offset + data.len() as u64;
    let (first, last) = (offset / sector, end.div_ceil(sector));
    let cut = first + random.below(last - first + 1);
    let content = state.content_mut(*inode);
    for number in first..last {
        let keep = match shape {
            0 => random.chance(1, 2),
            1 => number < cut,
            _ => number >= cut,
        };
        if keep {
            let from = (number * sector).max(*offset) - offset;
            let to = ((number + 1) * sector).min(end) - offset;
            content.write_part(*offset, data, from as usize..to as usize);
        }
    }
}

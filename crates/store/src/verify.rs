//! Checking everything, handing out the files for a backup, and checking the files of a copy one by one.
//!
//! ```text
//!   manifest ─names─> segments ─index─> blocks ─> groups ─> entries
//!      checksum         footer   order    checksum   order    commits ascend, anchors first,
//!      same names       counts   bounds              filter   inside the bounds of block and segment
//! ```
//!
//! # Invariants
//! * Verification reads past the cache, and finds every damaged byte of a file that counts.

use crate::bulk::Loaded;
use crate::cache::Cache;
use crate::error::StoreError;
use crate::filter;
use crate::group::Tag;
use crate::manifest::Manifest;
use crate::part::corrupt;
use crate::run::Run;
use crate::segment::{Half, Meta, Reader, Segment};
use crate::segment_store::{DirectoryStore, Epoch, MANIFEST};
use crate::store::{State, Store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vfs::Env;

/// The epoch of the manifest of a copy, which is the first of its store.
const COPY: Epoch = Epoch(1);

/// The findings of a verification.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Segments read.
    pub segments: u64,
    /// Blocks read.
    pub blocks: u64,
    /// Keys met, once for each segment.
    pub keys: u64,
    /// Entries met.
    pub entries: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The problems; empty where all is well.
    pub problems: Vec<StoreError>,
}

/// The files that make the store at one moment, for a backup: they stay while this lives.
pub struct Files {
    state: Arc<State>,
    next: u64,
    manifest: Vec<u8>,
}

impl Files {
    /// The name and the bytes of the manifest: to be written last.
    pub fn manifest(&self) -> (&'static str, &[u8]) {
        (MANIFEST, &self.manifest)
    }

    /// The bytes of a manifest that names the same files and carries another note: for a copy that
    /// goes with another log.
    pub fn manifest_with(&self, note: Vec<u8>) -> Vec<u8> {
        let mut manifest = self.state.manifest(COPY, self.next);
        manifest.checkpoint.note = note;
        manifest.encode()
    }

    /// Name and length in bytes of each segment file in the store's directory, with those of bulk loads
    /// that only the log names so far.
    pub fn segments(&self) -> impl Iterator<Item = (String, u64)> {
        self.state.segments().map(|s| (s.meta.name(), s.meta.bytes))
    }

    /// Returns the commits that these files cover: a log to go with them begins at this note.
    pub fn checkpoint(&self) -> crate::Checkpoint {
        self.state.checkpoint.clone()
    }
}

/// The files that a manifest or a load names, with what it says of them: for a copy of a store that is made
/// file by file.
#[derive(Clone, Debug)]
pub struct NamedFiles {
    metas: Vec<(Half, Meta)>,
}

impl NamedFiles {
    /// Returns the files that a manifest names, and its checkpoint.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where the bytes are no manifest, [`StoreError::Version`] where a newer release
    /// wrote it.
    pub fn of_manifest(bytes: &[u8]) -> Result<(NamedFiles, crate::Checkpoint), StoreError> {
        let manifest = Manifest::decode(bytes, MANIFEST)?;
        let of = |half, runs: Vec<Vec<Meta>>| {
            runs.into_iter().flatten().map(move |meta| (half, meta)).collect::<Vec<_>>()
        };
        let mut metas = of(Half::Current, manifest.current);
        metas.extend(of(Half::History, manifest.history));
        Ok((NamedFiles { metas }, manifest.checkpoint))
    }

    /// Returns the files of a load.
    pub fn of_load(loaded: &Loaded) -> NamedFiles {
        let metas = loaded.metas().iter().map(|meta| (Half::Current, meta.clone()));
        NamedFiles { metas: metas.collect() }
    }

    /// Returns the name and the length in bytes of each file.
    pub fn iter(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.metas.iter().map(|(_, meta)| (meta.name(), meta.bytes))
    }

    /// Checks the file `name` in `dir`: its length, its footer, and the checksum of every part.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where the file does not exist or is not one of these, [`StoreError::Corrupt`]
    /// where a byte is not as it was written.
    pub fn check(&self, env: &Env, dir: &Path, name: &str) -> Result<(), StoreError> {
        let file = dir.join(name).display().to_string();
        let Some((half, meta)) = self.metas.iter().find(|(_, meta)| meta.name() == name) else {
            return Err(StoreError::Missing { file });
        };
        let home = DirectoryStore::new(env, dir).map_err(StoreError::io("cannot open", file))?;
        let reader = Reader {
            home: Arc::new(home),
            cache: Arc::new(Cache::new(0)),
            resolve: Arc::new(|_| unreachable!("no row is decoded to check checksums")),
        };
        Segment::open(&reader, *half, meta.clone())?.check_parts()
    }
}

impl Store {
    /// The files that make the store as of its checkpoint, pinned.
    pub fn files(&self) -> Files {
        self.files_of(self.shared.state())
    }

    /// As [`Store::files`], without the files of bulk loads that only the log names so far. A
    /// caller may pin these for hours, because they hold no memtable.
    pub fn files_of_manifest(&self) -> Files {
        self.files_of(Arc::new(self.shared.runs()))
    }

    fn files_of(&self, state: Arc<State>) -> Files {
        let next = self.shared.writer_context.next.load(Ordering::Relaxed);
        let manifest = state.manifest(COPY, next).encode();
        Files { state, next, manifest }
    }

    /// Reads everything and checks it; `progress` is told (bytes done, bytes in all). Fails only where it
    /// cannot go on; damage is in the report.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        let state = {
            let epoch = self.shared.installing.lock();
            let state = self.shared.state();
            report.problems.extend(self.check_manifest(&state, *epoch).err());
            state
        };
        let total = state.segments().map(|s| s.meta.bytes).sum();
        for run in state.images().chain(&state.history).chain(state.late()) {
            let mut walk = Walk::default();
            for segment in &run.segments {
                if let Err(problem) = walk.segment(run, segment, &mut report) {
                    report.problems.push(problem);
                }
                report.segments += 1;
                report.bytes += segment.meta.bytes;
                progress(report.bytes, total);
            }
        }
        Ok(report)
    }

    fn check_manifest(&self, state: &State, epoch: Epoch) -> Result<(), StoreError> {
        let home = &self.shared.writer_context.home;
        let name = home.describe(MANIFEST);
        let bytes = home.load_manifest().map_err(StoreError::io("cannot read", name.as_str()))?;
        let (_, bytes) = bytes.ok_or(StoreError::Missing { file: name.clone() })?;
        let mut found = Manifest::decode(&bytes, &name)?;
        let mut expected = state.manifest(epoch, found.next);
        // One of an earlier release says nothing of footers. Those are looked at with their files.
        for manifest in [&mut found, &mut expected] {
            let runs = manifest.current.iter_mut().chain(&mut manifest.history);
            runs.flatten().for_each(|meta| meta.outline = None);
        }
        if found == expected {
            Ok(())
        } else {
            Err(corrupt(&name, 0)("the manifest on disk is not the one in force"))
        }
    }
}

/// The walk along a run.
#[derive(Default)]
struct Walk {
    key: Vec<u8>,
    /// The last group's first commit.
    first: u64,
    /// The last entry's commit.
    last: u64,
    begun: bool,
}

impl Walk {
    fn segment(
        &mut self,
        run: &Run,
        segment: &Segment,
        report: &mut VerifyReport,
    ) -> Result<(), StoreError> {
        let file = segment.describe();
        let bad = |offset: u64, what| Err(corrupt(&file, offset)(what));
        let at = segment.meta.bytes;
        // The file as it is on disk now, not as it was when opened.
        let segment = segment.reopen(run.half)?;
        let guide = segment.load_guide()?;
        let (mut keys, mut entries, mut csns) = (0, 0, (u64::MAX, 0));
        let mut key = Vec::new();
        for info in guide.blocks() {
            let block = segment.load_block(info)?;
            report.blocks += 1;
            for i in 0..block.count() {
                block.key_into(i, &mut key);
                let group = block.group(&block.place(i));
                let first = group.first_csn();
                if i == 0 && (guide.key(info), info.first) != (key.as_slice(), first) {
                    return bad(info.offset, "the index tells another first key");
                }
                if entries == 0 && (&segment.meta.first.0, segment.meta.first.1) != (&key, first) {
                    return bad(info.offset, "the manifest tells another first key");
                }
                if !guide.may_hold(filter::hash(&key)) {
                    return bad(info.offset, "the filter leaves out a key");
                }
                let same = self.begun && self.key == key;
                keys += u64::from(!same || entries == 0);
                if self.begun && (&self.key, self.first) > (&key, first)
                    || same && self.last > first
                {
                    return bad(info.offset, "groups are out of order");
                }
                if same && run.half == Half::Current {
                    return bad(info.offset, "a current run has a key twice");
                }
                if !same {
                    std::mem::swap(&mut self.key, &mut key);
                }
                (self.begun, self.first) = (true, first);
                let mut begins = true;
                for e in group.entries() {
                    if e.csn < info.csns.0 || e.csn > info.csns.1 {
                        return bad(info.offset, "an entry lies outside the bounds of its block");
                    }
                    if std::mem::take(&mut begins) && e.tag == Tag::Delta {
                        return bad(info.offset, "a group begins with a delta");
                    }
                    csns = (csns.0.min(e.csn), csns.1.max(e.csn));
                    entries += 1;
                    self.last = e.csn;
                }
            }
        }
        report.keys += keys;
        report.entries += entries;
        if (keys, entries, csns) != (segment.meta.keys, segment.meta.entries, segment.meta.csns) {
            return bad(at, "the footer counts other keys, entries or commits");
        }
        if self.key != segment.meta.last_key {
            return bad(at, "the manifest tells another last key");
        }
        Ok(())
    }
}

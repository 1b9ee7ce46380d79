//! A store on a simulated disk, beside a list of all that was ever committed.

use super::objects::{Bucket, Kind as Objects, ObjectSegments, Steps};
use crate::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use vfs::{CrashPolicy, Env, SimVfs};
pub use vfs::{SimRandom, seeds};

pub const DIR: &str = "/store";
/// Keeps everything; wants fresh images early.
pub const EAGER: TableId = TableId(1);
/// Keeps everything; the default rule for fresh images.
pub const PLAIN: TableId = TableId(2);
/// Keys that begin with `p` keep no history.
pub const PAGES: TableId = TableId(7);
/// Keeps everything, and its newest values in columns.
pub const COLUMNS: TableId = TableId(4);
/// Keeps what holds read.
pub const BRIEF: TableId = TableId(9);
pub const TABLES: [TableId; 5] = [EAGER, PLAIN, COLUMNS, PAGES, BRIEF];

/// The tables of the tests. A delta is appended with its commit; what grows too long loses its first half.
pub struct Texts(pub TableId);

pub fn merge_text(image: &mut Vec<u8>, csn: u64, delta: &[u8]) {
    image.extend_from_slice(delta);
    image.push(csn as u8);
    if image.len() > 60 {
        image.drain(..image.len() / 2);
    }
}

impl Table for Texts {
    fn merge(
        &self,
        _key: &[u8],
        base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        let mut image = base.to_vec();
        let mut last = base_csn;
        for (csn, delta) in deltas {
            assert!(csn >= last, "deltas come oldest first, above their base");
            last = csn;
            merge_text(&mut image, csn.0, delta);
        }
        out.extend_from_slice(&image);
        Ok(())
    }

    fn rebase(&self, image_bytes: usize, delta_bytes: usize) -> bool {
        if self.0 == EAGER {
            delta_bytes > 12
        } else {
            delta_bytes > 256 && delta_bytes * 4 > image_bytes
        }
    }

    fn keeps_history(&self, key: &[u8]) -> bool {
        self.0 != PAGES || key.first() != Some(&b'p')
    }

    fn column_encoder(&self) -> Option<Arc<dyn ColumnEncoder>> {
        (self.0 == COLUMNS).then(|| Arc::new(TextColumns) as Arc<dyn ColumnEncoder>)
    }

    fn column_decoder(&self) -> Option<Arc<dyn ColumnDecoder>> {
        (self.0 == COLUMNS).then(|| Arc::new(TextColumns) as Arc<dyn ColumnDecoder>)
    }

    fn compression(&self) -> Compression {
        if [PLAIN, BRIEF].contains(&self.0) { Compression::Fast } else { Compression::Small }
    }

    fn packer(&self) -> Option<Box<dyn Packer>> {
        ([EAGER, PAGES, BRIEF].contains(&self.0)).then(|| Box::<TextPacker>::default() as _)
    }

    fn retention(&self) -> Retention {
        if self.0 == BRIEF { Retention::None } else { Retention::Forever }
    }
}

/// Packs texts as their length and the difference of each byte to the byte before, even if that
/// byte belongs to another text. Texts that begin with `x` stay as they are.
#[derive(Default)]
pub struct TextPacker(u8);

impl Packer for TextPacker {
    fn pack(&mut self, _key: &[u8], _kind: Kind, bytes: &[u8], out: &mut Packed) -> bool {
        if bytes.first() == Some(&b'x') || bytes.len() > 255 {
            return false;
        }
        out.numbers.push(bytes.len() as u8);
        for byte in bytes {
            out.texts.push(byte.wrapping_sub(self.0));
            self.0 = *byte;
        }
        true
    }

    fn unpack(
        &mut self,
        _key: &[u8],
        _kind: Kind,
        input: &mut Unpacking<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        let (len, numbers) = input.numbers.split_first().ok_or(MergeError::new("no length"))?;
        let cut = input.texts.split_at_checked(usize::from(*len));
        let (bytes, texts) = cut.ok_or(MergeError::new("a text that is cut short"))?;
        (input.numbers, input.texts) = (numbers, texts);
        for byte in bytes {
            self.0 = self.0.wrapping_add(*byte);
            out.push(self.0);
        }
        Ok(())
    }
}

/// Texts in two columns: their first bytes, of which there is a dictionary, and what follows. Blocks have up
/// to three rows, and the head says how many there are.
#[derive(Debug)]
pub struct TextColumns;

impl ColumnEncoder for TextColumns {
    fn encode(&self, values: &[Option<&[u8]>]) -> Option<EncodedStripe> {
        // A stripe that ends with a deletion stays as it is.
        values.last()?.as_ref()?;
        let first = |value: &[u8]| value.first().copied().unwrap_or(0);
        let all: Vec<&[u8]> = values.iter().map(|value| value.unwrap_or_default()).collect();
        let dictionary: BTreeSet<u8> = all.iter().copied().map(first).collect();
        let dictionary: Vec<u8> = dictionary.into_iter().collect();
        let blocks = all.chunks(3).map(|rows| {
            let code = |value: &&[u8]| dictionary.iter().position(|one| *one == first(value));
            let codes = rows.iter().filter_map(code).map(|code| code as u8).collect();
            let mut rests = Vec::new();
            for value in rows {
                rests.extend((value.len() as u32).to_le_bytes());
                rests.extend(value.get(1..).unwrap_or_default());
            }
            let parts = [EncodedPart::Own(rests), EncodedPart::Shared(0), EncodedPart::Own(codes)];
            EncodedBlock { rows: rows.len(), head: vec![rows.len() as u8], parts: parts.into() }
        });
        Some(EncodedStripe { blocks: blocks.collect(), shared: vec![dictionary.clone()] })
    }
}

impl ColumnDecoder for TextColumns {
    fn decode(
        &self,
        head: &[u8],
        rows: usize,
        part: &dyn Fn(usize) -> Result<Arc<[u8]>, StoreError>,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ColumnError> {
        assert_eq!(head, [rows as u8]);
        let (rests, dictionary, codes) = (part(0)?, part(1)?, part(2)?);
        let mut rest = &rests[..];
        for code in &codes[..] {
            let (length, behind) = rest.split_first_chunk().expect("a length");
            let length = u32::from_le_bytes(*length) as usize;
            let (text, behind) = behind.split_at(length.saturating_sub(1));
            rest = behind;
            let value = [&[dictionary[usize::from(*code)]], text].concat();
            each(&value[..length]);
        }
        Ok(())
    }
}

pub fn resolve() -> Resolve {
    Arc::new(|id| Arc::new(Texts(id)))
}

/// One change as the model knows it.
#[derive(Clone, Debug)]
pub struct Event {
    pub csn: u64,
    pub kind: Kind,
    pub bytes: Vec<u8>,
    /// The value after it; none if it was erased.
    pub image: Option<Vec<u8>>,
    pub is_erased: bool,
}

/// Everything committed, by key.
#[derive(Clone, Default)]
pub struct Model(pub BTreeMap<(TableId, Vec<u8>), Vec<Event>>);

impl Model {
    pub fn apply(&mut self, csn: u64, writes: &[Write]) {
        for write in writes {
            let events = self.0.entry((write.table, write.key.clone())).or_default();
            if let Op::Erase { from, to } = write.op {
                let span = from.0..to.map_or(csn, |to| to.0);
                for event in events.iter_mut().filter(|e| span.contains(&e.csn)) {
                    (event.image, event.is_erased) = (None, true);
                }
                continue;
            }
            let before = events.last().and_then(|e| e.image.clone());
            let (kind, bytes, image) = match &write.op {
                Op::Put(value) => (Kind::Put, value.clone(), Some(value.clone())),
                Op::Delete => (Kind::Delete, Vec::new(), None),
                Op::Delta(delta) => {
                    let mut image = before.expect("deltas stand on a live value");
                    merge_text(&mut image, csn, delta);
                    (Kind::Delta, delta.clone(), Some(image))
                }
                Op::Erase { .. } => continue,
            };
            events.push(Event { csn, kind, bytes, image, is_erased: false });
        }
    }

    pub fn at(&self, table: TableId, key: &[u8], at: u64) -> Option<&Event> {
        let events = self.0.get(&(table, key.to_vec()))?;
        events[..events.partition_point(|e| e.csn <= at)].last()
    }

    pub fn is_live(&self, table: TableId, key: &[u8]) -> bool {
        self.at(table, key, u64::MAX).is_some_and(|e| e.image.is_some())
    }
}

/// Where a store of the tests keeps its files, with a record of what was done. A clone is the same one.
pub trait Medium: Clone {
    /// Returns a medium that keeps a record.
    fn new(seed: u64) -> Self;
    /// How many operations have changed something.
    fn op_count(&self) -> usize;
    /// Returns the content that a power loss just after operation `at` leaves.
    fn image(&self, at: usize, policy: &CrashPolicy, seed: u64) -> Self;
    /// The ways in which it can lose power.
    fn policies() -> &'static [CrashPolicy] {
        &CrashPolicy::ALL
    }
    fn env(&self, seed: u64) -> Env;
    fn open_store(&self, env: &Env, options: StoreOptions) -> Result<Store, StoreError>;
}

impl Medium for SimVfs {
    fn new(seed: u64) -> SimVfs {
        SimVfs::new(seed)
    }

    fn op_count(&self) -> usize {
        self.op_count()
    }

    fn image(&self, at: usize, policy: &CrashPolicy, seed: u64) -> SimVfs {
        self.image(at, policy, seed)
    }

    fn env(&self, seed: u64) -> Env {
        Env::sim(self, seed)
    }

    fn open_store(&self, env: &Env, options: StoreOptions) -> Result<Store, StoreError> {
        Store::open(env, Path::new(DIR), options, resolve())
    }
}

/// An object store, in memory or in a folder of this machine.
#[derive(Clone)]
pub struct ObjectDisk<const IS_LOCAL: bool> {
    bucket: Bucket,
    pub steps: Steps,
}

impl<const IS_LOCAL: bool> Medium for ObjectDisk<IS_LOCAL> {
    fn new(_: u64) -> Self {
        let steps = Steps::default();
        let kind = if IS_LOCAL { Objects::Local } else { Objects::Memory };
        ObjectDisk { bucket: Bucket::new(kind, &steps), steps }
    }

    fn op_count(&self) -> usize {
        self.steps.count()
    }

    fn image(&self, at: usize, _: &CrashPolicy, _: u64) -> Self {
        let steps = Steps::default();
        ObjectDisk { bucket: self.bucket.image(at, &steps), steps }
    }

    /// An object is there or not: there is one way.
    fn policies() -> &'static [CrashPolicy] {
        &CrashPolicy::ALL[..1]
    }

    fn env(&self, seed: u64) -> Env {
        Env::sim(&SimVfs::unrecorded(), seed)
    }

    fn open_store(&self, env: &Env, options: StoreOptions) -> Result<Store, StoreError> {
        let segments = Arc::new(ObjectSegments(self.bucket.clone()));
        Store::open_on(env, segments, options, resolve())
    }
}

/// The store, its disk and the model.
pub struct World<M = SimVfs> {
    pub disk: M,
    pub env: Env,
    pub options: StoreOptions,
    pub store: Store,
    /// All commits, the store's log.
    pub log: Vec<(u64, Vec<Write>)>,
    /// The commits that wrote part of their keys to files ([`late_keys`]), as the log names these.
    pub late: BTreeMap<u64, Vec<u8>>,
    pub durable: u64,
    pub model: Model,
}

/// Splits the writes of a commit into those that may go to a file, in order, and the others.
pub fn late_keys(writes: &[Write]) -> (Vec<Write>, Vec<Write>) {
    let same = |a: &Write, b: &Write| (a.table, &a.key) == (b.table, &b.key);
    let is_late = |write: &Write| {
        matches!(write.op, Op::Put(_) | Op::Delete)
            && writes.iter().filter(|other| same(write, other)).count() == 1
    };
    let (mut late, rest): (Vec<Write>, Vec<Write>) =
        writes.iter().cloned().partition(|write| is_late(write));
    late.sort_by(|a, b| (a.table, &a.key).cmp(&(b.table, &b.key)));
    (late, rest)
}

pub fn small_options() -> StoreOptions {
    StoreOptions {
        cache_bytes: 1 << 20,
        memtable_bytes: 4 << 10,
        memtable_writes: 1 << 10,
        segment_bytes: 1 << 20,
        current_block_bytes: 4 << 10,
        history_block_bytes: 4 << 10,
        merge_range_bytes: 256 << 20,
        merge_threads: 1,
        background: false,
    }
}

/// The keys of a scan that takes blocks of columns where it can. Each must have the value that its row has.
fn keys_by_columns(mut scan: Scan, at: u64) -> Vec<Vec<u8>> {
    let found = std::cell::RefCell::new(Vec::new());
    let mut row = |key: &[u8], _: ScannedState<'_>| {
        found.borrow_mut().push(key.to_vec());
        ControlFlow::Continue(())
    };
    let mut blocks = 0;
    let mut columns = |rows: ColumnRows| {
        let mut keys = Vec::new();
        rows.keys(&mut |key| keys.push(key.to_vec())).expect("keys decode");
        let mut values = Vec::new();
        let part = |index| rows.part(index);
        let mut each = |value: &[u8]| values.push(value.to_vec());
        TextColumns.decode(rows.head(), rows.len(), &part, &mut each).expect("values decode");
        assert_eq!((keys.len(), values.len()), (rows.len(), rows.len()), "at {at}");
        found.borrow_mut().append(&mut keys);
        blocks += 1;
        // A scan rests and goes on behind a block too.
        if blocks % 2 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    while scan.visit_columns(&mut row, &mut columns).expect("scans succeed").is_break() {}
    COLUMN_BLOCKS.with(|count| count.set(count.get() + blocks));
    found.into_inner()
}

/// The keys and values of a scan in no order. It rests behind every few rows, and behind every second block.
fn rows_by_blocks(mut scan: BlockScan, table: TableId) -> Vec<(Vec<u8>, Vec<u8>)> {
    let found = std::cell::RefCell::new(Vec::new());
    let steps = std::cell::Cell::new(0);
    let go_on = |every: u64| {
        steps.set(steps.get() + 1);
        match steps.get() % every {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let row = |key: &[u8], seen: ScannedState<'_>| {
        let image = match &seen {
            ScannedState::Image { bytes, .. } => bytes.to_vec(),
            ScannedState::State(state) => {
                state.image(&Texts(table), key).expect("texts merge").into_owned()
            }
        };
        found.borrow_mut().push((key.to_vec(), image));
        go_on(3)
    };
    let columns = |rows: ColumnRows| {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        rows.keys(&mut |key| keys.push(key.to_vec())).expect("keys decode");
        let mut each = |value: &[u8]| values.push(value.to_vec());
        let part = |index| rows.part(index);
        TextColumns.decode(rows.head(), rows.len(), &part, &mut each).expect("values decode");
        let all = keys.into_iter().zip(values).enumerate();
        let is_seen = |at: usize| rows.seen().is_none_or(|seen| seen.has(at));
        found.borrow_mut().extend(all.filter(|(at, _)| is_seen(*at)).map(|(_, pair)| pair));
        COLUMN_BLOCKS.with(|count| count.set(count.get() + u64::from(rows.seen().is_some())));
        go_on(2)
    };
    let mut key = Vec::new();
    while !scan.is_at_end() {
        let mut take = |item: ScanItem<'_>| match item {
            ScanItem::Row(key, seen) => row(key, seen),
            ScanItem::Rows(rows) => {
                let mut at = 0;
                rows.each_value(|value| {
                    rows.key_into(at, &mut key);
                    found.borrow_mut().push((key.clone(), rows.bytes()[value].to_vec()));
                    at += 1;
                });
                go_on(2)
            }
            ScanItem::Columns(rows) => columns(rows),
        };
        scan.visit(&mut take).expect("scans succeed");
    }
    found.into_inner()
}

thread_local! {
    /// The blocks of columns that scans of this thread have taken.
    pub static COLUMN_BLOCKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    /// The scans of this thread that were taken apart.
    pub static SPLIT_SCANS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl<M: Medium> World<M> {
    pub fn new(seed: u64, disk: M, options: StoreOptions) -> World<M> {
        let env = disk.env(seed);
        let store = disk.open_store(&env, options.clone()).expect("a new store opens");
        let (log, late) = (Vec::new(), BTreeMap::new());
        World { disk, env, options, store, log, late, durable: 0, model: Model::default() }
    }

    pub fn last(&self) -> u64 {
        self.log.last().map_or(0, |c| c.0)
    }

    /// Commits, not yet durable.
    pub fn commit(&mut self, writes: Vec<Write>) -> u64 {
        let csn = self.last() + 1;
        self.store.apply(Csn(csn), &writes).expect("a commit applies");
        self.model.apply(csn, &writes);
        self.log.push((csn, writes));
        csn
    }

    /// Commits as a large transaction does: all writes that can go to a file do.
    pub fn commit_late(&mut self, writes: Vec<Write>) -> u64 {
        let csn = self.last() + 1;
        let (late, rest) = late_keys(&writes);
        let mut bulk = self.store.bulk();
        for Write { table, key, op } in &late {
            let value = match op {
                Op::Put(value) => Some(value.as_slice()),
                _ => None,
            };
            bulk.write(*table, key, value).expect("it is written");
        }
        let loaded = bulk.finish().expect("it is durable");
        self.store.ingest(Csn(csn), &loaded).expect("it is taken in");
        self.store.apply(Csn(csn), &rest).expect("a commit applies");
        self.model.apply(csn, &writes);
        self.late.insert(csn, loaded.to_bytes());
        self.log.push((csn, writes));
        csn
    }

    /// The log is synced up to `csn`.
    pub fn sync(&mut self, csn: u64) {
        self.durable = self.durable.max(csn);
        self.store.set_durable(Csn(csn), || csn.to_le_bytes().to_vec());
    }

    pub fn commit_durably(&mut self, writes: Vec<Write>) -> u64 {
        let csn = self.commit(writes);
        self.sync(csn);
        csn
    }

    /// Ends the process: what was not durable is gone; the log above the checkpoint is applied again.
    pub fn reopen(mut self) -> World<M> {
        drop(self.store);
        self.log.retain(|c| c.0 <= self.durable);
        self.late.retain(|csn, _| *csn <= self.durable);
        let mut model = Model::default();
        self.log.iter().for_each(|(csn, writes)| model.apply(*csn, writes));
        self.model = model;
        let store =
            self.disk.open_store(&self.env, self.options.clone()).expect("the store reopens");
        replay(&store, &self.log, &self.late, self.durable);
        self.store = store;
        self
    }

    /// Reads one key at one commit and compares.
    pub fn check_read(&self, table: TableId, key: &[u8], at: u64) {
        let mut value = Vec::new();
        let got = self.store.get(table, key, Csn(at), &mut value);
        self.compare(table, key, at, got.map(|csn| csn.map(|csn| (csn.0, value))));
    }

    fn compare(
        &self,
        table: TableId,
        key: &[u8],
        at: u64,
        got: Result<Option<(u64, Vec<u8>)>, StoreError>,
    ) {
        let horizon = self.store.horizon(table).0;
        let got = match got {
            Err(StoreError::Forgotten { .. }) if at < horizon => return,
            got => got.expect("reads succeed"),
        };
        let answer = |at| {
            let e = self.model.at(table, key, at)?;
            Some((e.csn, e.image.clone()?))
        };
        let text = || format!("table {} key {:?} at {at}", table.0, String::from_utf8_lossy(key));
        if Texts(table).keeps_history(key) || got.is_some() && got == answer(at) {
            assert_eq!(got, answer(at), "{}", text());
        } else {
            // Without history the newest there is may stand for what is gone.
            assert!(got == answer(at) || got == answer(u64::MAX), "{}: {got:?}", text());
        }
    }

    /// Compares a scan of a range, from its start or from a place sought, with the model.
    pub fn check_scan(
        &self,
        table: TableId,
        range: (Bound<Vec<u8>>, Bound<Vec<u8>>),
        at: u64,
        reverse: bool,
        seek: Option<&[u8]>,
    ) {
        if at < self.store.horizon(table).0 {
            return;
        }
        let mut scan = self.store.scan(table, range.0.clone(), range.1.clone(), Csn(at), reverse);
        if let Some(key) = seek {
            scan.seek(key);
        }
        let (mut got, mut images) = (Vec::new(), Vec::new());
        let mut take = |key: &[u8], seen: ScannedState<'_>| {
            let image = match &seen {
                ScannedState::Image { bytes, .. } => bytes.to_vec(),
                ScannedState::State(state) => {
                    state.image(&Texts(table), key).expect("texts merge").into_owned()
                }
            };
            images.push(image.clone());
            self.compare(table, key, at, Ok(Some((seen.csn().0, image))));
            got.push(key.to_vec());
        };
        // One at a time, and a few in a row, in turn.
        for count in (1..7).cycle() {
            let mut left = count;
            let more = scan.visit(&mut |key, seen| {
                take(key, seen);
                left -= 1;
                if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            if more.expect("scans succeed").is_continue() {
                break;
            }
            let Some((key, versioned)) = scan.advance().expect("scans succeed") else { break };
            take(key, ScannedState::State(versioned));
        }
        if table == COLUMNS && !reverse && seek.is_none() {
            let scan = self.store.scan(table, range.0.clone(), range.1.clone(), Csn(at), false);
            assert_eq!(keys_by_columns(scan, at), got, "columns of table {} at {at}", table.0);
        }
        let (lower, upper) = range.clone();
        // Of pages only the newest state is known.
        if table != PAGES
            && let Some(mut blocks) = self.store.block_scan(table, lower, upper, Csn(at), &[])
            && !reverse
            && seek.is_none()
        {
            // In parts or as a whole, all rows come.
            let parts = match at % 3 {
                0 => Vec::new(),
                few => blocks.split(few * few * few).expect("guides are read"),
            };
            assert!(parts.len() != 1 && (parts.is_empty() || blocks.is_at_end()));
            SPLIT_SCANS.with(|count| count.set(count.get() + usize::from(!parts.is_empty())));
            let of_part = |part| rows_by_blocks(part, table);
            let mut rows: Vec<_> = parts.into_iter().flat_map(of_part).collect();
            rows.append(&mut rows_by_blocks(blocks, table));
            rows.sort();
            let keys: Vec<&Vec<u8>> = rows.iter().map(|(key, _)| key).collect();
            assert_eq!(keys, got.iter().collect::<Vec<_>>(), "blocks of table {} at {at}", table.0);
            assert_eq!(rows.into_iter().map(|(_, image)| image).collect::<Vec<_>>(), images);
        }
        let inside = |key: &Vec<u8>| {
            crate::key::above(&range.0, key)
                && crate::key::below(&range.1, key)
                && seek
                    .is_none_or(|s| if reverse { key.as_slice() <= s } else { key.as_slice() >= s })
        };
        let lives =
            |key: &[u8], at| self.model.at(table, key, at).is_some_and(|e| e.image.is_some());
        let sorted = got.windows(2).all(|w| if reverse { w[0] > w[1] } else { w[0] < w[1] });
        assert!(sorted && got.iter().all(&inside), "scan of table {} at {at}: {got:?}", table.0);
        for ((_, key), _) in self.model.0.iter().filter(|((t, k), _)| *t == table && inside(k)) {
            let (then, now) = (lives(key, at), lives(key, u64::MAX));
            let found = got.contains(key);
            let right = if Texts(table).keeps_history(key) {
                found == then
            } else {
                found == then || found == now
            };
            assert!(
                right,
                "scan of table {} at {at} (reverse {reverse}): key {:?}",
                table.0,
                String::from_utf8_lossy(key)
            );
        }
    }

    /// Compares the changes of one key in a range of commits with the model.
    pub fn check_versions(&self, table: TableId, key: &[u8], from: u64, to: u64) {
        let mut got = Vec::new();
        let visited = self.store.versions(table, key, Csn(from), Csn(to), |v| {
            got.push((v.csn.0, v.kind, v.bytes.to_vec()));
            ControlFlow::Continue(())
        });
        visited.expect("versions are visited");
        let successor = self.store.successor(table, key, Csn(from.saturating_sub(1)), Csn(to));
        let first = got.iter().find(|version| version.0 > from.saturating_sub(1));
        assert_eq!(successor.expect("it is found"), first.map(|version| Csn(version.0)));
        let events = self.model.0.get(&(table, key.to_vec())).map_or(&[][..], Vec::as_slice);
        // Where something was erased a deletion may stand for it, or be missing behind it.
        let erased = |csn: u64| events.iter().any(|e| e.csn == csn && e.is_erased);
        let after_erased = |csn: u64| {
            let before = events.iter().take_while(|e| e.csn < csn);
            before.last().is_some_and(|e| e.is_erased)
        };
        let is_sure = |csn, kind| kind != Kind::Delete || !erased(csn) && !after_erased(csn);
        got.retain(|v| is_sure(v.0, v.1));
        let events = events
            .iter()
            .filter(|e| (from..=to).contains(&e.csn) && !e.is_erased && is_sure(e.csn, e.kind));
        if !Texts(table).keeps_history(key) {
            return;
        }
        let horizon = self.store.horizon(table).0;
        if horizon == 0 {
            let expected: Vec<_> = events.map(|e| (e.csn, e.kind, e.bytes.clone())).collect();
            assert_eq!(
                got,
                expected,
                "versions of table {} key {:?} in {from}..={to}",
                table.0,
                String::from_utf8_lossy(key)
            );
        } else {
            // Above the horizon all changes are there; the state at the horizon may stand as a Put.
            let expected: Vec<_> = events
                .filter(|e| e.csn > horizon)
                .map(|e| (e.csn, e.kind, e.bytes.clone()))
                .collect();
            got.retain(|v| v.0 > horizon);
            assert_eq!(
                got, expected,
                "versions of table {} in {from}..={to}, horizon {horizon}",
                table.0
            );
        }
    }

    pub fn check_latest(&self, table: TableId, key: &[u8]) {
        let got = self.store.latest(table, key).expect("latest succeeds").map(|c| c.0);
        let event = self.model.at(table, key, u64::MAX);
        let events = self.model.0.get(&(table, key.to_vec()));
        let forgotten = event.is_some_and(|e| {
            e.image.is_none()
                && (events.is_some_and(|events| events.iter().any(|e| e.is_erased))
                    || e.csn <= self.store.horizon(table).0
                    || !Texts(table).keeps_history(key))
        });
        assert!(
            got == event.map(|e| e.csn) || forgotten && got.is_none(),
            "latest: {got:?}, {event:?}"
        );
    }

    /// Reads everything there is at every commit: slow, and final.
    pub fn check_all(&self) {
        let keys: Vec<_> = self.model.0.keys().cloned().collect();
        for (table, key) in &keys {
            for at in (0..=self.last()).chain([u64::MAX]) {
                self.check_read(*table, key, at);
            }
            self.check_versions(*table, key, 0, u64::MAX);
            self.check_latest(*table, key);
        }
        for table in TABLES {
            for at in (0..=self.last()).chain([u64::MAX]) {
                self.check_scan(table, (Bound::Unbounded, Bound::Unbounded), at, at % 2 == 0, None);
            }
        }
    }
}

/// Applies the log above the checkpoint, as a caller does after opening.
pub fn replay(
    store: &Store,
    log: &[(u64, Vec<Write>)],
    late: &BTreeMap<u64, Vec<u8>>,
    durable: u64,
) {
    let checkpoint = store.checkpoint();
    assert!(checkpoint.csn.0 <= durable, "nothing above the durable commit is in a file");
    let note = checkpoint.note.as_slice().try_into().map_or(0, u64::from_le_bytes);
    assert!(note <= checkpoint.csn.0, "a replay from the note misses nothing");
    for (csn, writes) in log.iter().filter(|c| c.0 > note && c.0 <= durable) {
        if *csn > checkpoint.csn.0 {
            let rest = late.get(csn).map(|bytes| {
                let loaded = Loaded::from_bytes(bytes).expect("the log is sound");
                store.ingest(Csn(*csn), &loaded).expect("its files are there");
                late_keys(writes).1
            });
            let writes = rest.as_ref().unwrap_or(writes);
            store.apply(Csn(*csn), writes).expect("the log applies again");
        }
    }
    store.set_durable(Csn(durable), || durable.to_le_bytes().to_vec());
}

pub fn put(table: TableId, key: &[u8], value: &[u8]) -> Write {
    Write { table, key: key.to_vec(), op: Op::Put(value.to_vec()) }
}

pub fn delta(table: TableId, key: &[u8], value: &[u8]) -> Write {
    Write { table, key: key.to_vec(), op: Op::Delta(value.to_vec()) }
}

pub fn erase(table: TableId, key: &[u8], from: u64, to: Option<u64>) -> Write {
    let op = Op::Erase { from: Csn(from), to: to.map(Csn) };
    Write { table, key: key.to_vec(), op }
}

pub fn delete(table: TableId, key: &[u8]) -> Write {
    Write { table, key: key.to_vec(), op: Op::Delete }
}

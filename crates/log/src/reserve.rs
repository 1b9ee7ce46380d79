//! The files that the log will fill next, made ready before they are needed.
//!
//! A sync is fastest if it changes no metadata of the file: the blocks must have been allocated *and
//! written* before. So the reserve keeps one file ready, either filled with real zeroes or recycled
//! from a released segment. Once checkpoints come as regularly as segments fill up, the released files
//! are enough: the log reuses the same few files, and nothing writes zeroes beside the commits.
//!
//! ```text
//!   checkpoints          ^                ^                ^
//!   in use      [ 8 ][ 9 ........]   [ 9 ][ 10 .......]   [ 10 ][ 11 .......]
//!   ready       [ 10 = 7 renamed ]   [ 11 = 8 renamed ]   [ 12 = 9 renamed  ]
//! ```
//!
//! Until then a background thread writes zeroes, in small synced steps with pauses, so that concurrent
//! commits do not queue behind megabytes. A writer that needs the file before the thread is done waits
//! for it, and the thread skips its pauses. If no thread is preparing the file, the writer does it.
//!
//! # Invariants
//! * A file is handed out only when its length, its name and its contents (zeroes, or frames of an
//!   older epoch) are durable: its first commit needs to sync only data.
//! * One thread at a time prepares a file (`busy`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use vfs::{File, OpenMode, Vfs};

use crate::LogOptions;
use crate::error::LogError;
use crate::segment::path_of;

/// Zeroes are written and synced in steps of so many bytes.
const STEP: usize = 128 << 10;
/// The background thread rests between steps: it prepares 16 MiB in less than a second, and commits fill them in
/// several.
const PAUSE: Duration = Duration::from_millis(5);
/// Released files that are kept for their next use: as many as one checkpoint releases at once where
/// commits are large.
pub(crate) const SPARES_MAX: usize = 2;

/// A released file that waits for its next use.
pub(crate) struct Spare {
    pub path: PathBuf,
    pub file: Arc<dyn File>,
    pub size: u64,
}

pub(crate) struct Reserve {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    fs: Arc<dyn Vfs>,
    dir: PathBuf,
    options: LogOptions,
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
    /// Set while a caller waits for the background thread.
    hurry: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Files ready for use, by segment number.
    ready: BTreeMap<u64, Arc<dyn File>>,
    spares: Vec<Spare>,
    /// The number of the file that the background thread is to prepare.
    wanted: Option<u64>,
    /// The last segment that has its file: in use, or released since.
    taken: u64,
    busy: bool,
}

impl Reserve {
    /// A reserve that starts with `ready` and `spares`, and wants the file after the segment `last`.
    pub fn new(
        fs: Arc<dyn Vfs>,
        dir: &Path,
        options: &LogOptions,
        ready: BTreeMap<u64, Arc<dyn File>>,
        spares: Vec<Spare>,
        last: u64,
    ) -> Reserve {
        let state = State { ready, spares, wanted: Some(last + 1), taken: last, busy: false };
        let shared = Arc::new(Shared {
            fs,
            dir: dir.to_path_buf(),
            options: options.clone(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            hurry: AtomicBool::new(false),
        });
        let thread = options.background.then(|| {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name(String::from("log-reserve"))
                .spawn(move || shared.run())
        });
        // Without a thread the writer prepares each file when it needs it.
        Reserve { shared, thread: Mutex::new(thread.and_then(Result::ok)) }
    }

    /// The file for segment `number`, ready for use; then the next one is wanted.
    pub fn take(&self, number: u64) -> Result<Arc<dyn File>, LogError> {
        let mut state = self.with(number)?;
        let file = state.ready.remove(&number).expect("segments begin in their order, each once");
        (state.taken, state.wanted) = (number, Some(number + 1));
        self.shared.changed.notify_all();
        Ok(file)
    }

    /// True if the file for segment `number` is ready for use.
    pub fn has(&self, number: u64) -> bool {
        self.shared.state.lock().ready.contains_key(&number)
    }

    /// Makes the file for segment `number` ready for use, unless it is in use already.
    pub fn make(&self, number: u64) -> Result<(), LogError> {
        self.with(number).map(drop)
    }

    /// The state once the file for segment `number` is ready, or taken.
    fn with(&self, number: u64) -> Result<MutexGuard<'_, State>, LogError> {
        let shared = &self.shared;
        let mut state = shared.state.lock();
        while number > state.taken && !state.ready.contains_key(&number) {
            if state.busy {
                shared.await_file(&mut state);
                continue;
            }
            state.busy = true;
            let spare = shared.spare_for(&mut state, number);
            drop(state);
            let made = shared.prepare(number, spare, None);
            state = shared.state.lock();
            state.busy = false;
            shared.changed.notify_all();
            if let Some(file) = made? {
                state.ready.insert(number, file);
            }
        }
        Ok(state)
    }

    /// Takes a file whose contents are no longer needed: keeps it for its next use, or removes it.
    pub fn recycle(&self, spare: Spare) -> Result<(), LogError> {
        let mut state = self.shared.state.lock();
        if state.spares.len() < SPARES_MAX && spare.size == self.shared.options.segment_bytes {
            state.spares.push(spare);
            return Ok(());
        }
        drop(state);
        self.shared.fs.remove(&spare.path).map_err(LogError::io("remove", &spare.path))
    }

    /// Removes the files that wait for their next use, and fills those that are ready with zeroes.
    pub fn wipe(&self) -> Result<(), LogError> {
        let shared = &self.shared;
        let mut state = shared.state.lock();
        while state.busy {
            shared.await_file(&mut state);
        }
        state.busy = true;
        let (spares, ready) = (std::mem::take(&mut state.spares), std::mem::take(&mut state.ready));
        drop(state);
        let wiped = shared.wipe_files(spares, &ready);
        let mut state = shared.state.lock();
        state.busy = false;
        state.ready.extend(ready);
        shared.changed.notify_all();
        wiped
    }

    /// Bytes of files that are ready or kept for their next use.
    pub fn bytes(&self) -> u64 {
        let state = self.shared.state.lock();
        let ready: u64 = state.ready.keys().map(|&n| self.shared.options.size_of(n)).sum();
        ready + state.spares.iter().map(|spare| spare.size).sum::<u64>()
    }

    /// Ends the background thread; a file it was filling stays behind unfinished.
    pub fn stop(&self) {
        {
            let _state = self.shared.state.lock();
            self.shared.stop.store(true, Ordering::Relaxed);
            self.shared.changed.notify_all();
        }
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread cannot be reported any more.
            let _ = thread.join();
        }
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self) {
        let mut state = self.state.lock();
        while !self.stop.load(Ordering::Relaxed) {
            let wanted = state.wanted.filter(|n| !state.busy && !state.ready.contains_key(n));
            let Some(number) = wanted else {
                self.changed.wait(&mut state);
                continue;
            };
            state.busy = true;
            let spare = self.spare_for(&mut state, number);
            drop(state);
            let made = self.prepare(number, spare, Some(PAUSE));
            state = self.state.lock();
            state.busy = false;
            match made {
                Ok(Some(file)) => {
                    state.ready.insert(number, file);
                }
                // The writer will try again when it needs the file, and report what it meets.
                Ok(None) | Err(_) => state.wanted = None,
            }
            self.changed.notify_all();
        }
    }

    /// Waits for the file that another thread is preparing; that thread skips its pauses meanwhile.
    fn await_file(&self, state: &mut MutexGuard<'_, State>) {
        self.hurry.store(true, Ordering::Relaxed);
        self.changed.wait(state);
        self.hurry.store(false, Ordering::Relaxed);
    }

    fn spare_for(&self, state: &mut State, number: u64) -> Option<Spare> {
        let size = self.options.size_of(number);
        let at = state.spares.iter().position(|spare| spare.size == size)?;
        Some(state.spares.swap_remove(at))
    }

    /// Makes the file for segment `number`; none if `stop` was called meanwhile.
    fn prepare(
        &self,
        number: u64,
        spare: Option<Spare>,
        pause: Option<Duration>,
    ) -> Result<Option<Arc<dyn File>>, LogError> {
        let path = path_of(&self.dir, number);
        let file = match spare {
            Some(spare) => {
                self.fs.rename(&spare.path, &path).map_err(LogError::io("rename", &spare.path))?;
                spare.file
            }
            None => {
                // An earlier attempt was interrupted and left a file of this name.
                if self.fs.exists(&path).map_err(LogError::io("find", &path))? {
                    self.fs.remove(&path).map_err(LogError::io("remove", &path))?;
                }
                let file = self
                    .fs
                    .open(&path, OpenMode::CreateNew)
                    .map_err(LogError::io("create", &path))?;
                match self.fill(&*file, &path, self.options.size_of(number), pause) {
                    Ok(true) => file,
                    Ok(false) => return Ok(None),
                    Err(error) => {
                        // On a full disk others need the room. If the removal fails, the next
                        // attempt removes the file.
                        let _ = self.fs.remove(&path);
                        return Err(error);
                    }
                }
            }
        };
        self.fs.sync_dir(&self.dir).map_err(LogError::io("sync", &self.dir))?;
        Ok(Some(file))
    }

    fn wipe_files(
        &self,
        spares: Vec<Spare>,
        ready: &BTreeMap<u64, Arc<dyn File>>,
    ) -> Result<(), LogError> {
        for spare in spares {
            self.fs.remove(&spare.path).map_err(LogError::io("remove", &spare.path))?;
        }
        for (number, file) in ready {
            self.fill(&**file, &path_of(&self.dir, *number), self.options.size_of(*number), None)?;
        }
        self.fs.sync_dir(&self.dir).map_err(LogError::io("sync", &self.dir))
    }

    /// Writes `size` zeroes; false if `stop` was called meanwhile.
    fn fill(
        &self,
        file: &dyn File,
        path: &Path,
        size: u64,
        pause: Option<Duration>,
    ) -> Result<bool, LogError> {
        let zeroes = vec![0; STEP.min(size as usize)];
        let mut at = 0;
        while at < size {
            let n = (size - at).min(zeroes.len() as u64);
            file.write_all_at(&zeroes[..n as usize], at).map_err(LogError::io("extend", path))?;
            at += n;
            if let Some(pause) = pause {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                if !self.hurry.load(Ordering::Relaxed) {
                    file.sync_data().map_err(LogError::io("sync", path))?;
                    std::thread::sleep(pause);
                }
            }
        }
        file.sync_all().map_err(LogError::io("sync", path))?;
        Ok(true)
    }
}

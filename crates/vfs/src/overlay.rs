//! A file system that only reads the one below it. It keeps all writes in memory until it is dropped.
//!
//! ```text
//!   engine ── read ──> Overlay ── read ──> the disk
//!     └────── write ──> pages in memory       (never written, created, renamed, removed or synced)
//! ```
//!
//! Opening a database whose process was killed replays its log. Over an overlay the replay writes to memory
//! only. So a folder that must not or cannot change can be opened and checked up to its last commit: a copy
//! that is evidence, a read-only mount, a full disk.
//!
//! Memory: 4 KiB for each page that was written. Opening writes only what it replays, which has a fixed
//! limit.
//!
//! Invariant: an overlay calls only [`Vfs::open`] for reading, [`Vfs::list`], [`Vfs::exists`] and
//! [`Vfs::lock_to_read`] of the file system below.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::{DirLock, File, OpenMode, Vfs};

const PAGE_BYTES: usize = 4096;

/// A file system whose writes stay in memory.
pub struct Overlay {
    below: Arc<dyn Vfs>,
    names: Mutex<Names>,
}

/// The names that differ from the file system below.
#[derive(Default)]
struct Names {
    /// Files that were opened for writing, created or renamed.
    files: BTreeMap<PathBuf, Arc<Content>>,
    /// Files below that were removed, or renamed to another name.
    gone: BTreeSet<PathBuf>,
    dirs: BTreeSet<PathBuf>,
}

impl Overlay {
    /// An overlay of `below`.
    pub fn new(below: Arc<dyn Vfs>) -> Overlay {
        Overlay { below, names: Mutex::default() }
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock()
    }

    /// The content of a file that is there.
    fn content(&self, names: &mut Names, path: &Path) -> io::Result<Arc<Content>> {
        if let Some(content) = names.files.get(path) {
            return Ok(Arc::clone(content));
        }
        if names.gone.contains(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let below = self.below.open(path, OpenMode::Read)?;
        let len = below.len()?;
        let state = State { pages: BTreeMap::new(), len, below_len: len };
        let content = Arc::new(Content { below: Some(below), state: RwLock::new(state) });
        names.files.insert(path.to_owned(), Arc::clone(&content));
        Ok(content)
    }

    fn has(&self, names: &Names, path: &Path) -> io::Result<bool> {
        if names.files.contains_key(path) || names.dirs.contains(path) {
            return Ok(true);
        }
        Ok(!names.gone.contains(path) && self.below.exists(path)?)
    }
}

impl Vfs for Overlay {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let names = &mut *self.names();
        match mode {
            OpenMode::Read if !names.files.contains_key(path) && !names.gone.contains(path) => {
                return self.below.open(path, OpenMode::Read);
            }
            OpenMode::CreateNew if self.has(names, path)? => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            OpenMode::CreateNew
                if !path.parent().map_or(Ok(true), |dir| self.has(names, dir))? =>
            {
                return Err(io::ErrorKind::NotFound.into());
            }
            OpenMode::CreateNew => {
                let content = Arc::new(Content::default());
                names.files.insert(path.to_owned(), content);
            }
            OpenMode::Read | OpenMode::ReadWrite => {}
        }
        Ok(Arc::new(OverlayFile(self.content(names, path)?)))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut names = self.names();
        for dir in path.ancestors() {
            if self.below.exists(dir)? || !names.dirs.insert(dir.to_owned()) {
                break;
            }
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let names = &mut *self.names();
        let content = self.content(names, from)?;
        names.files.remove(from);
        names.gone.insert(from.to_owned());
        names.files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut names = self.names();
        if !self.has(&names, path)? {
            return Err(io::ErrorKind::NotFound.into());
        }
        names.files.remove(path);
        names.gone.insert(path.to_owned());
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        match self.exists(path)? {
            true => Ok(()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let names = self.names();
        let mut found: BTreeSet<PathBuf> = match self.below.exists(path)? {
            true => self.below.list(path)?.into_iter().collect(),
            false if names.dirs.contains(path) => BTreeSet::new(),
            false => return Err(io::ErrorKind::NotFound.into()),
        };
        found.retain(|file| !names.gone.contains(file));
        let made = names.files.keys().chain(&names.dirs);
        found.extend(made.filter(|file| file.parent() == Some(path)).cloned());
        Ok(found.into_iter().collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.has(&self.names(), path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn DirLock>> {
        self.below.lock_to_read(path)
    }

    fn lock_to_read(&self, path: &Path) -> io::Result<Box<dyn DirLock>> {
        self.below.lock_to_read(path)
    }
}

/// A file: the file below, and the pages that were written over it.
#[derive(Default)]
struct Content {
    below: Option<Arc<dyn File>>,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    pages: BTreeMap<u64, Box<[u8]>>,
    len: u64,
    /// Bytes of the file below that count: behind them it was cut.
    below_len: u64,
}

impl Content {
    /// Fills a part of a page from the file below.
    fn read_below(&self, state: &State, buf: &mut [u8], offset: u64) -> io::Result<()> {
        buf.fill(0);
        let count = state.below_len.saturating_sub(offset).min(buf.len() as u64) as usize;
        match &self.below {
            Some(below) if count > 0 => below.read_exact_at(&mut buf[..count], offset),
            _ => Ok(()),
        }
    }
}

struct OverlayFile(Arc<Content>);

/// The parts of pages that some bytes lie in: page, offset in it, range of the bytes.
fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == len {
            return None;
        }
        let here = offset + at as u64;
        let (page, within) = (here / PAGE_BYTES as u64, (here % PAGE_BYTES as u64) as usize);
        let count = (PAGE_BYTES - within).min(len - at);
        at += count;
        Some((page, within, at - count..at))
    })
}

impl File for OverlayFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.0.state.read();
        let count = state.len.saturating_sub(offset).min(buf.len() as u64) as usize;
        for (page, within, range) in parts(offset, count) {
            let at = offset + range.start as u64;
            let buf = &mut buf[range];
            match state.pages.get(&page) {
                Some(page) => buf.copy_from_slice(&page[within..within + buf.len()]),
                None => self.0.read_below(&state, buf, at)?,
            }
        }
        Ok(count)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.0.state.write();
        for (number, within, range) in parts(offset, buf.len()) {
            if !state.pages.contains_key(&number) {
                let mut page = vec![0; PAGE_BYTES].into_boxed_slice();
                self.0.read_below(&state, &mut page, number * PAGE_BYTES as u64)?;
                state.pages.insert(number, page);
            }
            if let Some(page) = state.pages.get_mut(&number) {
                page[within..within + range.len()].copy_from_slice(&buf[range]);
            }
        }
        state.len = state.len.max(offset + buf.len() as u64);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.state.read().len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.0.state.write();
        if len < state.len {
            let behind = len.div_ceil(PAGE_BYTES as u64);
            state.pages.split_off(&behind);
            if let Some(page) = state.pages.get_mut(&(len / PAGE_BYTES as u64)) {
                page[(len % PAGE_BYTES as u64) as usize..].fill(0);
            }
            state.below_len = state.below_len.min(len);
        }
        state.len = len;
        Ok(())
    }
}

//! Segments in an object store: a second implementation of [`SegmentStore`], by the crate `object_store`.
//!
//! ```text
//!   segments/0000000012-9f3c51d2a07b4e66.seg      put whole, once, when it is finished
//!   manifest/00000000000000000007                 put only where it is not there: the epoch is its name
//!   manifest/00000000000000000006                 deleted afterwards
//! ```
//!
//! The newest manifest counts. An opener whose epoch is behind finds the next name taken, or, where that was
//! deleted already, a newer name than the one it has just made.
//!
//! A put is whole and durable when it returns. So a power loss finds all operations up to some moment, and
//! nothing of one that was under way.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode};
use parking_lot::Mutex;
use tempfile::TempDir;
use vfs::File;

use super::seam::{Epoch, SegmentSink, SegmentStore, SwapError};

const SEGMENTS: &str = "segments";
const MANIFESTS: &str = "manifest";

/// Counts the operations of everything that one process writes to, so that they have one order, and has one of
/// them fail.
#[derive(Clone, Default)]
pub struct Steps(Arc<AtomicUsize>, Arc<Mutex<Fault>>);

#[derive(Default)]
struct Fault {
    /// How many operations go well before one fails, and how it does.
    next: Option<(usize, io::ErrorKind)>,
    hit: usize,
}

impl Steps {
    /// The number of the operation that has just happened.
    pub fn next(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// How many operations have happened.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// The operation after `nth` others fails, and does nothing.
    pub fn fail(&self, nth: usize, kind: io::ErrorKind) {
        self.1.lock().next = Some((nth, kind));
    }

    /// No more operations fail.
    pub fn heal(&self) {
        self.1.lock().next = None;
    }

    /// How many operations have failed.
    pub fn faults_hit(&self) -> usize {
        self.1.lock().hit
    }

    /// To be asked before an operation: fails if that is to fail.
    pub fn allow(&self) -> io::Result<()> {
        let mut fault = self.1.lock();
        match fault.next.take() {
            Some((0, kind)) => {
                fault.hit += 1;
                Err(kind.into())
            }
            next => {
                fault.next = next.map(|(nth, kind)| (nth - 1, kind));
                Ok(())
            }
        }
    }
}

/// Where the objects are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Memory,
    /// Files of a folder that goes with the bucket.
    Local,
}

#[derive(Clone)]
enum Op {
    Put(Path, Vec<u8>),
    Delete(Path),
}

/// An object store that records what is done to it. A clone is the same one.
#[derive(Clone)]
pub struct Bucket {
    kind: Kind,
    objects: Arc<dyn ObjectStore>,
    steps: Steps,
    done: Arc<Mutex<Vec<(usize, Op)>>>,
    _folder: Option<Arc<TempDir>>,
}

impl Bucket {
    pub fn new(kind: Kind, steps: &Steps) -> Bucket {
        let folder = (kind == Kind::Local).then(|| TempDir::new().expect("a folder can be made"));
        let objects: Arc<dyn ObjectStore> = match &folder {
            None => Arc::new(InMemory::new()),
            Some(folder) => Arc::new(
                LocalFileSystem::new_with_prefix(folder.path()).expect("the folder is there"),
            ),
        };
        let _folder = folder.map(Arc::new);
        Bucket { kind, objects, steps: steps.clone(), done: Arc::default(), _folder }
    }

    /// The bucket as a power loss just after operation `at` leaves it, with a record of its own.
    pub fn image(&self, at: usize, steps: &Steps) -> Bucket {
        let image = Bucket::new(self.kind, steps);
        for (_, op) in self.done.lock().iter().filter(|(step, _)| *step <= at) {
            match op {
                Op::Put(path, bytes) => {
                    wait(image.objects.put(path, bytes.clone().into())).map(drop)
                }
                Op::Delete(path) => wait(image.objects.delete(path)),
            }
            .expect("what was done can be done again");
            // It lies before the first operation of the image.
            image.done.lock().push((0, op.clone()));
        }
        image
    }

    fn note(&self, op: Op) {
        let mut done = self.done.lock();
        done.push((self.steps.next(), op));
    }

    fn put_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.steps.allow()?;
        wait(self.objects.put_opts(path, bytes.to_vec().into(), PutMode::Create.into()))
            .map_err(to_io)?;
        self.note(Op::Put(path.clone(), bytes.to_vec()));
        Ok(())
    }

    fn delete(&self, path: &Path) -> io::Result<()> {
        self.steps.allow()?;
        wait(self.objects.delete(path)).map_err(to_io)?;
        self.note(Op::Delete(path.clone()));
        Ok(())
    }

    /// The last parts of the names under a prefix.
    fn names(&self, prefix: &str) -> io::Result<Vec<String>> {
        let listed = wait(self.objects.list_with_delimiter(Some(&Path::from(prefix))));
        let objects = listed.map_err(to_io)?.objects;
        Ok(objects.iter().filter_map(|it| it.location.filename().map(str::to_owned)).collect())
    }
}

/// Drives a future of a store that works in the calling thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::yield_now();
    }
}

fn to_io(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        Error::AlreadyExists { .. } => io::ErrorKind::AlreadyExists,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// Segments and manifest as objects of a bucket.
pub struct ObjectSegments(pub Bucket);

fn segment(name: &str) -> Path {
    Path::from_iter([SEGMENTS, name])
}

fn manifest(epoch: Epoch) -> Path {
    Path::from_iter([MANIFESTS, &format!("{:020}", epoch.0)])
}

impl ObjectSegments {
    /// The epochs of the manifests that are there, in no order.
    fn epochs(&self) -> io::Result<Vec<Epoch>> {
        let names = self.0.names(MANIFESTS)?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).map(Epoch).collect())
    }
}

impl SegmentStore for ObjectSegments {
    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        Ok(Box::new(Upload { bucket: self.0.clone(), path: segment(name), bytes: Vec::new() }))
    }

    fn create_scratch(&self, name: &str) -> io::Result<Box<dyn SegmentSink>> {
        self.create(name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let path = segment(name);
        let len = wait(self.0.objects.head(&path)).map_err(to_io)?.size;
        Ok(Arc::new(Object { bucket: self.0.clone(), path, len }))
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.delete(&segment(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.names(SEGMENTS)
    }

    fn load_manifest(&self) -> io::Result<Option<(Epoch, Vec<u8>)>> {
        let Some(epoch) = self.epochs()?.into_iter().max() else { return Ok(None) };
        let found = wait(async { self.0.objects.get(&manifest(epoch)).await?.bytes().await });
        Ok(Some((epoch, found.map_err(to_io)?.to_vec())))
    }

    fn swap_manifest(&self, expected: Epoch, new: &[u8]) -> Result<(), SwapError> {
        let next = expected.next();
        let put = self.0.put_new(&manifest(next), new);
        let is_taken =
            put.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists);
        if let (Err(error), false) = (put, is_taken) {
            return Err(SwapError::Unknown(error));
        }
        let epochs = self.epochs().map_err(SwapError::Unknown)?;
        let found = epochs.iter().copied().max();
        if is_taken || found > Some(next) {
            return Err(SwapError::Fenced { found });
        }
        for old in epochs.into_iter().filter(|epoch| *epoch < next) {
            // An old manifest that stays has no effect, and the next swap tries again.
            let _ = self.0.delete(&manifest(old));
        }
        Ok(())
    }

    fn describe(&self, name: &str) -> String {
        segment(name).to_string()
    }
}

/// A segment that is put when it is whole.
struct Upload {
    bucket: Bucket,
    path: Path,
    bytes: Vec<u8>,
}

impl SegmentSink for Upload {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.bucket.put_new(&self.path, &self.bytes)
    }
}

/// An object that is read in ranges.
struct Object {
    bucket: Bucket,
    path: Path,
    len: u64,
}

impl File for Object {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.len.min(offset + buf.len() as u64);
        if offset >= end {
            return Ok(0);
        }
        let bytes = wait(self.bucket.objects.get_range(&self.path, offset..end)).map_err(to_io)?;
        buf[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync_all(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

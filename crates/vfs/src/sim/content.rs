//! The bytes of a simulated file: pages that are shared until one side writes.
//!
//! A page that is absent reads as zeroes, so a pre-zeroed file of megabytes costs nothing, and an
//! image of a disk is a copy of pointers.

use std::sync::Arc;

const PAGE: usize = 4096;

/// The bytes of one write, kept once for however many images replay it.
#[derive(Clone)]
pub(super) enum Data {
    /// So many zeroes.
    Zeroes(usize),
    Bytes(Arc<[u8]>),
}

impl Data {
    pub fn new(bytes: &[u8]) -> Data {
        if bytes.iter().all(|&b| b == 0) {
            Data::Zeroes(bytes.len())
        } else {
            Data::Bytes(bytes.into())
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Data::Zeroes(n) => *n,
            Data::Bytes(b) => b.len(),
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct Content {
    len: u64,
    /// Covers at most `len`; missing pages, inside or past the end of the list, are zeroes.
    pages: Vec<Option<Arc<[u8; PAGE]>>>,
}

impl Content {
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> usize {
        let n = (self.len.saturating_sub(offset)).min(buf.len() as u64) as usize;
        for (page, within, range) in pieces(offset, n) {
            let out = &mut buf[range];
            match self.pages.get(page) {
                Some(Some(bytes)) => out.copy_from_slice(&bytes[within..within + out.len()]),
                _ => out.fill(0),
            }
        }
        n
    }

    /// Writes the bytes `range` of `data`. `offset` is the place of the whole `data` in the file.
    pub fn write_part(&mut self, offset: u64, data: &Data, range: std::ops::Range<usize>) {
        let at = offset + range.start as u64;
        match data {
            Data::Zeroes(_) => self.zero(at, range.len()),
            Data::Bytes(bytes) => self.write(at, &bytes[range]),
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.grow(offset + bytes.len() as u64);
        for (page, within, range) in pieces(offset, bytes.len()) {
            let from = &bytes[range];
            self.page_mut(page)[within..within + from.len()].copy_from_slice(from);
        }
    }

    fn zero(&mut self, offset: u64, n: usize) {
        self.grow(offset + n as u64);
        for (page, within, range) in pieces(offset, n) {
            match self.pages.get_mut(page) {
                Some(slot) if range.len() == PAGE => *slot = None,
                Some(Some(bytes)) => Arc::make_mut(bytes)[within..within + range.len()].fill(0),
                _ => {}
            }
        }
    }

    fn page_mut(&mut self, page: usize) -> &mut [u8; PAGE] {
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        Arc::make_mut(self.pages[page].get_or_insert_with(|| Arc::new([0; PAGE])))
    }

    /// Makes the file at least `len` long.
    pub fn grow(&mut self, len: u64) {
        self.len = self.len.max(len);
    }

    pub fn set_len(&mut self, len: u64) {
        if len < self.len {
            // The cut bytes must read as zeroes should the file grow again.
            let tail = (len % PAGE as u64) as usize;
            self.pages.truncate(len.div_ceil(PAGE as u64) as usize);
            if tail > 0
                && let Some(Some(last)) = self.pages.get_mut((len / PAGE as u64) as usize)
            {
                Arc::make_mut(last)[tail..].fill(0);
            }
        }
        self.len = len;
    }

    /// Flips one bit, counted from the start of the file; false if the file is shorter.
    pub fn flip(&mut self, bit: u64) -> bool {
        let byte = bit / 8;
        if byte >= self.len {
            return false;
        }
        self.page_mut((byte / PAGE as u64) as usize)[(byte % PAGE as u64) as usize] ^=
            1 << (bit % 8);
        true
    }
}

/// Cuts `n` bytes at `offset` at page boundaries: (page, offset in the page, range of the n bytes).
fn pieces(offset: u64, n: usize) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == n {
            return None;
        }
        let at = offset + done as u64;
        let within = (at % PAGE as u64) as usize;
        let len = (PAGE - within).min(n - done);
        let piece = ((at / PAGE as u64) as usize, within, done..done + len);
        done += len;
        Some(piece)
    })
}

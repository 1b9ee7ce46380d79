//! A filter that says "surely not here" for most keys a segment does not hold.
//!
//! ```text
//!   hash(key) ──high half──> one 64-byte line ──seven 9-bit numbers──> seven bits of that line
//! ```
//!
//! A blocked Bloom filter: all bits of a key lie in one cache line, at ten bits a key about one absent
//! key in a hundred passes. The hash is part of the file format, so it is written out here.
//!
//! # Invariants
//! * A key that was added is always found.

const LINE: usize = 64;
const BITS_PER_KEY: usize = 10;
const PROBES: u32 = 7;
const K0: u64 = 0x9e37_79b9_7f4a_7c15;
const K1: u64 = 0xd6e8_feb8_6659_fd93;

/// The hash of a key, as the format defines it.
#[inline]
pub fn hash(key: &[u8]) -> u64 {
    let mut h = K0 ^ (key.len() as u64).wrapping_mul(K1);
    let mut chunks = key.chunks_exact(8);
    for chunk in &mut chunks {
        h = fold(
            h ^ u64::from_le_bytes([
                chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7],
            ]),
        );
    }
    let mut tail = [0; 8];
    tail[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    fold(fold(h ^ u64::from_le_bytes(tail)) ^ K1)
}

#[inline]
fn fold(x: u64) -> u64 {
    let product = u128::from(x ^ K1) * u128::from(K0);
    product as u64 ^ (product >> 64) as u64
}

/// Builds the bytes of a filter over the hashes of distinct keys.
pub fn build(hashes: &[u64]) -> Vec<u8> {
    let lines = (hashes.len() * BITS_PER_KEY).div_ceil(LINE * 8).max(1);
    let mut bytes = vec![0; lines * LINE];
    for &hash in hashes {
        let (start, mut bits) = place(hash, lines);
        for _ in 0..PROBES {
            let bit = (bits & 511) as usize;
            bytes[start + bit / 8] |= 1 << (bit % 8);
            bits >>= 9;
        }
    }
    bytes
}

/// False if the key of `hash` was surely not added. A filter of a wrong length passes everything.
#[inline]
pub fn may_hold(filter: &[u8], hash: u64) -> bool {
    let lines = filter.len() / LINE;
    if lines == 0 {
        return true;
    }
    let (start, mut bits) = place(hash, lines);
    let line = &filter[start..start + LINE];
    for _ in 0..PROBES {
        let bit = (bits & 511) as usize;
        if line[bit / 8] & 1 << (bit % 8) == 0 {
            return false;
        }
        bits >>= 9;
    }
    true
}

#[inline]
fn place(hash: u64, lines: usize) -> (usize, u64) {
    let line = ((hash >> 32) * lines as u64) >> 32;
    (line as usize * LINE, hash.wrapping_mul(K1) ^ (hash >> 29))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key added passes, and of the others about one in a hundred.
    #[test]
    fn holds_what_was_added_and_little_else() {
        let key = |i: u32| format!("key {i}").into_bytes();
        let hashes: Vec<u64> = (0..20_000).map(|i| hash(&key(i))).collect();
        let filter = build(&hashes);
        assert!((0..20_000).all(|i| may_hold(&filter, hash(&key(i)))));
        let passed = (20_000..60_000).filter(|&i| may_hold(&filter, hash(&key(i)))).count();
        assert!(passed < 800, "{passed} of 40,000 absent keys pass");
    }

    /// The hash is part of the format: it must not change.
    #[test]
    fn the_hash_is_fixed() {
        assert_ne!(hash(b"a"), hash(b"a\0"));
        assert_eq!(hash(b"anywhen"), 10_208_558_521_620_389_076);
    }
}

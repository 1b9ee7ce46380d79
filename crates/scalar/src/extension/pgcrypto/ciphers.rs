//! `encrypt`, `decrypt` and the like: block ciphers in the modes `cbc` and `ecb`.
//!
//! ```text
//!   aes-cbc/pad:pkcs      algorithm - mode / pad: padding
//! ```
//!
//! Zeros fill up a key that is too short for the cipher, and a short initial vector.

use aes::{Aes128, Aes192, Aes256};
use blowfish::Blowfish;
use cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use des::TdesEde3;
use types::Result;

use super::{cannot_use, failed};

/// A cipher with its key, which works on blocks in their place.
trait Blocks {
    /// Bytes of a block.
    fn size(&self) -> usize;
    fn encrypt(&self, block: &mut [u8]);
    fn decrypt(&self, block: &mut [u8]);
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt> Blocks for C {
    fn size(&self) -> usize {
        C::block_size()
    }

    fn encrypt(&self, block: &mut [u8]) {
        let whole = <&mut Block<C>>::try_from(block).expect("a block has the cipher's size");
        self.encrypt_block(whole);
    }

    fn decrypt(&self, block: &mut [u8]) {
        let whole = <&mut Block<C>>::try_from(block).expect("a block has the cipher's size");
        self.decrypt_block(whole);
    }
}

/// The parts of the name of a cipher.
struct Named<'n> {
    algorithm: &'n str,
    /// True for `cbc`: each block is mixed with the one before it.
    is_chained: bool,
    is_padded: bool,
}

impl<'n> Named<'n> {
    fn parse(name: &str, lower: &'n str) -> Result<Self> {
        let (cipher, option) = match lower.split_once('/') {
            Some((cipher, option)) => (cipher, Some(option)),
            None => (lower, None),
        };
        let no_cipher = || cannot_use(name, "No such cipher algorithm");
        let is_padded = match option.map(|option| option.split_once(':')) {
            None | Some(Some(("pad", "pkcs"))) => true,
            Some(Some(("pad", "none"))) => false,
            Some(Some(("pad", _))) => return Err(no_cipher()),
            Some(_) => return Err(cannot_use(name, "Unknown option")),
        };
        let (algorithm, mode) = cipher.split_once('-').unwrap_or((cipher, "cbc"));
        let is_chained = match mode {
            "cbc" => true,
            "ecb" => false,
            _ => return Err(no_cipher()),
        };
        Ok(Named { algorithm, is_chained, is_padded })
    }

    /// The cipher with a key.
    fn cipher(&self, name: &str, key: &[u8]) -> Result<Box<dyn Blocks>> {
        let too_long = || cannot_use(name, "Key was too big");
        Ok(match self.algorithm {
            "aes" | "rijndael" => match key.len() {
                0..=16 => Box::new(Aes128::new(&filled::<16>(key).into())),
                17..=24 => Box::new(Aes192::new(&filled::<24>(key).into())),
                25.. => Box::new(Aes256::new(&filled::<32>(key).into())),
            },
            "3des" | "des3" => Box::new(TdesEde3::new(&filled::<24>(key).into())),
            "bf" | "blowfish" => {
                // Shorter keys than the crate takes are repeated, which is what the cipher does with them.
                let mut whole = key.to_vec();
                while (1..4).contains(&whole.len()) {
                    whole = key.iter().copied().cycle().take(key.len() * 4).collect();
                }
                Box::new(<Blowfish>::new_from_slice(&whole).map_err(|_| too_long())?)
            }
            _ => return Err(cannot_use(name, "No such cipher algorithm")),
        })
    }
}

/// The first bytes, filled up with zeros.
fn filled<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut whole = [0; N];
    let count = bytes.len().min(N);
    whole[..count].copy_from_slice(&bytes[..count]);
    whole
}

fn mix(block: &mut [u8], other: &[u8]) {
    block.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
}

/// Data under a key; `start` is the initial vector.
pub(super) fn encrypt(data: &[u8], key: &[u8], start: &[u8], name: &str) -> Result<Vec<u8>> {
    let lower = name.to_ascii_lowercase();
    let named = Named::parse(name, &lower)?;
    let cipher = named.cipher(name, key)?;
    let size = cipher.size();
    let mut data = data.to_vec();
    if named.is_padded {
        let more = size - data.len() % size;
        data.resize(data.len() + more, more as u8);
    } else if !data.len().is_multiple_of(size) {
        return Err(failed("encrypt error: Encryption failed"));
    }
    let mut before = filled::<16>(start);
    for block in data.chunks_exact_mut(size) {
        if named.is_chained {
            mix(block, &before);
        }
        cipher.encrypt(block);
        before[..size].copy_from_slice(block);
    }
    Ok(data)
}

/// The data that [`encrypt`] was given.
pub(super) fn decrypt(data: &[u8], key: &[u8], start: &[u8], name: &str) -> Result<Vec<u8>> {
    let lower = name.to_ascii_lowercase();
    let named = Named::parse(name, &lower)?;
    let cipher = named.cipher(name, key)?;
    let size = cipher.size();
    let damaged = || failed("decrypt error: Decryption failed");
    if !data.len().is_multiple_of(size) || named.is_padded && data.is_empty() {
        return Err(damaged());
    }
    let mut plain = data.to_vec();
    let mut before = filled::<16>(start);
    for (block, given) in plain.chunks_exact_mut(size).zip(data.chunks_exact(size)) {
        cipher.decrypt(block);
        if named.is_chained {
            mix(block, &before);
        }
        before[..size].copy_from_slice(given);
    }
    if named.is_padded {
        let more = usize::from(*plain.last().ok_or_else(damaged)?);
        let is_padding = (1..=size).contains(&more)
            && plain[plain.len() - more..].iter().all(|byte| usize::from(*byte) == more);
        if !is_padding {
            return Err(damaged());
        }
        plain.truncate(plain.len() - more);
    }
    Ok(plain)
}

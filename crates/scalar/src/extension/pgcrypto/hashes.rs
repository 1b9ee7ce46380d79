//! `digest` and `hmac`.

use hmac::{KeyInit, Mac, SimpleHmac};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use types::Result;

use super::cannot_use;

/// Calls `$f` with the hash that a name means.
macro_rules! with_hash {
    ($name:expr, $f:ident($($arg:expr),*)) => {
        Ok(match $name.to_ascii_lowercase().as_str() {
            "md5" => $f::<Md5>($($arg),*),
            "sha1" => $f::<Sha1>($($arg),*),
            "sha224" => $f::<Sha224>($($arg),*),
            "sha256" => $f::<Sha256>($($arg),*),
            "sha384" => $f::<Sha384>($($arg),*),
            "sha512" => $f::<Sha512>($($arg),*),
            _ => return Err(cannot_use($name, "No such hash algorithm")),
        })
    };
}

/// The hash of data.
pub(super) fn digest(data: &[u8], name: &str) -> Result<Vec<u8>> {
    fn of<D: Digest>(data: &[u8]) -> Vec<u8> {
        D::digest(data).to_vec()
    }
    with_hash!(name, of(data))
}

/// The hash of data under a key.
pub(super) fn hmac(data: &[u8], key: &[u8], name: &str) -> Result<Vec<u8>> {
    fn of<D: Digest + md5::digest::common::BlockSizeUser>(data: &[u8], key: &[u8]) -> Vec<u8> {
        let mac = SimpleHmac::<D>::new_from_slice(key);
        let mac = mac.expect("a key may have any length").chain_update(data);
        mac.finalize().into_bytes().to_vec()
    }
    with_hash!(name, of(data, key))
}

//! Sets of keys with which tokens are signed (RFC 7517): RSA, and elliptic curves over P-256.

use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// A public key.
pub(super) enum Key {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point of P-256.
    Ec(Vec<u8>),
}

/// A key, and its name in the set.
pub(super) struct Named {
    pub(super) id: Option<String>,
    pub(super) key: Key,
}

/// The keys in a file.
///
/// # Errors
/// Fails if it cannot be read, or is not a set of keys with a supported key.
pub(super) fn from_file(path: &Path) -> io::Result<Vec<Named>> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    read(&std::fs::read(path).map_err(named)?).map_err(named)
}

/// The keys in a text.
///
/// # Errors
/// Fails if it is not a set of keys with a supported key.
pub(super) fn read(text: &[u8]) -> io::Result<Vec<Named>> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let set: Value = serde_json::from_slice(text).map_err(|error| wrong(&error.to_string()))?;
    let list = set["keys"].as_array().ok_or_else(|| wrong("no set of keys: no \"keys\" in it"))?;
    let keys: Vec<Named> = list.iter().filter_map(named).collect();
    // Keys of other kinds may stand among them; without any of ours no caller could sign in.
    if keys.is_empty() { Err(wrong("no RSA and no P-256 key in it")) } else { Ok(keys) }
}

fn named(key: &Value) -> Option<Named> {
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str()?).ok();
    let is_for_signing = key["use"].as_str().is_none_or(|purpose| purpose == "sig");
    let found = match (key["kty"].as_str()?, key["crv"].as_str()) {
        ("RSA", _) => Key::Rsa { modulus: bytes("n")?, exponent: bytes("e")? },
        ("EC", Some("P-256")) => Key::Ec([&[4], &bytes("x")?[..], &bytes("y")?[..]].concat()),
        _ => return None,
    };
    let id = key["kid"].as_str().map(str::to_owned);
    is_for_signing.then_some(Named { id, key: found })
}

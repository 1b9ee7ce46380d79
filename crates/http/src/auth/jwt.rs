//! Tokens that others sign: JSON web tokens (RFC 7519) with RS256 or ES256, whose keys are a set in a
//! file (RFC 7517).
//!
//! ```text
//!   base64url(header) . base64url(claims) . base64url(signature)
//!        alg, kid          exp, nbf, iss, aud, sub, roles
//! ```
//!
//! The algorithm follows from the key, never from the token alone, and `none` is no algorithm. Roles are
//! taken from `roles`, from `realm_access.roles`, where Keycloak puts them, and from `scope`; what is no
//! role of ours is passed over.

use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

use super::{Caller, Rights, Watched};
use crate::options::Jwt;

/// How far clocks may be apart, in seconds.
const LEEWAY_S: u64 = 60;
/// Longer tokens are not looked at.
const BYTES_MAX: usize = 16 << 10;

/// A public key.
enum Key {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point of P-256.
    Ec(Vec<u8>),
}

struct Named {
    id: Option<String>,
    key: Key,
}

/// Checks tokens that others sign.
pub(super) struct Signed {
    options: Jwt,
    keys: Watched<Vec<Named>>,
}

impl Signed {
    pub(super) fn new(options: Jwt) -> io::Result<Self> {
        Ok(Signed { keys: Watched::new(options.keys.clone(), read_keys)?, options })
    }

    /// Whom a token names; or why it does not hold.
    pub(super) fn check(&self, token: &str, now_us: u64) -> Result<Caller, &'static str> {
        const NONE: &str = "the token is no JSON web token";
        if token.len() > BYTES_MAX {
            return Err(NONE);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(NONE)?;
        let (header, claims) = message.split_once('.').ok_or(NONE)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| NONE)?;
        let (header, claims) = (object(header).ok_or(NONE)?, object(claims).ok_or(NONE)?);
        let (algorithm, id) = (header["alg"].as_str(), header["kid"].as_str());
        let keys = self.keys.get();
        let fit = keys.iter().filter(|named| id.is_none() || named.id.as_deref() == id);
        let holds = fit.into_iter().any(|named| match (&named.key, algorithm) {
            (Key::Rsa { modulus, exponent }, Some("RS256")) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message.as_bytes(), &signature).is_ok()
            }
            (Key::Ec(point), Some("ES256")) => {
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message.as_bytes(), &signature).is_ok()
            }
            _ => false,
        });
        if !holds {
            return Err("the token is not signed by a known key");
        }
        self.claims(&claims, now_us / 1_000_000)
    }

    fn claims(&self, claims: &Value, now_s: u64) -> Result<Caller, &'static str> {
        let time = |name: &str| claims[name].as_f64().map(|seconds| seconds as u64);
        if time("exp").ok_or("the token has no end")? + LEEWAY_S < now_s {
            return Err("the token has expired");
        }
        if time("nbf").is_some_and(|from| from > now_s + LEEWAY_S) {
            return Err("the token does not hold yet");
        }
        if self.options.issuer.as_deref().is_some_and(|wanted| claims["iss"] != *wanted) {
            return Err("the token was made by another issuer");
        }
        if let Some(wanted) = self.options.audience.as_deref() {
            let is_meant = match &claims["aud"] {
                Value::Array(all) => all.iter().any(|one| one == wanted),
                one => one == wanted,
            };
            if !is_meant {
                return Err("the token is meant for another audience");
            }
        }
        let mut rights = Rights::default();
        let lists = [&claims["roles"], &claims["realm_access"]["roles"]];
        let listed = lists.iter().filter_map(|list| list.as_array()).flatten();
        let scope = claims["scope"].as_str().unwrap_or_default().split(' ');
        for role in listed.filter_map(Value::as_str).chain(scope) {
            // Roles of other systems are none of ours.
            let _ = rights.add(role);
        }
        let name = claims["preferred_username"].as_str().or(claims["sub"].as_str());
        Ok(Caller { name: name.unwrap_or_default().to_owned(), rights })
    }
}

fn object(part: &str) -> Option<Value> {
    let value: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()?;
    value.is_object().then_some(value)
}

fn read_keys(path: &Path) -> io::Result<Vec<Named>> {
    let wrong = |what: &str| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()))
    };
    let text = std::fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let set: Value = serde_json::from_slice(&text).map_err(|error| wrong(&error.to_string()))?;
    let list = set["keys"].as_array().ok_or_else(|| wrong("no set of keys: no \"keys\" in it"))?;
    let keys: Vec<Named> = list.iter().filter_map(named).collect();
    // Keys of other kinds may stand among them; without any of ours nobody could come in.
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

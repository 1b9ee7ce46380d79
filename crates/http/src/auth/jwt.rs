//! Tokens that others sign: JSON web tokens (RFC 7519) with RS256 or ES256.
//!
//! ```text
//!   base64url(header) . base64url(claims) . base64url(signature)
//!        alg, kid          exp, nbf, iss, aud, sub, roles, sql_role
//! ```
//!
//! The algorithm follows from the key, never from the token alone, and `none` is no algorithm. Roles are
//! taken from `roles`, from `realm_access.roles`, where Keycloak puts them, and from `scope`; what is no
//! role of ours is passed over. The role of SQL is what `sql_role` names, else what `sub` does; never
//! `preferred_username`, which many issuers let people choose.

use std::io;
use std::sync::Arc;

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

use super::keys::{Key, Named, from_file};
use super::remote::Remote;
use super::{Caller, Rights, RoleFrom, Watched, bearer};
use crate::options::{Jwt, KeySet};
use crate::problem::Problem;

/// How far clocks may be apart, in seconds.
const LEEWAY_S: u64 = 60;
/// Longer tokens are not looked at.
const BYTES_MAX: usize = 16 << 10;

/// Checks tokens that others sign.
pub(super) struct Signed {
    options: Jwt,
    keys: Keys,
}

/// Where the keys come from.
enum Keys {
    File(Watched<Vec<Named>>),
    Remote(Remote),
}

impl Signed {
    pub(super) fn new(options: Jwt) -> io::Result<Self> {
        let keys = match &options.keys {
            KeySet::File(path) => Keys::File(Watched::new(path.clone(), from_file)?),
            KeySet::Url { url, authorities } => {
                Keys::Remote(Remote::new(url, authorities.as_deref())?)
            }
        };
        Ok(Signed { keys, options })
    }

    /// The keys that are elsewhere.
    pub(super) fn remote(&self) -> Option<&Remote> {
        match &self.keys {
            Keys::File(_) => None,
            Keys::Remote(remote) => Some(remote),
        }
    }

    /// Asks for keys that are elsewhere where the token of a request names one that is not known.
    pub(super) async fn learn(&self, headers: &HeaderMap) {
        let Some(remote) = self.remote() else { return };
        let keys = remote.keys();
        let header = bearer(headers).and_then(|token| token.split_once('.'));
        let header = header.filter(|(header, _)| header.len() <= BYTES_MAX);
        let Some(header) = header.and_then(|(header, _)| object(header)) else { return };
        let Some(id) = header["kid"].as_str() else { return };
        if !keys.iter().any(|key| key.id.as_deref() == Some(id)) {
            remote.renew(&keys).await;
        }
    }

    fn keys(&self) -> Result<Arc<Vec<Named>>, Problem> {
        match &self.keys {
            Keys::File(watched) => Ok(watched.get()),
            Keys::Remote(remote) => {
                let keys = remote.keys();
                match keys.is_empty() {
                    true => {
                        Err(Problem::busy("the keys of JSON web tokens have not been fetched yet"))
                    }
                    false => Ok(keys),
                }
            }
        }
    }

    /// The caller that a token names.
    ///
    /// # Errors
    /// 401 where it does not hold, 503 where that cannot be known yet.
    pub(super) fn check(&self, token: &str, now_us: u64) -> Result<Caller, Problem> {
        let keys = self.keys()?;
        self.check_with(&keys, token, now_us).map_err(Problem::unauthorized)
    }

    /// The caller that a token names; or why the token is invalid.
    fn check_with(&self, keys: &[Named], token: &str, now_us: u64) -> Result<Caller, &'static str> {
        const NONE: &str = "the token is not a JSON web token";
        if token.len() > BYTES_MAX {
            return Err(NONE);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(NONE)?;
        let (header, claims) = message.split_once('.').ok_or(NONE)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| NONE)?;
        let (header, claims) = (object(header).ok_or(NONE)?, object(claims).ok_or(NONE)?);
        let (algorithm, id) = (header["alg"].as_str(), header["kid"].as_str());
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
        let text = |name: &str| claims[name].as_str().filter(|text| !text.is_empty());
        let subject = text("sub");
        let name = text("preferred_username").or(subject).ok_or("the token names nobody")?;
        let (role, role_from) = match (text("sql_role"), subject) {
            (Some(role), _) => (role, RoleFrom::Token),
            (None, Some(subject)) => (subject, RoleFrom::Name),
            (None, None) => (name, RoleFrom::Nothing),
        };
        Ok(Caller { name: name.to_owned(), role: role.to_owned(), role_from, rights })
    }
}

fn object(part: &str) -> Option<Value> {
    let value: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()?;
    value.is_object().then_some(value)
}

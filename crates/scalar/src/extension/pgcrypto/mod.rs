//! `pgcrypto`: hashes, passwords, ciphers and ASCII armour.
//!
//! | module | has |
//! |---|---|
//! | `hashes` | `digest`, `hmac` |
//! | `passwords` | `crypt`, `gen_salt` |
//! | `ciphers` | `encrypt`, `decrypt` |
//! | `armor` | `armor`, `dearmor` |
//!
//! OpenPGP messages are not supported.

mod armor;
mod ciphers;
mod hashes;
mod passwords;

use types::{ArrayRef, Datum, Error, Result, SqlState};

use crate::function::{Call, Function, functions, sets};

/// The error for a name of an algorithm that means nothing.
fn cannot_use(name: &str, why: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("Cannot use \"{name}\": {why}"))
}

/// The error of a call whose input does not go with the algorithm.
fn failed(message: &str) -> Error {
    Error::new(SqlState::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION, message)
}

/// The error of the functions that read and write OpenPGP messages.
fn no_pgp<T>() -> Result<T> {
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "OpenPGP messages are not supported"))
}

/// So many random bytes.
fn random_bytes(call: &Call<'_>, count: i32) -> Result<Vec<u8>> {
    if !(1..=1024).contains(&count) {
        return Err(failed("Length not in range"));
    }
    let mut bytes = Vec::with_capacity(count as usize + 16);
    while bytes.len() < count as usize {
        bytes.extend_from_slice(&call.context.random.secret());
    }
    bytes.truncate(count as usize);
    Ok(bytes)
}

pub(crate) const TABLE: &[Function] = functions! {
    14592 digest(TEXT, TEXT) -> BYTEA = (data: &str, name: &str) hashes::digest(data.as_bytes(), name);
    14593 digest(BYTEA, TEXT) -> BYTEA = (data: &[u8], name: &str) hashes::digest(data, name);
    14594 hmac(TEXT, TEXT, TEXT) -> BYTEA = (data: &str, key: &str, name: &str)
        hashes::hmac(data.as_bytes(), key.as_bytes(), name);
    14595 hmac(BYTEA, BYTEA, TEXT) -> BYTEA = (data: &[u8], key: &[u8], name: &str)
        hashes::hmac(data, key, name);
    14596 crypt(TEXT, TEXT) -> TEXT = (password: &str, salt: &str) passwords::crypt(password, salt);
    14597 gen_salt(TEXT) -> TEXT [volatile] = (call; name: &str) passwords::gen_salt(call, name, 0);
    14598 gen_salt(TEXT, INT4) -> TEXT [volatile] = (call; name: &str, rounds: i32)
        passwords::gen_salt(call, name, rounds);
    14599 encrypt(BYTEA, BYTEA, TEXT) -> BYTEA = (data: &[u8], key: &[u8], name: &str)
        ciphers::encrypt(data, key, &[], name);
    14600 decrypt(BYTEA, BYTEA, TEXT) -> BYTEA = (data: &[u8], key: &[u8], name: &str)
        ciphers::decrypt(data, key, &[], name);
    14601 encrypt_iv(BYTEA, BYTEA, BYTEA, TEXT) -> BYTEA
        = (data: &[u8], key: &[u8], start: &[u8], name: &str) ciphers::encrypt(data, key, start, name);
    14602 decrypt_iv(BYTEA, BYTEA, BYTEA, TEXT) -> BYTEA
        = (data: &[u8], key: &[u8], start: &[u8], name: &str) ciphers::decrypt(data, key, start, name);
    14603 gen_random_bytes(INT4) -> BYTEA [volatile] = (call; count: i32) random_bytes(call, count);
    14604 gen_random_uuid() -> UUID [volatile, nullable] = (call;) crate::random::uuid(call);
    14605 pgp_sym_encrypt(TEXT, TEXT) -> BYTEA [volatile] = [_call, _args] no_pgp::<Datum>();
    14606 pgp_sym_encrypt_bytea(BYTEA, TEXT) -> BYTEA [volatile] = [_call, _args] no_pgp::<Datum>();
    14607 pgp_sym_encrypt(TEXT, TEXT, TEXT) -> BYTEA [volatile] = [_call, _args] no_pgp::<Datum>();
    14608 pgp_sym_encrypt_bytea(BYTEA, TEXT, TEXT) -> BYTEA [volatile]
        = [_call, _args] no_pgp::<Datum>();
    14609 pgp_sym_decrypt(BYTEA, TEXT) -> TEXT = [_call, _args] no_pgp::<Datum>();
    14610 pgp_sym_decrypt_bytea(BYTEA, TEXT) -> BYTEA = [_call, _args] no_pgp::<Datum>();
    14611 pgp_sym_decrypt(BYTEA, TEXT, TEXT) -> TEXT = [_call, _args] no_pgp::<Datum>();
    14612 pgp_sym_decrypt_bytea(BYTEA, TEXT, TEXT) -> BYTEA = [_call, _args] no_pgp::<Datum>();
    14613 pgp_pub_encrypt(TEXT, BYTEA) -> BYTEA [volatile] = [_call, _args] no_pgp::<Datum>();
    14614 pgp_pub_encrypt_bytea(BYTEA, BYTEA) -> BYTEA [volatile] = [_call, _args] no_pgp::<Datum>();
    14615 pgp_pub_encrypt(TEXT, BYTEA, TEXT) -> BYTEA [volatile] = [_call, _args] no_pgp::<Datum>();
    14616 pgp_pub_encrypt_bytea(BYTEA, BYTEA, TEXT) -> BYTEA [volatile]
        = [_call, _args] no_pgp::<Datum>();
    14617 pgp_pub_decrypt(BYTEA, BYTEA) -> TEXT = [_call, _args] no_pgp::<Datum>();
    14618 pgp_pub_decrypt_bytea(BYTEA, BYTEA) -> BYTEA = [_call, _args] no_pgp::<Datum>();
    14619 pgp_pub_decrypt(BYTEA, BYTEA, TEXT) -> TEXT = [_call, _args] no_pgp::<Datum>();
    14620 pgp_pub_decrypt_bytea(BYTEA, BYTEA, TEXT) -> BYTEA = [_call, _args] no_pgp::<Datum>();
    14621 pgp_pub_decrypt(BYTEA, BYTEA, TEXT, TEXT) -> TEXT = [_call, _args] no_pgp::<Datum>();
    14622 pgp_pub_decrypt_bytea(BYTEA, BYTEA, TEXT, TEXT) -> BYTEA
        = [_call, _args] no_pgp::<Datum>();
    14623 pgp_key_id(BYTEA) -> TEXT = [_call, _args] no_pgp::<Datum>();
    14624 armor(BYTEA) -> TEXT = (data: &[u8]) armor::armor(data, &[]);
    14625 armor(BYTEA, TEXT_ARRAY, TEXT_ARRAY) -> TEXT
        = (data: &[u8], names: ArrayRef<'_>, values: ArrayRef<'_>)
        armor::with_headers(data, names, values);
    14626 dearmor(TEXT) -> BYTEA = (text: &str) armor::dearmor(text);
};

pub(crate) const SETS: &[Function] = sets! {
    14627 pgp_armor_headers(TEXT) -> RECORD = (_call; text: &str) armor::headers(text);
};

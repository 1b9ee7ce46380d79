//! `crypt` and `gen_salt`: hashes of passwords.
//!
//! ```text
//!   $2a$06$ 22 characters of salt, 31 of the hash       bf: Blowfish, 2^6 rounds
//!   $1$ up to 8 characters of salt $ 22 of the hash     md5
//! ```
//!
//! The hashes of DES are not supported.

use blowfish::Blowfish;
use md5::{Digest, Md5};
use types::{Error, Result, SqlState};

use crate::function::Call;

/// The digits of base 64 in the order of `crypt`, and in that of Blowfish's hashes.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS_BF: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fn invalid_salt() -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, "invalid salt")
}

fn no_des<T>() -> Result<T> {
    let message = "passwords hashed with DES are not supported";
    let hint = "The algorithms \"bf\" and \"md5\" are.";
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(hint))
}

fn bad_rounds() -> Error {
    let message = "gen_salt: Incorrect number of rounds";
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// A new salt; `rounds` is 0 for the usual number.
pub(super) fn gen_salt(call: &Call<'_>, name: &str, rounds: i32) -> Result<String> {
    let secret = call.context.random.secret();
    match name.to_ascii_lowercase().as_str() {
        "bf" => {
            let cost = if rounds == 0 { 6 } else { rounds };
            if !(4..=31).contains(&cost) {
                return Err(bad_rounds());
            }
            Ok(format!("$2a${cost:02}${}", bf_text(&secret)))
        }
        "md5" => {
            if rounds != 0 && rounds != 1000 {
                return Err(bad_rounds());
            }
            let digits = secret[..8].iter().map(|byte| char::from(DIGITS[usize::from(byte & 63)]));
            Ok(format!("$1${}", digits.collect::<String>()))
        }
        "des" | "xdes" => no_des(),
        _ => {
            let message = "gen_salt: Unknown salt algorithm";
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

/// The hash of a password with a salt, or with the salt of another hash.
pub(super) fn crypt(password: &str, salt: &str) -> Result<String> {
    match salt.as_bytes() {
        [b'$', b'2', b'a', b'$', ..] => bf(password.as_bytes(), salt),
        [b'$', b'2', b'x', b'$', ..] => {
            let message = "passwords hashed with \"$2x$\" are not supported";
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
        [b'$', b'1', b'$', ..] => Ok(md5(password.as_bytes(), &salt[3..])),
        // DES takes any two characters, or nine that begin with an underscore.
        [_, _, ..] => no_des(),
        _ => Err(invalid_salt()),
    }
}

/// Bytes in base 64 as Blowfish's hashes have them: from the highest bit on.
fn bf_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..1 + group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(bits);
        for digit in 0..=group.len() {
            text.push(char::from(DIGITS_BF[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

/// The 16 bytes of a salt of 22 digits, and the digits that they have.
fn bf_salt(text: &[u8]) -> Option<([u8; 16], String)> {
    let mut bits = 0_u32;
    let mut bytes = Vec::with_capacity(18);
    for (place, digit) in text.iter().enumerate() {
        let value = DIGITS_BF.iter().position(|known| known == digit)? as u32;
        bits = bits << 6 | value;
        if place % 4 == 3 {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
        }
    }
    // The last group has 2 digits for 1 byte.
    bytes.push((bits >> 4) as u8);
    let bytes: [u8; 16] = bytes.try_into().ok()?;
    let text = bf_text(&bytes);
    Some((bytes, text))
}

fn bf(password: &[u8], salt: &str) -> Result<String> {
    let bytes = salt.as_bytes();
    let cost = bytes.get(4..6).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let digits = bytes.get(7..29).filter(|_| bytes[6] == b'$');
    let (Some(cost), Some((salt, salt_text))) = (cost, digits.and_then(bf_salt)) else {
        return Err(invalid_salt());
    };
    if !(4..=31_u32).contains(&cost) {
        return Err(invalid_salt());
    }
    // The key is the password with the zero at its end, of which the cipher takes 72 bytes.
    let mut key: Vec<u8> = password.iter().copied().take(72).collect();
    key.push(0);
    key.truncate(72);
    let mut state = Blowfish::bc_init_state();
    state.salted_expand_key(&salt, &key);
    for round in 0..1_u64 << cost {
        if round % 64 == 0 {
            interrupt::check()?;
        }
        state.bc_expand_key(&key);
        state.bc_expand_key(&salt);
    }
    let mut words: [u32; 6] =
        [0x4f72_7068, 0x6561_6e42, 0x6568_6f6c, 0x6465_7253, 0x6372_7944, 0x6f75_6274];
    for pair in words.chunks_exact_mut(2) {
        for _ in 0..64 {
            let [left, right] = state.bc_encrypt([pair[0], pair[1]]);
            (pair[0], pair[1]) = (left, right);
        }
    }
    let hash: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).take(23).collect();
    Ok(format!("$2a${cost:02}${salt_text}{}", bf_text(&hash)))
}

/// The hash that FreeBSD's `crypt` makes with MD5; `salt` is behind `$1$`.
fn md5(password: &[u8], salt: &str) -> String {
    let salt: &str = salt.split('$').next().unwrap_or_default();
    let salt = &salt.as_bytes()[..salt.len().min(8)];
    let inner = Md5::new().chain_update(password).chain_update(salt).chain_update(password);
    let inner = inner.finalize();
    let mut outer = Md5::new().chain_update(password).chain_update(b"$1$").chain_update(salt);
    for start in (0..password.len()).step_by(16) {
        outer.update(&inner[..16.min(password.len() - start)]);
    }
    let mut length = password.len();
    while length > 0 {
        outer.update(if length & 1 == 1 { &[0][..] } else { &password[..1] });
        length >>= 1;
    }
    let mut hash = outer.finalize();
    for round in 0..1000 {
        let mut next = Md5::new();
        next.update(if round & 1 == 1 { password } else { &hash[..] });
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(password);
        }
        next.update(if round & 1 == 1 { &hash[..] } else { password });
        hash = next.finalize();
    }
    let mut text = format!("$1${}$", String::from_utf8_lossy(salt));
    let mut put = |mut bits: u32, count: usize| {
        for _ in 0..count {
            text.push(char::from(DIGITS[(bits & 63) as usize]));
            bits >>= 6;
        }
    };
    let at = |place: usize| u32::from(hash[place]);
    for place in 0..5 {
        let third = if place == 4 { 5 } else { place + 12 };
        put(at(place) << 16 | at(place + 6) << 8 | at(third), 4);
    }
    put(at(11), 2);
    text
}

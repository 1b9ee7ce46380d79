//! SCRAM verifiers: the stored form of passwords, as PostgreSQL writes it.
//!
//! ```text
//!   SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>        base64
//!   SaltedPassword = PBKDF2(password, salt, iterations)              RFC 5802, RFC 7677
//!   StoredKey = H(HMAC(SaltedPassword, "Client Key")), ServerKey = HMAC(SaltedPassword, "Server Key")
//! ```

use sha2::{Digest, Sha256};

/// The block of SHA-256, in bytes.
const BLOCK: usize = 64;

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// The stored verifier of a password. The password is prepared as RFC 4013 (SASLprep) asks for
/// first, so that it is the same however it was typed. A password that RFC 4013 refuses is taken as
/// it is, as PostgreSQL does.
pub fn verifier(password: &str, salt: &[u8], iterations: u32) -> String {
    let prepared = stringprep::saslprep(password);
    let password = prepared.as_deref().unwrap_or(password);
    let mut step = hmac(password.as_bytes(), &[salt, &1_u32.to_be_bytes()]);
    let mut salted = step;
    for _ in 1..iterations {
        step = hmac(password.as_bytes(), &[&step]);
        salted.iter_mut().zip(step).for_each(|(all, one)| *all ^= one);
    }
    let stored: [u8; 32] = Sha256::digest(hmac(&salted, &[b"Client Key"])).into();
    let server = hmac(&salted, &[b"Server Key"]);
    format!("SCRAM-SHA-256${iterations}:{}${}:{}", base64(salt), base64(&stored), base64(&server))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut number = 0_u32;
        for at in 0..3 {
            number = number << 8 | u32::from(chunk.get(at).copied().unwrap_or(0));
        }
        for at in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A password is the same with the space that does not break a line.
    #[test]
    fn passwords_are_prepared() {
        assert_eq!(verifier("a\u{a0}b", b"salt", 2), verifier("a b", b"salt", 2));
        assert_ne!(verifier("a\u{7}b", b"salt", 2), verifier("ab", b"salt", 2));
    }

    /// The verifier of RFC 7677's example is the one that its exchange is computed with.
    #[test]
    fn the_verifier_is_that_of_the_standard() {
        let salt = [
            0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36,
            0xfa, 0x81,
        ];
        assert_eq!(
            verifier("pencil", &salt, 4096),
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
             wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
    }
}

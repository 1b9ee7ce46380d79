//! SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side: the client proves that it knows the
//! password, the server proves that it knows the verifier, and neither is sent.
//!
//! ```text
//!   client                                   server
//!   n,,n=,r=abc                    ──first──>
//!                                  <─────────  r=abcdef,s=salt,i=4096
//!   c=biws,r=abcdef,p=proof        ──final──>  sha256(proof ^ hmac(StoredKey, all that was said))
//!                                  <─────────  v=signature                         == StoredKey ?
//! ```
//!
//! With `-PLUS` the client binds the exchange to the certificate of the TLS connection, so that no
//! machine in the middle can pass it on (`tls-server-end-point`, RFC 5929).
//!
//! A verifier is written as PostgreSQL writes it: `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey`.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use ring::rand::SecureRandom;
use ring::{digest, hmac};
use session::Error;
use types::SqlState;

use crate::wire::violation;

/// The mechanism without channel binding.
pub(crate) const PLAIN: &str = "SCRAM-SHA-256";

/// The mechanism with it.
pub(crate) const PLUS: &str = "SCRAM-SHA-256-PLUS";

/// Bytes of a key: of a SHA-256.
const KEY: usize = digest::SHA256_OUTPUT_LEN;

/// Bytes of a nonce before it is written as text.
const NONCE: usize = 18;

/// Rounds and bytes of salt that PostgreSQL uses for a new password.
const ROUNDS: u32 = 4_096;
const SALT: usize = 16;

/// The stored data that a password is checked against.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Verifier {
    rounds: NonZeroU32,
    salt: Vec<u8>,
    stored_key: [u8; KEY],
    server_key: [u8; KEY],
}

impl Verifier {
    /// Reads a verifier; none if the text is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (head, keys) = text.strip_prefix("SCRAM-SHA-256$")?.split_once('$')?;
        let (rounds, salt) = head.split_once(':')?;
        let (stored_key, server_key) = keys.split_once(':')?;
        let key = |text| BASE64.decode(text).ok()?.try_into().ok();
        Some(Self {
            rounds: rounds.parse().ok()?,
            salt: BASE64.decode(salt).ok()?,
            stored_key: key(stored_key)?,
            server_key: key(server_key)?,
        })
    }

    /// The verifier of a password.
    fn of(password: &str, salt: &[u8], rounds: NonZeroU32) -> Self {
        let text = session::scram::verifier(password, salt, rounds.get());
        Self::parse(&text).expect("what is made is a verifier")
    }

    /// A verifier that no password fits, the same one each time a name is asked for: what a role
    /// that does not exist is asked must not tell that it does not.
    pub(crate) fn mock(user: &str, server_secret: &[u8]) -> Self {
        let seed = sign(server_secret, user.as_bytes());
        Self {
            rounds: NonZeroU32::new(ROUNDS).expect("above 0"),
            salt: seed[..SALT].to_vec(),
            stored_key: [0; KEY],
            server_key: sign(&seed, b"Server Key"),
        }
    }

    /// True if this is the password. Takes milliseconds of computing.
    pub(crate) fn fits(&self, password: &str) -> bool {
        is_same(&Self::of(password, &self.salt, self.rounds).stored_key, &self.stored_key)
    }
}

fn sign(key: &[u8], text: &[u8]) -> [u8; KEY] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    tag.as_ref().try_into().expect("as long as a key")
}

fn sha256(bytes: &[u8]) -> [u8; KEY] {
    digest::digest(&digest::SHA256, bytes).as_ref().try_into().expect("as long as a key")
}

/// Compares in a time that does not depend on the bytes.
fn is_same(left: &[u8; KEY], right: &[u8; KEY]) -> bool {
    left.iter().zip(right).fold(0, |differ, (left, right)| differ | (left ^ right)) == 0
}

/// A nonce of the server: text without commas.
pub(crate) fn nonce() -> String {
    let mut bytes = [0; NONCE];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the system gives random bytes");
    BASE64.encode(bytes)
}

/// An exchange that has begun: what was said so far.
pub(crate) struct Exchange {
    verifier: Verifier,
    /// `n,,` and the like, which the client must repeat, with the certificate's hash after it where
    /// the exchange is bound.
    bound: Vec<u8>,
    nonce: String,
    client_first: String,
    server_first: String,
}

/// The data of the channel to which an authentication can be bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding<'a> {
    /// The hash of the certificate; none without TLS, or where the certificate has no such hash.
    pub(crate) certificate: Option<&'a [u8]>,
}

fn malformed(detail: &str) -> Error {
    violation("malformed SCRAM message").detail(detail).fatal()
}

/// The value of the attribute that comes next, which ends at a comma.
fn attribute<'a>(text: &mut &'a str, name: char) -> Result<&'a str, Error> {
    let value = text
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('='))
        .ok_or_else(|| malformed(&format!("Expected attribute \"{name}\".")))?;
    let (value, rest) = value.split_once(',').unwrap_or((value, ""));
    *text = rest;
    Ok(value)
}

impl Exchange {
    /// Reads the client's first message. `mechanism` is the one that the client chose; what the
    /// server says next is [`Exchange::first`].
    ///
    /// # Errors
    /// 08P01 where the message is malformed, 28000 where client and server see different channels.
    pub(crate) fn begin(
        mechanism: &str,
        message: &str,
        binding: Binding<'_>,
        verifier: Verifier,
        server_nonce: &str,
    ) -> Result<Self, Error> {
        let is_plus = mechanism == PLUS;
        let (flag, rest) =
            message.split_once(',').ok_or_else(|| malformed("A comma is missing."))?;
        let mut bound = Vec::new();
        match flag {
            "n" if is_plus => {
                return Err(malformed(
                    "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not \
                     include channel binding data.",
                ));
            }
            "n" => {}
            "y" if is_plus => {
                return Err(malformed(
                    "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not \
                     include channel binding data.",
                ));
            }
            "y" if binding.certificate.is_some() => {
                return Err(Error::new(
                    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                    "SCRAM channel binding negotiation error",
                )
                .detail(
                    "The client supports SCRAM channel binding but thinks the server does not.  \
                     However, this server does support channel binding.",
                )
                .fatal());
            }
            "y" => {}
            "p=tls-server-end-point" if is_plus => {
                bound.extend_from_slice(binding.certificate.unwrap_or_default());
            }
            _ if flag.starts_with("p=") && is_plus => {
                let kind = &flag[2..];
                return Err(violation(format!(
                    "unsupported SCRAM channel-binding type \"{kind}\""
                ))
                .fatal());
            }
            _ if flag.starts_with("p=") => {
                return Err(malformed(
                    "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM \
                     message includes channel binding data.",
                ));
            }
            _ => return Err(malformed("Unexpected channel-binding flag.")),
        }
        let (authorization, bare) =
            rest.split_once(',').ok_or_else(|| malformed("A comma is missing."))?;
        if !authorization.is_empty() {
            return Err(Error::not_supported("the authorization identity of SCRAM").fatal());
        }
        bound.splice(0..0, format!("{flag},,").into_bytes());
        let mut rest = bare;
        if rest.starts_with("m=") {
            return Err(Error::not_supported("an extension of SCRAM").fatal());
        }
        // The user is the one of the first packet, whatever is said here, as in PostgreSQL.
        attribute(&mut rest, 'n')?;
        let nonce = attribute(&mut rest, 'r')?;
        if nonce.is_empty() || !nonce.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) {
            return Err(malformed("The nonce has characters that it must not have."));
        }
        let nonce = format!("{nonce}{server_nonce}");
        let server_first =
            format!("r={nonce},s={},i={}", BASE64.encode(&verifier.salt), verifier.rounds);
        Ok(Self { verifier, bound, nonce, client_first: bare.to_owned(), server_first })
    }

    /// The server's first message.
    pub(crate) fn first(&self) -> &str {
        &self.server_first
    }

    /// Reads the client's last message; gives the server's last one where the proof holds, and none
    /// where it does not.
    ///
    /// # Errors
    /// 08P01 where the message is malformed, 28000 where it is bound to another channel.
    pub(crate) fn finish(&self, message: &str) -> Result<Option<String>, Error> {
        let (without_proof, proof) =
            message.rsplit_once(",p=").ok_or_else(|| malformed("The proof is missing."))?;
        let mut rest = without_proof;
        let bound = attribute(&mut rest, 'c')?;
        if BASE64.decode(bound).ok().as_deref() != Some(&self.bound) {
            return Err(Error::new(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                "SCRAM channel binding check failed",
            )
            .fatal());
        }
        if attribute(&mut rest, 'r')? != self.nonce {
            return Err(malformed("Nonce does not match."));
        }
        let proof: [u8; KEY] = BASE64
            .decode(proof)
            .ok()
            .and_then(|proof| proof.try_into().ok())
            .ok_or_else(|| malformed("Malformed proof in client-final-message."))?;
        let said = format!("{},{},{without_proof}", self.client_first, self.server_first);
        let mut client_key = sign(&self.verifier.stored_key, said.as_bytes());
        client_key.iter_mut().zip(proof).for_each(|(byte, proof)| *byte ^= proof);
        if !is_same(&sha256(&client_key), &self.verifier.stored_key) {
            return Ok(None);
        }
        let signature = sign(&self.verifier.server_key, said.as_bytes());
        Ok(Some(format!("v={}", BASE64.encode(signature))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Binding<'_> = Binding { certificate: None };

    fn verifier(password: &str) -> Verifier {
        Verifier::of(password, b"0123456789abcdef", NonZeroU32::new(ROUNDS).unwrap())
    }

    /// The exchange that RFC 7677 prints.
    #[test]
    fn the_example_of_the_rfc() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::of("pencil", &salt, NonZeroU32::new(4_096).unwrap());
        let exchange = Exchange::begin(
            PLAIN,
            "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
            NOBODY,
            verifier,
            "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
        )
        .unwrap();
        assert_eq!(
            exchange.first(),
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        let answer = exchange.finish(last).unwrap();
        assert_eq!(answer.as_deref(), Some("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        let wrong = last.replace("p=dH", "p=eH");
        assert_eq!(exchange.finish(&wrong).unwrap(), None);
    }

    /// A verifier that PostgreSQL wrote fits its password and no other.
    #[test]
    fn a_verifier_of_postgresql() {
        let text = "SCRAM-SHA-256$4096:vV9SuJDylYGHNRUp/NEK/Q==\
                    $f22bmxQ+NluARGOQuuEer6QbJmvvuLVLQFCXxSiY4xk=\
                    :h+u+DvyM2e2P1FFjGyHQLgOSYOBLz+TZsGgcLe5IA/I=";
        let Some(verifier) = Verifier::parse(text) else { panic!("it is one") };
        assert!(verifier.fits("1234567890"));
        assert!(!verifier.fits("1234567891"));
        for broken in ["", "md5abc", "SCRAM-SHA-256$0:AA==$AA==:AA==", &text[..60]] {
            assert!(Verifier::parse(broken).is_none(), "{broken}");
        }
    }

    /// A role that does not exist is asked the same question each time, and fails.
    #[test]
    fn nobody() {
        let first = |user| {
            let verifier = Verifier::mock(user, b"secret");
            Exchange::begin(PLAIN, "n,,n=,r=abc", NOBODY, verifier, "def").unwrap()
        };
        assert_eq!(first("ann").first(), first("ann").first());
        assert_ne!(first("ann").first(), first("bob").first());
        let proof = BASE64.encode([0; KEY]);
        let last = format!("c=biws,r=abcdef,p={proof}");
        assert_eq!(first("ann").finish(&last).unwrap(), None);
    }

    /// A client on another channel is refused.
    #[test]
    fn channels() {
        let bound = Binding { certificate: Some(b"hash") };
        let begin = |mechanism, message, binding| {
            Exchange::begin(mechanism, message, binding, verifier("x"), "def")
                .map(|exchange| exchange.bound)
                .map_err(|error| error.message().to_owned())
        };
        assert_eq!(begin(PLAIN, "n,,n=,r=abc", bound), Ok(b"n,,".to_vec()));
        assert_eq!(begin(PLAIN, "y,,n=,r=abc", NOBODY), Ok(b"y,,".to_vec()));
        assert_eq!(
            begin(PLAIN, "y,,n=,r=abc", bound),
            Err("SCRAM channel binding negotiation error".to_owned())
        );
        assert_eq!(
            begin(PLUS, "p=tls-server-end-point,,n=,r=abc", bound),
            Ok(b"p=tls-server-end-point,,hash".to_vec())
        );
        for (mechanism, message) in [
            (PLUS, "n,,n=,r=abc"),
            (PLAIN, "p=tls-server-end-point,,n=,r=abc"),
            (PLAIN, "n"),
            (PLAIN, "n,"),
            (PLAIN, "n,,r=abc"),
            (PLAIN, "n,,n=,r="),
            (PLAIN, "n,,n=,r=a b"),
            (PLAIN, "z,,n=,r=abc"),
            (PLAIN, "n,a=x,n=,r=abc"),
            (PLUS, "p=tls-unique,,n=,r=abc"),
        ] {
            assert!(begin(mechanism, message, bound).is_err(), "{message}");
        }
        let exchange = Exchange::begin(PLAIN, "n,,n=,r=abc", NOBODY, verifier("x"), "def").unwrap();
        let proof = BASE64.encode([0; KEY]);
        for last in [
            format!("c=eSws,r=abcdef,p={proof}"),
            format!("c=biws,r=abcxyz,p={proof}"),
            "c=biws,r=abcdef,p=AAAA".to_owned(),
            "c=biws,r=abcdef".to_owned(),
            String::new(),
        ] {
            assert!(exchange.finish(&last).is_err(), "{last}");
        }
    }
}

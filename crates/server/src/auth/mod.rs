//! The rules of access, and the proofs of identity.
//!
//! ```text
//!   type, database, user, address ──rules──> method
//!                                              trust     nothing to prove
//!                                              scram     the password is proved, never sent
//!                                              password  it is sent, under TLS only
//!                                              reject    no
//! ```
//!
//! A password is kept as what proves it: a [`Verifier`](scram::Verifier). Whether a role exists is
//! not told to those who have not proved who they are: an unknown role goes through the same steps
//! as a known one and fails at the end.

pub mod hba;
pub(crate) mod scram;

use session::Error;
use types::SqlState;

/// The answer to a proof that is none, whatever was wrong with it.
pub(crate) fn failed(user: &str) -> Error {
    Error::new(
        SqlState::INVALID_PASSWORD,
        format!("password authentication failed for user \"{user}\""),
    )
    .fatal()
}

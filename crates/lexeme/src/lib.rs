//! Text search: texts into tokens, tokens into lexemes, as PostgreSQL's parser and dictionaries do it.
//!
//! ```text
//!   The fat rats  ──tokens──>  asciiword The · blank · asciiword fat · blank · asciiword rats
//!                 ──lexemes─>  (stop word)             2 fat                   3 rat
//! ```
//!
//! * [`token`]: the default parser, which knows words, numbers, hosts, mail addresses, tags ...
//! * [`config`]: the lexemes of a token, by the configuration and the kind of the token.
//! * [`dictionary`]: stems and stop words of the languages.

pub mod config;
pub mod dictionary;
mod grammar;
pub mod token;

pub use config::Config;
pub use dictionary::Dictionary;
pub use token::{Kind, Token, tokens};

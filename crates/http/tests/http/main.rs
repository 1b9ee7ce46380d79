//! The server as clients see it.
//!
//! ```text
//!   scripts/*.txt   requests out, answers in     scripts.rs runs them, world.rs speaks HTTP/1.1
//!   backups       of the whole database, and its log
//!   described       every operation of the description, called
//!   entrance        tokens, JSON web tokens, rights, addresses
//!   roles           tokens stand for roles of SQL; who committed, and when it was made
//!   signers         keys of tokens at an address
//!   preconditions   nobody changes what they have not seen
//!   together        many documents as one commit
//!   statements      limits of SQL
//!   explorer        the page for browsers, and its files
//!   following       changes as they happen
//!   streams         large documents, compression, limits
//!   transport       HTTP/2, TLS, shutting down
//!   browser_rules   web pages of other origins
//!   crowds          clients that say nothing, and clients that are gone
//!   heads           what is told without the body
//!   fuzzed          random requests made from the description
//!   nonsense        random requests: never a 5xx
//! ```

mod backups;
mod browser_rules;
mod crowds;
mod damage;
mod described;
mod entrance;
mod explorer;
mod following;
mod fuzzed;
mod heads;
mod nonsense;
mod preconditions;
mod roles;
mod scripts;
mod signers;
mod statements;
mod streams;
mod together;
mod transport;
mod world;

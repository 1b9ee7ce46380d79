//! SQL, from text to bound plans.

pub mod error;
pub mod parse;

pub use error::{At, Error, Result};

//! SQL, from text to bound plans.

pub mod bind;
pub mod error;
pub mod explain;
pub mod parse;
pub mod plan;

pub use error::{At, Error, Result};

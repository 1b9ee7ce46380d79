//! `jsonb`: JSON in its binary form, which this crate keeps and hands on without looking inside.

use std::sync::Arc;

/// A `jsonb` value; clones share it.
#[derive(Clone, Debug)]
pub struct Jsonb(Arc<[u8]>);

impl Jsonb {
    /// The value with these bytes.
    pub fn from_bytes(bytes: Arc<[u8]>) -> Self {
        Self(bytes)
    }

    /// The bytes of the value.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

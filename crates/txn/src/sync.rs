//! The locks that the publishing of commits is built on, in one place.
//!
//! `publish` and `tracker` take their mutexes from `super::sync`. In the crate that is this module;
//! the test of interleavings includes the same two files beside another `sync`, whose mutexes are
//! the model checker's.

pub(crate) use parking_lot::Mutex;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

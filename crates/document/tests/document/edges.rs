//! The edges.

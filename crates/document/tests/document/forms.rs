//! The forms of a diff.

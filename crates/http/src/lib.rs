//! Documents over HTTP: every version of each, what changed between them, and changes as they come.

//! The files of the explorer, the web application in `web/`. They are built before this crate.
//!
//! ```text
//!   web/src ──Vite──> web/dist/*.gz, *.br ──build.rs──> FILES ──command──> http
//! ```
//!
//! A build without Node has no files in `web/dist`. Then [`FILES`] is empty, and the command serves a page with the
//! instructions to get them ([`MISSING`]). The crate has no dependencies, so after a change of the application only the
//! command is linked again.

/// A file of the explorer.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name, without a folder.
    pub name: &'static str,
    /// Its content type.
    pub media: &'static str,
    /// A tag that changes with the content.
    pub tag: &'static str,
    /// The content, compressed with gzip.
    pub gzip: &'static [u8],
    /// The content, compressed with brotli; empty where there is none.
    pub brotli: &'static [u8],
}

/// The files; none if `web/` was not built before this crate.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The template of the page with the history of a document; [`FILES`] has it too.
pub const EXPORT_PAGE: Option<File> = include!(concat!(env!("OUT_DIR"), "/export.rs"));

/// The page of a build without the explorer.
pub const MISSING: &str = include_str!("missing.html");

#[cfg(test)]
mod tests {
    use super::*;

    /// The files have a page among them, where there are any, and each is compressed.
    #[test]
    fn files_are_whole() {
        assert!(FILES.is_empty() || FILES.iter().any(|file| file.name == "index.html"));
        for file in FILES {
            assert!(file.gzip.starts_with(&[0x1f, 0x8b]), "{}", file.name);
            assert!(!file.tag.is_empty() && !file.name.contains('/'), "{}", file.name);
        }
        assert!(MISSING.starts_with("<!doctype html>"));
    }
}

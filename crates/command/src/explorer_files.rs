//! The files of the explorer, as the HTTP server takes them.

use std::io::Write;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;

/// The files that this build has; where it has none, a page that says how to get them.
pub(crate) fn files() -> Vec<http::WebFile> {
    if explorer::FILES.is_empty() {
        return vec![http::WebFile {
            name: "index.html",
            media: "text/html; charset=utf-8",
            tag: "missing",
            gzip: missing(),
            brotli: &[],
        }];
    }
    // The page of an export has its script in it, which the policy of the server would refuse.
    let files = explorer::FILES.iter().filter(|file| file.name != crate::export_html::PAGE);
    files
        .map(|file| http::WebFile {
            name: file.name,
            media: file.media,
            tag: file.tag,
            gzip: file.gzip,
            brotli: file.brotli,
        })
        .collect()
}

/// The page into which the server puts the history of a document, where this build has one.
pub(crate) fn export_page() -> Option<http::WebFile> {
    let file = explorer::EXPORT_PAGE?;
    let explorer::File { name, media, tag, gzip, brotli } = file;
    Some(http::WebFile { name, media, tag, gzip, brotli })
}

/// The page of a build without the explorer, compressed.
fn missing() -> &'static [u8] {
    static PAGE: OnceLock<Vec<u8>> = OnceLock::new();
    PAGE.get_or_init(|| {
        let mut page = GzEncoder::new(Vec::new(), Compression::fast());
        let written = page.write_all(explorer::MISSING.as_bytes());
        written.and_then(|()| page.finish()).unwrap_or_default()
    })
}

//! `export --html`: one file that shows the history of a document to readers without a database
//! ([`anywhen::history_page`]).

use std::io::{Read, Write};
use std::path::Path;

use anywhen::{Collection, DocumentError};
use flate2::read::GzDecoder;

use crate::args::Target;
use crate::failure::{Failure, Kind, Outcome};
use crate::json_out::Object;
use crate::screen;
use crate::session::{Session, missing};

/// The page of an export among the files of the explorer.
pub(crate) const PAGE: &str = "export.html";
/// The most bytes of a history: browsers read such a file at once.
const BYTES_MAX: usize = 256 << 20;

/// Writes the file.
pub(crate) fn export(
    session: &Session,
    collection: &Collection,
    target: &Target,
    file: &Path,
) -> Outcome {
    let made =
        anywhen::history_page(collection, &target.collection, &target.key, &page()?, BYTES_MAX);
    let made = made.map_err(|error| match error {
        DocumentError::NoDocument { .. } => missing(target),
        error => error.into(),
    })?;
    let Some(made) = made else {
        return Err(Failure::refused("this history is too long for one file")
            .hint("anywhen serve shows histories of any length"));
    };
    let failed = |error| Failure::file(file, &error);
    let mut out = std::fs::File::create(file).map_err(failed)?;
    out.write_all(made.html.as_bytes()).map_err(failed)?;
    out.sync_all().map_err(failed)?;
    let (bytes, revisions) = (made.html.len(), made.revisions);
    match session.json {
        true => {
            let object = Object::new().text("file", &file.to_string_lossy());
            screen::raw(object.plain("revisions", revisions).plain("bytes", bytes).end().as_bytes())
        }
        false => screen::text(&format!(
            "{}: {} of {target}, {bytes} bytes",
            file.display(),
            screen::count(revisions, "revision"),
        )),
    }
}

/// The page of the explorer that shows what is in it.
fn page() -> Result<String, Failure> {
    let file = explorer::EXPORT_PAGE.ok_or_else(|| {
        Failure::refused("this build has no explorer")
            .hint("install Node 20.19 or newer, run scripts/web.sh, and build the command again")
    })?;
    let mut page = String::new();
    let read = GzDecoder::new(file.gzip).read_to_string(&mut page);
    read.map_err(|error| Failure::new(Kind::Broken, format!("the explorer's files: {error}")))?;
    Ok(page)
}

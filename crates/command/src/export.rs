//! Writing documents out, in forms that `import` reads back. Rows of tables go out by [`tables`](crate::tables).

use std::path::{Path, PathBuf};

use anywhen::Collection;

use crate::args::{At, ExportArgs, Target};
use crate::failure::{Failure, Kind, Outcome};
use crate::json_out::Object;
use crate::read::{moment, pretty};
use crate::screen::{self, count};
use crate::session::{Session, missing};

pub(crate) fn export(session: &mut Session, a: &ExportArgs) -> Outcome {
    if let Some(file) = &a.file {
        return crate::tables::export(session, a, file);
    }
    let (name, key) = match a.target.split_once('/') {
        Some((name, key)) => (name, Some(key)),
        None => (a.target.as_str(), None),
    };
    let collection = session.collection_at(name, a.at)?;
    if a.history || a.html.is_some() {
        let Some(key) = key else {
            let option = if a.history { "--history" } else { "--html" };
            return Err(Failure::new(Kind::Usage, format!("{option} needs COLLECTION/DOC")));
        };
        let target = Target { collection: name.to_owned(), key: key.to_owned() };
        return match &a.html {
            Some(file) => crate::export_html::export(session, &collection, &target, file),
            None => history(&collection, &target),
        };
    }
    let keys: Vec<String> = match (key, a.at) {
        (Some(key), _) => vec![key.to_owned()],
        (None, Some(At::Revision(_))) => {
            return Err(Failure::refused("revisions are counted for each document")
                .hint("name a time, authored:TIME or csn:N"));
        }
        (None, Some(at)) => collection.at(moment(at)).keys("")?.collect::<Result<_, _>>()?,
        (None, None) => collection.keys("").collect::<Result<_, _>>()?,
    };
    let mut written = 0;
    for key in &keys {
        let document = match a.at {
            Some(at) => collection.at(moment(at)).get(key)?,
            None => collection.get(key)?,
        };
        let Some(document) = document else {
            let target = Target { collection: name.to_owned(), key: key.clone() };
            return Err(missing(&target));
        };
        match &a.to {
            Some(folder) => write_file(folder, key, &pretty(&document.to_json()?)?)?,
            None => {
                let line = Object::new().text("key", key).raw("doc", &document.to_json()?);
                screen::raw(line.end().as_bytes())?;
            }
        }
        written += 1;
    }
    match &a.to {
        None => Ok(()),
        Some(folder) if session.json => {
            let folder = folder.to_string_lossy();
            let object = Object::new().text("folder", &folder).plain("files", written);
            screen::raw(object.end().as_bytes())
        }
        Some(folder) => {
            screen::text(&format!("{} in {}", count(written, "file"), folder.display()))
        }
    }
}

/// Every revision, oldest first, a line each.
fn history(collection: &Collection, target: &Target) -> Outcome {
    let revisions = crate::read::revisions(collection, target, usize::MAX)?;
    let gone = revisions.iter().filter(|info| !info.kept).count();
    if gone > 0 {
        let gone = count(gone as u64, "revision");
        screen::note(&format!("{gone} of {target} are not kept any more, and are left out"));
    }
    for info in revisions.iter().rev().filter(|info| info.kept) {
        let micros = info.authored_us.unwrap_or(info.time_us);
        let time = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        let mut line = Object::new()
            .plain("version", info.revision.0)
            .plain("time", time.trim_end_matches('0').trim_end_matches('.'))
            .text("author", info.author)
            .text("message", info.message);
        if info.deleted {
            line = line.plain("deleted", true);
        } else {
            let document = collection.at(info.revision).get(&target.key)?;
            let document = document.ok_or_else(|| missing(target))?;
            line = line.raw("doc", &document.to_json()?);
        }
        screen::raw(line.end().as_bytes())?;
    }
    Ok(())
}

fn write_file(folder: &Path, key: &str, text: &str) -> Outcome {
    let path = file_of(folder, key);
    let failed = |error| Failure::file(&path, &error);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(&path, format!("{}\n", text.trim_end())).map_err(failed)
}

/// The file of a key: slashes make folders; what a file system would take for
/// something else is written as `%` and two digits.
fn file_of(folder: &Path, key: &str) -> PathBuf {
    let mut path = folder.to_owned();
    let parts: Vec<&str> = key.split('/').collect();
    for (index, part) in parts.iter().enumerate() {
        let mut name = String::new();
        for (at, c) in part.char_indices() {
            match c {
                '%' | '\\' | ':' | '\0'..='\u{1f}' => name.push_str(&format!("%{:02x}", c as u32)),
                '.' if at == 0 => name.push_str("%2e"),
                c => name.push(c),
            }
        }
        if name.is_empty() {
            name.push_str("%00");
        }
        if index + 1 == parts.len() {
            name.push_str(".json");
        }
        path.push(name);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_leads_out_of_the_folder() {
        let file = |key| file_of(Path::new("out"), key).to_string_lossy().into_owned();
        assert_eq!(file("a1"), "out/a1.json");
        assert_eq!(file("2026/a.b"), "out/2026/a.b.json");
        assert_eq!(file("../../etc"), "out/%2e./%2e./etc.json");
        assert_eq!(file("/etc//x"), "out/%00/etc/%00/x.json");
        assert_eq!(file("a\u{0}:%"), "out/a%00%3a%25.json");
    }
}

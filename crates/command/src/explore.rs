//! `explore`: the explorer in a terminal, over a data folder or a server.
//!
//! ```text
//!   explore                            the folder of --data
//!   explore articles/a1                a document in it
//!   explore DATA articles/a1           a document in another folder
//!   explore https://HOST articles/a1   a document of a server
//! ```

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terminal::{ExploreError, Options, Source};

use crate::args::{At, ExploreArgs};
use crate::backups::token;
use crate::failure::{Failure, Kind, Outcome};
use crate::session::{Session, holds_data};

/// How long an answer of a server may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn explore(session: &mut Session, a: &ExploreArgs) -> Outcome {
    if session.json {
        return Err(Failure::new(Kind::Usage, "explore has no answer in JSON")
            .hint("`anywhen history`, `diff` and `blame` have one"));
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(failed(ExploreError::NotATerminal));
    }
    let (place, target) = named(a);
    let target = target.map(|text| match text.split_once('/') {
        Some((collection, key)) if !key.is_empty() => (collection.to_owned(), Some(key.to_owned())),
        Some((collection, _)) => (collection.to_owned(), None),
        None => (text.to_owned(), None),
    });
    let (name, source) = match place {
        DataSource::Server(url) => {
            let token = token(a.token_file.as_deref())?;
            let client = http::Client::new(url, a.authorities.as_deref(), token, PATIENCE);
            let client = client.map_err(|error| Failure::refused(error.to_string()))?;
            (url.to_owned(), Source::server(client))
        }
        DataSource::Folder(folder) => {
            if let Some(folder) = folder {
                session.data = folder;
            }
            let database = session.database().map_err(|failure| {
                failure.hint("where a server has it open, explore the server: anywhen explore http://HOST:PORT")
            })?;
            (session.data.display().to_string(), Source::local(database)?)
        }
    };
    let stopped = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stopped);
    ctrlc::set_handler(move || told.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::new(Kind::Broken, format!("signals: {error}")))?;
    let moments = |text: &str| text.parse::<At>().map(crate::read::moment);
    let options = Options { place: name, target, moments, stopped };
    terminal::explore(source, options).map_err(failed)
}

/// The data that the command shows.
#[derive(Debug, PartialEq, Eq)]
enum DataSource<'a> {
    Server(&'a str),
    /// A folder, or that of `--data`.
    Folder(Option<PathBuf>),
}

/// Tells what the words name: a lone word is a document, unless it is an address or a folder with data.
fn named(a: &ExploreArgs) -> (DataSource<'_>, Option<&str>) {
    let target = a.target.as_deref();
    match a.place.as_deref() {
        None => (DataSource::Folder(None), target),
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            (DataSource::Server(url), target)
        }
        Some(folder) if target.is_some() || holds_data(Path::new(folder)) => {
            (DataSource::Folder(Some(PathBuf::from(folder))), target)
        }
        Some(target) => (DataSource::Folder(None), Some(target)),
    }
}

fn failed(error: ExploreError) -> Failure {
    match error {
        ExploreError::NotATerminal => Failure::refused("explore needs a terminal")
            .hint("`anywhen history`, `get`, `diff` and `blame` write to pipes and files"),
        ExploreError::Terminal(error) => {
            Failure::new(Kind::Broken, format!("the terminal: {error}"))
        }
        ExploreError::Refused(refusal) if refusal.status == 0 => {
            Failure::new(Kind::Lost, refusal.text)
        }
        ExploreError::Refused(refusal) => {
            let failure = Failure::refused(refusal.text);
            match refusal.status {
                401 => failure.hint("--token-file, or the variable ANYWHEN_TOKEN, has the token"),
                404 => failure.hint("`anywhen explore` without a name lists what is there"),
                _ => failure,
            }
        }
        ExploreError::Lost => Failure::new(Kind::Broken, "the explorer failed while it asked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lone word is a document of the folder of `--data`, unless it is an address or a folder with data.
    #[test]
    fn words_name_a_place_and_a_document() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("x"), "").expect("a file");
        let data = folder.path().to_string_lossy().into_owned();
        let args = |place: Option<&str>, target: Option<&str>| ExploreArgs {
            place: place.map(str::to_owned),
            target: target.map(str::to_owned),
            token_file: None,
            authorities: None,
        };
        for (place, target, found, document) in [
            (None, None, DataSource::Folder(None), None),
            (Some("a/b"), None, DataSource::Folder(None), Some("a/b")),
            (Some(&*data), None, DataSource::Folder(Some(data.clone().into())), None),
            (Some("none"), Some("a/b"), DataSource::Folder(Some("none".into())), Some("a/b")),
            (Some("https://h"), Some("a/b"), DataSource::Server("https://h"), Some("a/b")),
            (Some("http://h:1"), None, DataSource::Server("http://h:1"), None),
        ] {
            assert_eq!(named(&args(place, target)), (found, document));
        }
    }
}

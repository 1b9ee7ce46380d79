//! Bringing data in: a document, many documents, or the history of one.
//!
//! ```text
//!   FILE.json ───────────────> one revision of one document
//!   FILE.ndjson, DIR ────────> many documents, a commit for each thousand
//!   history FILE, git REPO ──> one commit for each version, oldest first
//! ```
//!
//! Rows of CSV, NDJSON, Parquet and Arrow go into tables: [`tables`](crate::tables).
//!
//! A version of a history that is equal to the one before makes no revision. The file of a history is read to its
//! end before anything is written, so that a bad line leaves nothing behind. A history out of git continues where the
//! document's newest revision stands in it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anywhen::{Collection, Database, Meta};
use flate2::read::MultiGzDecoder;
use json::{Kind as JsonKind, Node, Tape};

use crate::args::{ImportArgs, ImportFrom, Target};
use crate::failure::{Failure, Kind, Outcome};
use crate::json_out::Object;
use crate::screen::{self, count};
use crate::session::{Session, meta};
use crate::write::{Incoming, check_key, parse};
use crate::{git, progress};

/// Documents in one commit of an import of many.
const DOCUMENTS_PER_COMMIT: u64 = 1000;

/// How many versions that could not be read are named one by one.
const SKIPPED_SHOWN_MAX: usize = 5;

pub(crate) fn import(session: &mut Session, a: &ImportArgs) -> Outcome {
    match &a.from {
        Some(ImportFrom::Git { repository, path, target, first_parent }) => {
            let target = match target {
                Some(target) => target.clone(),
                None => Target { collection: "git".to_owned(), key: path.clone() },
            };
            let newest = newest(session, &target)?;
            let versions = git::versions(repository, path, *first_parent, newest.as_ref())?;
            let (total, mut versions) = (Some(versions.len()), versions);
            let (skipped, first) = skip_unreadable(&mut versions)?;
            if let (None, Some(reason)) = (&first, skipped.first())
                && newest.is_none()
            {
                return Err(Failure::refused(format!(
                    "{path:?} is not JSON in any version: {reason}"
                )));
            }
            let versions = first.into_iter().map(Ok).chain(versions);
            write_history(session, &target, total, skipped, newest, versions)
        }
        Some(ImportFrom::History { file, target }) => {
            if newest(session, target)?.is_some() {
                return Err(Failure::refused(format!("{target} has a history already"))
                    .hint("import it under another name: --as COLLECTION/DOC"));
            }
            let lines = whole(file)?;
            for line in lines.open()? {
                let (number, text) = line?;
                line_version(number, &text)?;
            }
            let versions =
                lines.open()?.map(|line| line.and_then(|(n, text)| line_version(n, &text)));
            write_history(session, target, None, Vec::new(), None, versions)
        }
        None if crate::tables::is_table(a) => crate::tables::import(session, a),
        None if a.using.is_some() => {
            Err(Failure::new(Kind::Usage, "--using is for tables: name one with --into"))
        }
        None if a.paths.len() > 1 => {
            Err(Failure::new(Kind::Usage, "documents come from one file or folder at a time")
                .hint("several files make a table: name it with --into"))
        }
        None => {
            let path = a.paths.first().map_or(Path::new("-"), PathBuf::as_path);
            if path.is_dir() {
                folder(session, a, path)
            } else if is_lines(path) {
                lines(session, a, path)
            } else {
                one(session, a, path)
            }
        }
    }
}

fn is_lines(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.ends_with(".ndjson") || name.ends_with(".jsonl")
}

/// The name of a file without its ending.
pub(crate) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("document").to_owned()
}

// --- one document -----------------------------------------------------------

fn one(session: &mut Session, a: &ImportArgs, path: &Path) -> Outcome {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let target = match &a.target {
        Some(text) if text.contains('/') => text.parse().map_err(Failure::refused)?,
        Some(collection) => Target { collection: collection.clone(), key: stem(path) },
        None => Target { collection: "documents".to_owned(), key: stem(path) },
    };
    let mut meta = meta(&a.signed);
    if meta.message.is_empty() {
        meta.message = format!("import {}", path.display());
    }
    let incoming = Incoming::read(Box::new(file), path);
    incoming.map_err(|failure| failure.at(path.display()))?.write(session, &target, &meta)
}

// --- many documents ---------------------------------------------------------

/// Writes many documents, a commit for each [`DOCUMENTS_PER_COMMIT`].
struct Loader {
    database: Database,
    collection: String,
    /// The first documents, where there is no collection yet: it is made once they are known to be good.
    first: Option<Vec<(String, Vec<u8>)>>,
    meta: Meta,
    transaction: Option<anywhen::Txn>,
    documents: u64,
}

impl Loader {
    fn new(session: &mut Session, a: &ImportArgs, collection: &str, path: &Path) -> Outcome<Self> {
        let mut meta = meta(&a.signed);
        if meta.message.is_empty() {
            meta.message = format!("import {}", path.display());
        }
        let database = session.database_or_new()?;
        Ok(Self {
            first: database.find_collection(collection).is_none().then(Vec::new),
            database,
            collection: collection.to_owned(),
            meta,
            transaction: None,
            documents: 0,
        })
    }

    fn put(&mut self, key: &str, json: &[u8]) -> Outcome {
        match &mut self.first {
            Some(first) => {
                check(key, json)?;
                first.push((key.to_owned(), json.to_owned()));
            }
            None => self.put_at_once(key, json)?,
        }
        self.documents += 1;
        if self.documents.is_multiple_of(DOCUMENTS_PER_COMMIT) {
            self.commit()?;
        }
        Ok(())
    }

    fn put_at_once(&mut self, key: &str, json: &[u8]) -> Outcome {
        let transaction = match &mut self.transaction {
            Some(transaction) => transaction,
            empty => empty.insert(self.database.begin()?),
        };
        transaction.collection(&self.collection)?.put(key, json)?;
        Ok(())
    }

    fn commit(&mut self) -> Outcome {
        for (key, json) in self.first.take().into_iter().flatten() {
            self.put_at_once(&key, &json)?;
        }
        if let Some(transaction) = self.transaction.take() {
            transaction.commit_with(&self.meta)?;
        }
        Ok(())
    }

    fn finish(mut self, session: &Session) -> Outcome {
        self.commit()?;
        if session.json {
            let object = Object::new()
                .text("collection", &self.collection)
                .plain("documents", self.documents);
            return screen::raw(object.end().as_bytes());
        }
        screen::text(&format!("{}: {}", self.collection, count(self.documents, "document")))
    }
}

/// An error for what cannot be a document, whatever the collection.
fn check(key: &str, json: &[u8]) -> Outcome {
    parse(json)?;
    check_key(key)
}

fn lines(session: &mut Session, a: &ImportArgs, path: &Path) -> Outcome {
    let collection = collection_name(a, path)?;
    let mut loader = Loader::new(session, a, &collection, path)?;
    let bar = progress::bar("importing", None);
    for line in Lines::open(path)? {
        let (number, text) = line?;
        let put = match keyed(&text, a.key.as_deref(), number) {
            Ok((key, json)) => loader.put(&key, json.as_bytes()),
            Err(failure) => Err(failure),
        };
        put.map_err(|failure| {
            let done = loader.documents - loader.documents % DOCUMENTS_PER_COMMIT;
            failure
                .at(format!("{}, line {number}", path.display()))
                .hint(format!("{} before it were imported", count(done, "document")))
        })?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    loader.finish(session)
}

/// The key and the document of a line: as exported, by a field, or by number.
fn keyed(text: &[u8], field: Option<&str>, number: u64) -> Outcome<(String, String)> {
    let tape = parse(text)?;
    let root = tape.root();
    if let Some(field) = field {
        let mut node = Some(root);
        for name in field.trim_start_matches("$.").split('.') {
            node = node.and_then(|node| node.get(name));
        }
        let key = node.and_then(|node| match node.kind() {
            JsonKind::String => node.as_str().map(|text| text.into_owned()),
            JsonKind::Number => node.as_number().map(str::to_owned),
            _ => None,
        });
        return match key {
            Some(key) => Ok((key, root.to_json())),
            None => Err(Failure::refused(format!("no text or number in the field {field:?}"))),
        };
    }
    match (root.get("key").and_then(|key| key.as_str()), root.get("doc")) {
        (Some(key), Some(doc)) if root.count() == 2 => Ok((key.into_owned(), doc.to_json())),
        _ => Ok((number.to_string(), root.to_json())),
    }
}

fn folder(session: &mut Session, a: &ImportArgs, path: &Path) -> Outcome {
    let collection = collection_name(a, path)?;
    let mut files = Vec::new();
    json_files(path, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(Failure::refused(format!("no .json file below {}", path.display())));
    }
    let mut loader = Loader::new(session, a, &collection, path)?;
    let bar = progress::bar("importing", Some(files.len() as u64));
    for file in files {
        let json = std::fs::read(&file).map_err(|error| Failure::file(&file, &error))?;
        let key = file.strip_prefix(path).unwrap_or(&file).with_extension("");
        let key: Vec<_> = key.iter().map(|part| part.to_string_lossy()).collect();
        loader.put(&key.join("/"), &json).map_err(|failure| failure.at(file.display()))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    loader.finish(session)
}

/// Every `.json` file below a folder; hidden folders are left out.
fn json_files(folder: &Path, files: &mut Vec<PathBuf>) -> Outcome {
    let failed = |error| Failure::file(folder, &error);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if path.is_dir() && !hidden {
            json_files(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    Ok(())
}

fn collection_name(a: &ImportArgs, path: &Path) -> Outcome<String> {
    match &a.target {
        Some(name) if name.contains('/') => Err(Failure::new(
            Kind::Usage,
            format!("--as {name}: many documents go to a collection, named without a slash"),
        )),
        Some(name) => Ok(name.clone()),
        None => {
            let absolute = std::path::absolute(path);
            Ok(stem(absolute.as_deref().unwrap_or(path)))
        }
    }
}

// --- histories --------------------------------------------------------------

/// One version of a document's history.
pub(crate) enum Version {
    /// `None`: the document was removed here.
    Document { doc: Option<Box<Tape>>, meta: Meta },
    /// The bytes are no JSON; the text says which and why.
    Unreadable(String),
}

/// The newest revision of a document that has a history already.
pub(crate) struct Newest {
    pub author: String,
    pub message: String,
    pub authored_us: Option<u64>,
    /// The document; `None` if the revision removed it.
    pub json: Option<String>,
}

/// The newest revision of a document, where there is one.
fn newest(session: &mut Session, target: &Target) -> Outcome<Option<Newest>> {
    if !crate::session::holds_data(&session.data) {
        return Ok(None);
    }
    let Some(collection) = session.database()?.find_collection(&target.collection) else {
        return Ok(None);
    };
    let now = collection.at(anywhen::Moment::Csn(anywhen::Csn::MAX));
    if now.revision(&target.key)?.is_none() {
        return Ok(None);
    }
    let history = collection.history(&target.key, 1)?;
    let Some(info) = history.get(0) else { return Ok(None) };
    let json = collection.get(&target.key)?.map(|document| document.to_json()).transpose()?;
    Ok(Some(Newest {
        author: info.author.to_owned(),
        message: info.message.to_owned(),
        authored_us: info.authored_us,
        json,
    }))
}

/// Takes the versions that are no JSON from the beginning; returns them, and the first that is another.
fn skip_unreadable(
    versions: &mut impl Iterator<Item = Outcome<Version>>,
) -> Outcome<(Vec<String>, Option<Version>)> {
    let mut skipped = Vec::new();
    for version in versions {
        match version? {
            Version::Unreadable(which) => skipped.push(which),
            version => return Ok((skipped, Some(version))),
        }
    }
    Ok((skipped, None))
}

/// The lines of a history, which can be read twice: of a file, or of standard input held in memory.
enum WholeLines {
    File(PathBuf),
    Held(Vec<u8>),
}

fn whole(path: &Path) -> Outcome<WholeLines> {
    if path.as_os_str() != "-" {
        return Ok(WholeLines::File(path.to_owned()));
    }
    let mut held = Vec::new();
    std::io::stdin().read_to_end(&mut held).map_err(|error| Failure::file(path, &error))?;
    Ok(WholeLines::Held(held))
}

impl WholeLines {
    fn open(&self) -> Outcome<Lines> {
        match self {
            WholeLines::File(path) => Lines::open(path),
            WholeLines::Held(bytes) => {
                Lines::of(Path::new("-"), Box::new(std::io::Cursor::new(bytes.clone())))
            }
        }
    }
}

/// The forms of a line of a history file.
const LINE_FORM: &str = "each line is {\"doc\": ..., \"time\": unix seconds, \"author\": ..., \"message\": ...}; \
                         a removal has \"deleted\": true instead of \"doc\"";

/// A line of a history file.
fn line_version(number: u64, text: &[u8]) -> Outcome<Version> {
    let place = |failure: Failure| failure.at(format!("line {number}"));
    let tape = parse(text).map_err(place)?;
    let root = tape.root();
    if root.kind() != JsonKind::Object {
        return Err(place(Failure::refused("the line is not an object").hint(LINE_FORM)));
    }
    let is_removal = match root.get("deleted") {
        None => false,
        Some(deleted) => deleted.as_bool().ok_or_else(|| {
            place(Failure::refused("`deleted` must be true or false").hint(LINE_FORM))
        })?,
    };
    // Exports of earlier releases tell removals by a version without a document.
    let is_removal = is_removal || root.get("version").is_some();
    match root.get("doc") {
        None if !is_removal => {
            return Err(place(Failure::refused("the line has no `doc`").hint(LINE_FORM)));
        }
        Some(_) if root.get("deleted").is_some_and(|deleted| deleted.as_bool() == Some(true)) => {
            return Err(place(
                Failure::refused("the line has both `doc` and `deleted`").hint(LINE_FORM),
            ));
        }
        _ => {}
    }
    let text = |name: &str| root.get(name).and_then(|n| n.as_str()).map(|t| t.into_owned());
    let authored_us = match root.get("time") {
        None => None,
        Some(time) => Some(unix_micros(time).ok_or_else(|| {
            place(Failure::refused("`time` must be a number of seconds since 1970"))
        })?),
    };
    Ok(Version::Document {
        doc: root.get("doc").map(|doc| Box::new(doc.to_tape())),
        meta: Meta {
            author: text("author").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
            authored_us,
            ..Meta::default()
        },
    })
}

fn unix_micros(node: Node<'_>) -> Option<u64> {
    anywhen::time::parse(&format!("@{}", node.as_number()?))
}

/// Writes the versions one after the other, and says what came of them.
fn write_history(
    session: &mut Session,
    target: &Target,
    total: Option<usize>,
    skipped: Vec<String>,
    newest: Option<Newest>,
    versions: impl Iterator<Item = Outcome<Version>>,
) -> Outcome {
    let database = session.database_or_new()?;
    let mut collection = database.find_collection(&target.collection);
    let bar = progress::bar("importing", total.map(|total| total as u64));
    let is_continued = newest.is_some();
    let present = newest.is_some_and(|newest| newest.json.is_some());
    let mut tally = Tally { skipped, present, is_continued, ..Tally::default() };
    for version in versions {
        let version = version?;
        if let (None, Version::Document { doc: Some(_), .. }) = (&collection, &version) {
            check_key(&target.key)?;
            collection = Some(database.collection(&target.collection)?);
        }
        tally.write(collection.as_ref(), target, version)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    tally.report(session, target)
}

/// The counts of an import of versions.
#[derive(Default)]
struct Tally {
    revisions: u64,
    unchanged: u64,
    skipped: Vec<String>,
    /// A removal means something only where there is a document.
    present: bool,
    /// True if the document had a history before.
    is_continued: bool,
}

impl Tally {
    fn write(
        &mut self,
        collection: Option<&Collection>,
        target: &Target,
        version: Version,
    ) -> Outcome {
        let committed = match (version, collection) {
            (Version::Unreadable(which), _) => {
                self.skipped.push(which);
                return Ok(());
            }
            // Before the first document there is no collection, and nothing to remove.
            (Version::Document { .. }, None) => return Ok(()),
            (Version::Document { doc: None, .. }, _) if !self.present => return Ok(()),
            (Version::Document { doc: Some(doc), meta }, Some(collection)) => {
                self.present = true;
                collection.put_tape(&target.key, &doc, &meta)?
            }
            (Version::Document { doc: None, meta }, Some(collection)) => {
                self.present = false;
                collection.remove_with(&target.key, &meta)?
            }
        };
        self.revisions += u64::from(committed.changed);
        self.unchanged += u64::from(!committed.changed);
        Ok(())
    }

    fn report(&self, session: &Session, target: &Target) -> Outcome {
        let skipped = self.skipped.len() as u64;
        if session.json {
            let object = Object::new()
                .text("collection", &target.collection)
                .text("key", &target.key)
                .plain("revisions", self.revisions)
                .plain("unchanged", self.unchanged)
                .plain("skipped", skipped);
            return screen::raw(object.end().as_bytes());
        }
        let new = if self.is_continued { "new " } else { "" };
        let mut text = format!("{target}: {}", count(self.revisions, &format!("{new}revision")));
        if self.unchanged > 0 {
            text.push_str(&format!(
                "; {} equal to the one before",
                count(self.unchanged, "version")
            ));
        }
        if skipped > 0 {
            text.push_str(&format!("; {} skipped, not valid JSON", count(skipped, "version")));
        }
        screen::text(&text)?;
        for which in self.skipped.iter().take(SKIPPED_SHOWN_MAX) {
            screen::note(&format!("  skipped {which}"));
        }
        Ok(())
    }
}

// --- lines ------------------------------------------------------------------

/// The lines of a file or of standard input, unpacked where they are gzip;
/// empty lines are left out, numbers count them.
struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    number: u64,
}

impl Lines {
    fn open(path: &Path) -> Outcome<Self> {
        let source: Box<dyn Read> = match path.as_os_str() == "-" {
            true => Box::new(std::io::stdin()),
            false => Box::new(File::open(path).map_err(|error| Failure::file(path, &error))?),
        };
        Self::of(path, source)
    }

    fn of(path: &Path, source: Box<dyn Read>) -> Outcome<Self> {
        let failed = |error| Failure::file(path, &error);
        let mut plain = BufReader::with_capacity(1 << 16, source);
        // The first two bytes of gzip cannot begin a line of JSON.
        let packed = plain.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
        let reader: Box<dyn BufRead> = match packed {
            true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(plain))),
            false => Box::new(plain),
        };
        Ok(Self { path: path.to_owned(), reader, number: 0 })
    }
}

impl Iterator for Lines {
    type Item = Outcome<(u64, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut line = Vec::new();
            match self.reader.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(Failure::file(&self.path, &error))),
            }
            self.number += 1;
            if !line.trim_ascii().is_empty() {
                return Some(Ok((self.number, line)));
            }
        }
    }
}

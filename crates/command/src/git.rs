//! The history of a JSON file out of a git repository.
//!
//! ```text
//!   git log --follow --raw ──> (commit, author, time, message, blob), newest first
//!                                   | turned round
//!   git cat-file --batch   <── blob ┘ ──> text ──> Version
//! ```
//!
//! The log names the blob of each version, also across renames, so that no
//! commit has to be looked into: one process lists, one process delivers.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anywhen::Meta;
use json::Tape;

use crate::failure::{Failure, Kind, Outcome};
use crate::import::{Newest, Version};

/// An entry of the log for one version.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    commit: String,
    author: String,
    authored_us: u64,
    message: String,
    /// `None` if the commit removed the file.
    blob: Option<String>,
}

/// The versions of `path` in `repository`, oldest first; those after the newest revision, where the document has
/// one already.
pub(crate) fn versions(
    repository: &Path,
    path: &str,
    first_parent: bool,
    newest: Option<&Newest>,
) -> Outcome<impl ExactSizeIterator<Item = Outcome<Version>> + use<>> {
    no_other_form(repository, path)?;
    let mut entries = log(repository, path, first_parent)?;
    if entries.is_empty() {
        return Err(Failure::refused(format!(
            "git knows no file {path:?} in {}",
            repository.display()
        ))
        .hint("name it as `git ls-files` does, from the top of the repository"));
    }
    entries.reverse();
    let mut blobs = Blobs::start(repository)?;
    if let Some(newest) = newest {
        let at = position(&mut blobs, &entries, newest)?.ok_or_else(|| {
            let text = "the document has a history already, whose newest revision is not a commit of this file";
            Failure::refused(text).hint("import it under another name: --as COLLECTION/DOC")
        })?;
        entries.drain(..=at);
    }
    Ok(entries.into_iter().map(move |entry| version(&mut blobs, entry)))
}

/// Returns the position of a document's newest revision among the versions. Its author, time and message identify it;
/// if several versions have the same, the document decides.
fn position(blobs: &mut Blobs, entries: &[Entry], newest: &Newest) -> Outcome<Option<usize>> {
    let is_same = |entry: &Entry| {
        Some(entry.authored_us) == newest.authored_us
            && entry.author == newest.author
            && entry.message == newest.message
            && entry.blob.is_some() == newest.json.is_some()
    };
    let all: Vec<usize> = (0..entries.len()).rev().filter(|at| is_same(&entries[*at])).collect();
    let text =
        |text: &[u8]| Tape::parse_with(text, &anywhen::limits()).ok().map(|tape| tape.to_json());
    let known = newest.json.as_ref().and_then(|json| text(json.as_bytes()));
    for at in &all {
        let Some(blob) = &entries[*at].blob else { continue };
        if all.len() > 1 && text(&blobs.read(blob)?) == known {
            return Ok(Some(*at));
        }
    }
    Ok(all.first().copied())
}

/// An error for a folder, and for a file whose name says that it is another form than JSON.
fn no_other_form(repository: &Path, path: &str) -> Outcome {
    let ending = Path::new(path).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let form = match ending.as_str() {
        "yaml" | "yml" => "YAML",
        "toml" => "TOML",
        "xml" => "XML",
        _ => "",
    };
    if !form.is_empty() {
        return Err(Failure::refused(format!(
            "{path:?} is {form}: only JSON files can be imported"
        )));
    }
    let kind = git(repository).args(["cat-file", "-t"]).arg(format!("HEAD:./{path}")).output();
    if kind.is_ok_and(|kind| kind.stdout.starts_with(b"tree")) {
        return Err(Failure::refused(format!("{path:?} is a folder"))
            .hint("name one JSON file in it: each becomes a document of its own"));
    }
    Ok(())
}

fn version(blobs: &mut Blobs, entry: Entry) -> Outcome<Version> {
    let doc = match &entry.blob {
        None => None,
        Some(blob) => {
            let text = blobs.read(blob)?;
            match Tape::parse_with(&text, &anywhen::limits()) {
                Ok(tape) => Some(Box::new(tape)),
                Err(error) => {
                    let commit = entry.commit.get(..10).unwrap_or(&entry.commit);
                    return Ok(Version::Unreadable(format!("{commit}: {error}")));
                }
            }
        }
    };
    Ok(Version::Document {
        doc,
        meta: Meta {
            author: entry.author,
            message: entry.message,
            authored_us: Some(entry.authored_us),
            ..Meta::default()
        },
    })
}

fn git(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository);
    command
}

fn no_git(error: &std::io::Error) -> Failure {
    Failure::refused(format!("git cannot be run: {error}")).hint("is git installed?")
}

/// The commits that changed the file, newest first.
fn log(repository: &Path, path: &str, first_parent: bool) -> Outcome<Vec<Entry>> {
    let mut command = git(repository);
    // For a merge, list its changes against the first parent. Otherwise git does not
    // list a file that changed when a conflict was resolved.
    command.args(["log", "--follow", "--raw", "-z", "--no-abbrev", "-M"]);
    command.arg("--diff-merges=first-parent");
    if first_parent {
        command.arg("--first-parent");
    }
    // A byte of 1 begins a commit; fields end in a byte of 0. Neither can be
    // in what stands between them.
    command.arg("--format=tformat:%x01%H%x00%an <%ae>%x00%at%x00%B%x00");
    let output = command.arg("--").arg(path).output().map_err(|error| no_git(&error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("git log failed").trim_start_matches("fatal: ");
        return Err(Failure::refused(said).hint("is it a git repository?"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.split('\u{1}').skip(1).map(entry).collect()
}

/// One commit of the log: four fields, then `:mode mode blob blob status`.
fn entry(text: &str) -> Outcome<Entry> {
    let not_understood = || {
        Failure::new(Kind::Refused, format!("git's log was not understood: {text:?}"))
            .hint("is this git older than 2.31?")
    };
    let mut fields = text.splitn(5, '\0');
    let mut field = || fields.next().ok_or_else(not_understood);
    let (commit, author, seconds, message) = (field()?, field()?, field()?, field()?);
    let change = field()?;
    let change = change.find(':').map(|at| &change[at + 1..]).ok_or_else(not_understood)?;
    let mut words = change.split(['\0', ' ']);
    let blob = words.nth(3).ok_or_else(not_understood)?;
    // Times before 1970 are not kept.
    let seconds: i64 = seconds.parse().map_err(|_| not_understood())?;
    Ok(Entry {
        commit: commit.to_owned(),
        author: author.to_owned(),
        authored_us: seconds.max(0) as u64 * 1_000_000,
        message: message.trim().to_owned(),
        blob: blob.bytes().any(|byte| byte != b'0').then(|| blob.to_owned()),
    })
}

/// A running `git cat-file --batch`: a blob's name in, its bytes out.
struct Blobs {
    child: Child,
    names: Option<ChildStdin>,
    bytes: BufReader<ChildStdout>,
}

impl Blobs {
    fn start(repository: &Path) -> Outcome<Self> {
        let mut child = git(repository)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| no_git(&error))?;
        let (Some(names), Some(bytes)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new(Kind::Broken, "git cat-file has no pipes"));
        };
        Ok(Self { child, names: Some(names), bytes: BufReader::new(bytes) })
    }

    fn read(&mut self, blob: &str) -> Outcome<Vec<u8>> {
        self.exchange(blob)
            .map_err(|error| Failure::new(Kind::Broken, format!("git cat-file, {blob}: {error}")))
    }

    fn exchange(&mut self, blob: &str) -> std::io::Result<Vec<u8>> {
        let odd = |said: &str| std::io::Error::other(format!("git said {said:?}"));
        if let Some(names) = &mut self.names {
            writeln!(names, "{blob}")?;
            names.flush()?;
        }
        // `<blob> blob <size>`, the bytes, a line break.
        let mut header = String::new();
        self.bytes.read_line(&mut header)?;
        let size =
            header.trim_end().rsplit_once(" blob ").or(header.trim_end().split_once(" blob "));
        let size =
            size.and_then(|(_, size)| size.parse::<usize>().ok()).ok_or_else(|| odd(&header))?;
        let mut text = vec![0; size + 1];
        self.bytes.read_exact(&mut text)?;
        text.truncate(size);
        Ok(text)
    }
}

impl Drop for Blobs {
    /// With its input closed git ends by itself; it is waited for, so that no
    /// process is left behind.
    fn drop(&mut self) {
        self.names = None;
        // The reader is gone, so further output is not read.
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn an_entry_of_the_log_is_taken_apart() {
        let text = format!(
            "abc|Ada <ada@x>|1700000000|Raise: the limit\n\nbecause\n|\n|:100644 100644 {ZERO} f00 M|a.json|"
        );
        let entry = entry(&text.replace('|', "\0")).unwrap();
        assert_eq!(entry.commit, "abc");
        assert_eq!(entry.author, "Ada <ada@x>");
        assert_eq!(entry.authored_us, 1_700_000_000_000_000);
        assert_eq!(entry.message, "Raise: the limit\n\nbecause");
        assert_eq!(entry.blob.as_deref(), Some("f00"));
    }

    #[test]
    fn a_removal_has_no_blob_and_nonsense_is_refused() {
        let text = format!("abc|A <a>|1|gone||:100644 000000 f00 {ZERO} D|a.json|");
        let taken = |text: &str| entry(&text.replace('|', "\0"));
        assert_eq!(taken(&text).unwrap().blob, None);
        assert!(taken("abc|A|1").is_err());
        assert!(taken("abc|A|x|m|:1 2 3 4 M").is_err());
    }
}

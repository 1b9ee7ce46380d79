//! The arguments of the command line, and their help texts.
//!
//! The texts here are the manual: each subcommand says in a sentence what it
//! does and shows it on examples that work as printed.

mod backups;
mod collections;
mod documents;
mod explore;
mod names;
mod serving;
mod sql;
mod transfer;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use backups::{BackupArgs, RestoreArgs};
pub(crate) use collections::{AlterArgs, CreateArgs, DropArgs, LsArgs};
pub(crate) use documents::{
    BlameArgs, Change, DiffArgs, DiffFormat, EditArgs, GetArgs, HistoryArgs, NodeHistoryArgs,
    PathsArgs, PutArgs, RevertArgs, RmArgs, Where,
};
pub(crate) use explore::ExploreArgs;
pub(crate) use names::{At, NodeArg, Target};
pub(crate) use serving::{HttpArgs, LogFormat, LogLevel, ServeArgs, TokenArgs, TokenCommand};
pub(crate) use sql::{SqlArgs, SqlFormat};
pub(crate) use transfer::{ExportArgs, ImportArgs, ImportFrom};

const ABOUT: &str = "\
Anywhen keeps every version of everything.

Documents (JSON) live in collections. Every write makes a new revision. You can
read and compare all revisions, and see the author, time and message of each
change.";

const FIRST_STEPS: &str = "\
First steps:
  anywhen put articles/a1 '{\"title\": \"Anywhen\", \"counter\": 0}'
  anywhen edit articles/a1 set counter 1 --message 'first edit'
  anywhen get articles/a1                 the document now
  anywhen get articles/a1 --at 1          as it was in revision 1
  anywhen history articles/a1             revisions with author, time and message
  anywhen diff articles/a1 1 2            the changes between two revisions
  anywhen blame articles/a1               who last changed each line
  anywhen import git . package.json       the whole history of a file out of git

Exit codes: 0 success; 1 not found or not possible; 2 wrong usage; 3 disk failure or damaged data.
'anywhen help COMMAND' shows examples of each command.";

/// The whole command line.
#[derive(Parser, Debug)]
#[command(name = "anywhen", version, about = "Anywhen keeps every version of everything", long_about = ABOUT,
    after_help = FIRST_STEPS, max_term_width = 100, disable_help_subcommand = false)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// The options that every command has.
#[derive(Args, Debug, Clone)]
pub(crate) struct Global {
    /// The folder that holds the data
    #[arg(
        long,
        global = true,
        env = "ANYWHEN_DATA",
        value_name = "DIR",
        default_value = "anywhen-data",
        hide_env_values = true
    )]
    pub data: PathBuf,
    /// Answer in JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
}

/// The author and the message of a write, kept with the revision.
#[derive(Args, Debug, Clone)]
pub(crate) struct Signed {
    /// The author (default: the user of this system)
    #[arg(long, env = "ANYWHEN_AUTHOR", value_name = "NAME", hide_env_values = true)]
    pub author: Option<String>,
    /// The reason for the change, kept with the revision
    #[arg(long, short, value_name = "TEXT")]
    pub message: Option<String>,
}

/// Which revision a write changes.
#[derive(Args, Debug, Clone)]
pub(crate) struct Expected {
    /// Write only if this is the newest revision
    #[arg(long, value_name = "N", global = true)]
    pub if_revision: Option<u64>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Make an empty data folder
    #[command(after_help = "\
Examples:
  anywhen init                        makes ./anywhen-data
  anywhen init --data /srv/contracts

Commands that write make the folder if it is missing; init makes an empty one.")]
    Init,
    /// Write a whole document: a new one, or a new revision
    #[command(after_help = "\
Only the differences from the revision before are stored. Parts that stayed keep
their identity, so history, blame and diff follow them through a put.

Examples:
  anywhen put articles/a1 article.json
  anywhen put articles/a1 '{\"title\": \"Anywhen\", \"counter\": 0}'
  curl -s https://example.org/a.json | anywhen put articles/a1 - --message 'nightly copy'")]
    Put(PutArgs),
    /// Read a document, now or at any moment of its past
    #[command(after_help = "\
A moment is one of
  3                          a revision of this document
  2026-11-21                 an instant: date, or date and time, UTC unless it says otherwise
  '2026-11-21 10:30:00'      (also 2026-11-21T10:30:00+02:00, and @1795000000 in unix seconds)
  yesterday, '2 hours ago'   (also now, today, 2026-11 for its first day, '3 months ago')
  authored:2024-05-01        the same, compared with the authored times that an import has set
  csn:17                     a commit of the whole database

Examples:
  anywhen get articles/a1
  anywhen get articles/a1 --at 1
  anywhen get articles/a1 --at '2026-11-21 10:30' --path title
  anywhen get articles/a1 --max-level 2 --pretty
  anywhen get articles/a1 --path items --top 100 --after 'items[99]'")]
    Get(GetArgs),
    /// Change parts of a document: each call is one revision
    #[command(
        subcommand_value_name = "CHANGE",
        subcommand_help_heading = "Changes",
        after_help = "\
A path is `title`, `items[3].qty`, `$.items[3].qty` or `/items/3/qty`; `#12` is the node with
that key.
A value is JSON; with --text it is taken as a string.

Examples:
  anywhen edit articles/a1 set counter 1
  anywhen edit articles/a1 set counter 2 author.name '\"Ada\"'     two changes, one revision
  anywhen edit articles/a1 insert tags '\"new\"'                   at the end of an array
  anywhen edit articles/a1 insert '$' '\"draft\"' --field state    a new field
  anywhen edit articles/a1 rename title headline
  anywhen edit articles/a1 move 'tags[2]' --before 'tags[0]'
  anywhen edit articles/a1 copy author '$' --field editor
  anywhen edit articles/a1 remove 'tags[0]'"
    )]
    Edit(EditArgs),
    /// Remove a document; its history stays
    #[command(after_help = "\
The past stays: history, and get --at an earlier revision, still work.
To bring the document back: anywhen revert COLLECTION/DOC REVISION.

Examples:
  anywhen rm articles/a1 --message 'withdrawn'")]
    Rm(RmArgs),
    /// Run SQL from the command line, a file, a pipe, or line by line
    #[command(after_help = "\
Without -c and -f, statements are read from standard input; at a terminal with line editing,
history, completion and commands such as \\d (\\? lists them).
This command opens the folder itself. If `anywhen serve` has it open, use psql or --url.

Examples:
  anywhen sql
  anywhen sql -c 'CREATE TABLE person (id int PRIMARY KEY, name text)'
  anywhen sql -c 'SELECT * FROM person FOR SYSTEM_TIME ALL' --format csv
  anywhen sql -f schema.sql -f data.sql
  anywhen sql -c 'COPY person FROM STDIN CSV' < person.csv")]
    Sql(SqlArgs),
    /// Serve the data to clients that speak PostgreSQL's protocol, or HTTP
    #[command(after_help = "\
Clients connect as they do to PostgreSQL: psql, drivers, tools. While no role has a password,
only clients of this machine can connect; give a role a password (ALTER ROLE ... PASSWORD '...')
before you listen on other addresses.

A configuration file (TOML) can set the same options as the flags:
  pg-listen = [\"127.0.0.1:5433\"]
  unix-socket-dir = \"/run/anywhen\"
  hba = \"/etc/anywhen/pg_hba.conf\"
  tls-certificate = \"server.crt\"
  tls-key = \"server.key\"
  tls-required = true
  max-connections = 1000
  threads = 4
  cache-mib = 256                      also memtable-mib, statement-mib, statements-mib
  settings = { work_mem = \"8MB\" }
  log-file = \"/var/log/anywhen.log\"   also log-rotation-mib, log-rotation-hours, log-files
  slow-statement-ms = 500
  busy-poll-us = 200
  http-listen = [\"127.0.0.1:8080\"]
  http-auth = true                     also http-tokens, http-jwks, http-jwks-url,
                                       http-jwks-authorities, http-jwt-issuer,
                                       http-jwt-audience, http-cors,
                                       http-require-preconditions, http-statement-timeout-ms

Examples:
  anywhen serve
  anywhen serve --http-listen 127.0.0.1:8080
  curl -X PUT 127.0.0.1:8080/articles/a1 -H 'content-type: application/json' -d '{\"n\": 1}'
  psql -h 127.0.0.1 -p 5433 -U postgres
  anywhen serve --pg-listen 0.0.0.0:5432 --tls-certificate server.crt --tls-key server.key
  anywhen serve --config /etc/anywhen.toml --check        checks, and does not serve")]
    Serve(Box<ServeArgs>),
    /// Manage the tokens by which the HTTP server authenticates clients
    #[command(after_help = "\
Tokens are kept as hashes in a file beside the data, which backups do not have. A running server
notices a change of the file within a second. The rights of a token (--role) are view, create,
modify and delete, for all collections or for one.

Examples:
  anywhen token create ada --role view,create,modify,delete
  anywhen token create reports --role orders-view --days 30
  anywhen token create bob --role view --sql-role reporting
  anywhen token list
  anywhen token revoke 9f2c41d0
  curl -H \"authorization: Bearer $TOKEN\" 127.0.0.1:8080/orders/o1")]
    Token(TokenArgs),
    /// Make a collection, and set its options
    #[command(after_help = "\
Commands that write make missing collections, which keep every revision for ever. Use create for
other options.

How much of the past a collection keeps (--history):
  forever    every revision (the default)
  90d        every revision that was the newest at some time in the last 90 days; also s, m, h, w, y
  none       only the newest revision
Compaction removes older revisions; their authors, times and messages stay in the history.

Examples:
  anywhen create articles
  anywhen create sessions --history 30d
  anywhen create contracts --hashes --path-summary")]
    Create(CreateArgs),
    /// Change how much of the past a collection keeps
    #[command(after_help = "\
A compaction, in the background or by `anywhen compact`, removes the revisions that are no longer
kept. Removed revisions do not come back.

Examples:
  anywhen alter sessions --history 7d
  anywhen alter sessions --history forever")]
    Alter(AlterArgs),
    /// Drop a collection; its past stays, unless it is purged
    #[command(after_help = "\
This takes the same time for every size of collection, and the name is free at once. The documents
can still be read as of an earlier moment, as far as the collection's history is kept.

With --purge the past of all collections that were dropped under this name is given up;
`anywhen compact` removes it.

Examples:
  anywhen drop sessions
  anywhen get sessions/s1 --at '2026-11-21 10:30'    as it was before
  anywhen ls --dropped                               dropped collections, and when
  anywhen drop sessions --purge")]
    Drop(DropArgs),
    /// List the collections, or the documents of one
    #[command(after_help = "\
Examples:
  anywhen ls
  anywhen ls --long                    with the options of each collection
  anywhen ls --dropped                 collections that were dropped, and when
  anywhen ls articles
  anywhen ls articles/2026-            only keys that begin so
  anywhen ls articles --limit 100      the first 100; then --after the last of them
  anywhen ls articles --at 2026-01-01  the documents of that time")]
    Ls(LsArgs),
    /// The revisions of a document, newest first
    #[command(after_help = "\
Examples:
  anywhen history articles/a1
  anywhen history articles/a1 -n 5
  anywhen history articles/a1 --json")]
    History(HistoryArgs),
    /// Show the changes between two revisions
    #[command(after_help = "\
Moves are shown as moves, renames as renames, and every change with its old value.

Formats:
  text      for reading (the default)
  anywhen   JSON with node keys, paths, old and new values
  rfc6902   a JSON Patch, which other tools can apply

Examples:
  anywhen diff articles/a1               the last change
  anywhen diff articles/a1 1 3
  anywhen diff articles/a1 1 3 --format rfc6902")]
    Diff(DiffArgs),
    /// Show the revision and the author that last changed each line of a document
    #[command(after_help = "\
Examples:
  anywhen blame articles/a1
  anywhen blame articles/a1 --at 5")]
    Blame(BlameArgs),
    /// Show every value that ever stood at a path of a document, or that one node had
    #[command(after_help = "\
A path selects all nodes that ever stood there; a node key selects one node, wherever it stood. The
time depends on the number of changes near that part, not on the size of the document's versions.

Examples:
  anywhen node-history articles/a1 counter
  anywhen node-history articles/a1 'items[0].qty'
  anywhen node-history articles/a1 '#12'          one node, under all its names and places")]
    NodeHistory(NodeHistoryArgs),
    /// List the paths of a document, and how many nodes stand at each
    #[command(after_help = "\
The elements of an array share a path: `/items/[]/sku`. A collection made with --path-summary
keeps this list with every version; for other collections it is computed.

Examples:
  anywhen paths articles/a1
  anywhen paths articles/a1 --at 1")]
    Paths(PathsArgs),
    /// Walk through documents and their history in a terminal
    #[command(after_help = "\
Left and right go through the versions, `?` lists all keys. The explorer in a browser shows the
same: `anywhen serve --http-listen 127.0.0.1:8080`.

Examples:
  anywhen explore
  anywhen explore articles/a1
  anywhen explore /srv/articles articles/a1
  anywhen explore https://db.example.org:8443 articles/a1 --token-file token")]
    Explore(ExploreArgs),
    /// Write a past revision again, as the newest
    #[command(after_help = "\
Nothing is lost: the revisions in between stay, and you can revert to them as well.

Examples:
  anywhen revert articles/a1 2 --message 'the numbers were right before'")]
    Revert(RevertArgs),
    /// Import JSON files, folders, exports, whole histories, or tables
    #[command(
        args_conflicts_with_subcommands = true,
        subcommand_negates_reqs = true,
        after_help = "\
Examples:
  anywhen import settings.json                    documents/settings
  anywhen import settings.json --as conf/main     conf/main
  anywhen import events.ndjson                    one document a line, keys 1, 2, 3 ...
  anywhen import events.ndjson --as events --key id
  anywhen import data/                            every .json file below, collection `data`
  anywhen import git ~/code/app package.json      every version of a file in git
  anywhen import history versions.ndjson.gz --as conf/main
  anywhen import sales.csv                        a table `sales`, with inferred columns and types
  anywhen import part-*.parquet --into sales --using columnar
  anywhen import events.ndjson --into events      rows, not documents"
    )]
    Import(ImportArgs),
    /// Export documents as lines, as files or with all their history; and tables
    #[command(after_help = "\
Lines are {\"key\": ..., \"doc\": ...}; `anywhen import FILE.ndjson --as COLLECTION` reads them back.

Examples:
  anywhen export articles > articles.ndjson
  anywhen export articles --to folder/            one file a document
  anywhen export articles --at 2026-01-01
  anywhen export articles/a1 --history > a1.ndjson    every revision; `import history` reads it back
  anywhen export articles/a1 --html a1.html       a page with the history, for a browser
  anywhen export sales sales.parquet --compression zstd
  anywhen export 'SELECT * FROM sales WHERE year = 2026' sales.csv")]
    Export(ExportArgs),
    /// Check every checksum and every invariant of the data folder
    #[command(after_help = "\
Reads everything; changes nothing. Exit code 3 means damage.

Examples:
  anywhen verify && echo all is well")]
    Verify,
    /// Rewrite the data folder in its smallest form, and say how many bytes that has freed
    #[command(after_help = "\
Compaction runs in the background as the database grows; call it before you archive or measure.
It removes only the versions that the history of their collection no longer keeps
(`anywhen help create`). Files that would become only a little smaller stay as they are.

Examples:
  anywhen compact")]
    Compact,
    /// Copy the database, complete and consistent, to a folder; also from a running server
    #[command(after_help = "\
The command verifies every checksum of the copy. If a copy was cut short, call the
command again: it continues with the files that are complete.

--from copies from a running server; its writers do not wait. The token must belong to
a superuser, or to a role with REPLICATION. With --follow the command then copies every
later commit until it is stopped, and `anywhen restore --to` restores any moment since
the copy. Called again, it continues from where it was.

Examples:
  anywhen backup /backup/anywhen-2026-11-21
  anywhen backup --from https://db.example.org:8443 --token-file token /backup/db
  anywhen backup --from http://127.0.0.1:8080 --rate 50MB/s --follow /backup/db")]
    Backup(BackupArgs),
    /// Make a data folder from a backup, as of any moment in it
    #[command(after_help = "\
The data folder (--data) must not exist yet: nothing is overwritten. A backup can be
restored as of its commit. A backup made with --follow can be restored as of any moment
since, by default the last.

Examples:
  anywhen restore /backup/anywhen-2026-11-21
  anywhen restore /backup/anywhen-2026-11-21 --data /srv/articles
  anywhen restore /backup/db --to '2026-11-23 10:00' --data /srv/before
  anywhen restore /backup/db --to csn:1742 --data /srv/before")]
    Restore(RestoreArgs),
    /// Show the contents of the data folder and its size
    #[command(after_help = "\
Examples:
  anywhen stats
  anywhen stats --json")]
    Stats,
    /// Read commands from standard input, one a line, on one open database
    #[command(after_help = "\
Each line is a command as above, without `anywhen`. Words are split and quoted as in a
shell, but {...} and [...] are taken literally; `#` begins a comment. Each line is
answered before the next is read, and a write is durable when its answer appears. The
shell goes on after a failed line, and its exit code then reports the failure.

Examples:
  anywhen shell
  printf '%s\\n' 'put a/1 {\"n\":1}' 'edit a/1 set n 2' 'history a/1' | anywhen shell")]
    Shell,
    /// Write the script that completes this command in a shell
    #[command(after_help = "\
Examples:
  anywhen completions bash > ~/.local/share/bash-completion/completions/anywhen
  anywhen completions zsh > ~/.zfunc/_anywhen
  anywhen completions fish > ~/.config/fish/completions/anywhen.fish
  anywhen completions powershell >> $PROFILE")]
    Completions(CompletionsArgs),
    /// Write the manual pages, one for each command, into a folder
    #[command(after_help = "\
Examples:
  anywhen man-pages ~/.local/share/man/man1 && man anywhen-import")]
    ManPages(ManPagesArgs),
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManPagesArgs {
    /// The folder; it is made if it is missing
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent_and_every_command_shows_examples() {
        Arguments::command().debug_assert();
        for command in Arguments::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            let shown = help.is_some_and(|help| help.contains("Examples:\n  "));
            assert!(shown, "`{}` shows no example", command.get_name());
        }
    }
}

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

Documents (JSON) live in collections. Every write makes a new revision; any
revision can be read, compared and explained, for ever: what changed, when,
by whom, and why.";

const FIRST_STEPS: &str = "\
First steps:
  anywhen put articles/a1 '{\"title\": \"Anywhen\", \"counter\": 0}'
  anywhen edit articles/a1 set counter 1 --message 'first edit'
  anywhen get articles/a1                 the document now
  anywhen get articles/a1 --at 1          as it was in revision 1
  anywhen history articles/a1             who, when, why
  anywhen diff articles/a1 1 2            what changed
  anywhen blame articles/a1               who last changed each line
  anywhen import git . package.json       the whole history of a file out of git

Exit codes: 0 done; 1 not found or not possible; 2 wrong usage; 3 disk or damaged data.
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

/// The author and the reason of a write: kept with the revision.
#[derive(Args, Debug, Clone)]
pub(crate) struct Signed {
    /// The author (default: the user of this system)
    #[arg(long, env = "ANYWHEN_AUTHOR", value_name = "NAME", hide_env_values = true)]
    pub author: Option<String>,
    /// Why: kept with the revision
    #[arg(long, short, value_name = "TEXT")]
    pub message: Option<String>,
}

/// Which revision a write changes.
#[derive(Args, Debug, Clone)]
pub(crate) struct Expected {
    /// Only where this is the newest revision; else nothing is written
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

Writing commands make the folder themselves; init is for when you want it empty.")]
    Init,
    /// Write a whole document: a new one, or a new revision
    #[command(after_help = "\
Only what differs from the revision before is stored, and the parts that stayed
keep their identity: history, blame and diff follow them through a put.

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
  authored:2024-05-01        the same, by the time that an import brought along
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
The past is not touched: history, and get --at a revision before, go on working.
To have it back: anywhen revert COLLECTION/DOC REVISION.

Examples:
  anywhen rm articles/a1 --message 'withdrawn'")]
    Rm(RmArgs),
    /// Ask in SQL: from the command line, a file, a pipe, or line by line
    #[command(after_help = "\
Without -c and -f statements are read from standard input; at a terminal with line editing,
history, completion and commands such as \\d (\\? lists them).
The folder is opened by this command: where `anywhen serve` has it, use psql.

Examples:
  anywhen sql
  anywhen sql -c 'CREATE TABLE person (id int PRIMARY KEY, name text)'
  anywhen sql -c 'SELECT * FROM person FOR SYSTEM_TIME ALL' --format csv
  anywhen sql -f schema.sql -f data.sql
  anywhen sql -c 'COPY person FROM STDIN CSV' < person.csv")]
    Sql(SqlArgs),
    /// Serve the data to clients that speak PostgreSQL's protocol, or HTTP
    #[command(after_help = "\
Clients connect as they do to PostgreSQL: psql, drivers, tools. A data folder that has no
passwords lets in clients of this machine alone; give a role a password (ALTER ROLE ...
PASSWORD '...') before you listen on other addresses.

A configuration file (TOML) can say the same as the flags:
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
  anywhen serve --config /etc/anywhen.toml --check        looks, and does not serve")]
    Serve(Box<ServeArgs>),
    /// Tokens with which clients of the HTTP server say who they are
    #[command(after_help = "\
Tokens are kept as hashes in a file beside the data, which backups do not have; a server that runs
looks at it within a second. Roles allow to view, create, modify or delete, in all collections or in
one of them.

Examples:
  anywhen token create ada --role view,create,modify,delete
  anywhen token create reports --role orders-view --days 30
  anywhen token create bob --role view --sql-role reporting
  anywhen token list
  anywhen token revoke 9f2c41d0
  curl -H \"authorization: Bearer $TOKEN\" 127.0.0.1:8080/orders/o1")]
    Token(TokenArgs),
    /// Make a collection, and say what it keeps
    #[command(after_help = "\
Writing commands make collections themselves, with every revision kept for ever; create is for
when you want another.

How much of the past a collection keeps (--history):
  forever    every revision (the default)
  90d        what was the newest at some time in the last 90 days; also s, m, h, w, y
  none       the newest alone
What lies before is taken away by compaction; who wrote when and why stays in the history.

Examples:
  anywhen create articles
  anywhen create sessions --history 30d
  anywhen create contracts --hashes --path-summary")]
    Create(CreateArgs),
    /// Change how much of the past a collection keeps
    #[command(after_help = "\
What is to be forgotten goes with a compaction, in the background or by `anywhen compact`; what
was forgotten does not come back.

Examples:
  anywhen alter sessions --history 7d
  anywhen alter sessions --history forever")]
    Alter(AlterArgs),
    /// Drop a collection; its past stays, unless it is purged
    #[command(after_help = "\
It takes the same time however large the collection is, and the name is free at once. What was in
it can still be read at a moment before, as far as the collection's history is kept.

With --purge the past of all that was ever dropped under this name is let go of; `anywhen compact`
takes it away.

Examples:
  anywhen drop sessions
  anywhen get sessions/s1 --at '2026-11-21 10:30'    as it was before
  anywhen ls --dropped                               what was dropped, and when
  anywhen drop sessions --purge")]
    Drop(DropArgs),
    /// List the collections, or the documents of one
    #[command(after_help = "\
Examples:
  anywhen ls
  anywhen ls --long                    with what each collection keeps
  anywhen ls --dropped                 collections that were dropped, and when
  anywhen ls articles
  anywhen ls articles/2026-            only keys that begin so
  anywhen ls articles --limit 100      the first 100; then --after the last of them
  anywhen ls articles --at 2026-01-01  what was there then")]
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
    /// Which revision last changed each line of a document, and who
    #[command(after_help = "\
Examples:
  anywhen blame articles/a1
  anywhen blame articles/a1 --at 5")]
    Blame(BlameArgs),
    /// Every value that ever stood at a path of a document, or that one node had
    #[command(after_help = "\
A path tells of all nodes that ever stood there; a node key of one node, wherever it stood. The time
this takes grows with the changes near that part, not with the size of the document's versions.

Examples:
  anywhen node-history articles/a1 counter
  anywhen node-history articles/a1 'items[0].qty'
  anywhen node-history articles/a1 '#12'          one node, under whatever name and place")]
    NodeHistory(NodeHistoryArgs),
    /// Which paths a document has, and how many nodes stand at each
    #[command(after_help = "\
The elements of an array share a path: `/items/[]/sku`. A collection made with --path-summary
keeps this with every version; of any other it is computed.

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
Nothing is lost: the revisions in between stay, and can be reverted to in turn.

Examples:
  anywhen revert articles/a1 2 --message 'the numbers were right before'")]
    Revert(RevertArgs),
    /// Bring in JSON files, folders, exports, whole histories, or tables
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
  anywhen import sales.csv                        a table `sales`: columns and types are found out
  anywhen import part-*.parquet --into sales --using columnar
  anywhen import events.ndjson --into events      rows, not documents"
    )]
    Import(ImportArgs),
    /// Write documents out: as lines, as files, or with all their history; and tables
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
Reads everything; changes nothing. Exit code 3 where something is damaged.

Examples:
  anywhen verify && echo all is well")]
    Verify,
    /// Rewrite the data folder in its smallest form, and tell what that won
    #[command(after_help = "\
This happens in the background as the database grows; call it before an archive
or a measurement. No version is lost, but those that a collection's history does not reach back
to (`anywhen help create`). What would win next to nothing is left as it is.

Examples:
  anywhen compact")]
    Compact,
    /// Copy the database, whole and consistent, to a folder; of a running server too
    #[command(after_help = "\
Every checksum is computed on arrival. A copy that was cut short goes on when the
command is called again, with what is whole there.

--from asks a running server, whose writers are not held up. The token is one of a
superuser, or of a role with REPLICATION. With --follow the command goes on with
every commit from then on, until it is ended: `anywhen restore --to` brings such an
archive back to any moment since. Called again it goes on from where it was.

Examples:
  anywhen backup /backup/anywhen-2026-11-21
  anywhen backup --from https://db.example.org:8443 --token-file token /backup/db
  anywhen backup --from http://127.0.0.1:8080 --rate 50MB/s --follow /backup/db")]
    Backup(BackupArgs),
    /// Make a data folder out of a backup, as of any moment that it knows
    #[command(after_help = "\
The data folder (--data) must not exist yet: nothing is overwritten. A backup can be
restored to its commit; one that was made with --follow to any moment since, by
default the last.

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
Lines are commands as above, without `anywhen`; words are split and quoted as in
a shell, but {...} and [...] are taken as they stand; `#` begins a comment. Each line is answered before the next is read, and
a write is durable when its answer appears. A failed line does not end the shell,
but the exit code tells.

Examples:
  anywhen shell
  printf '%s\\n' 'put a/1 {\"n\":1}' 'edit a/1 set n 2' 'history a/1' | anywhen shell")]
    Shell,
    /// Write the script by which a shell completes this command
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
    /// The folder; it is made where it does not exist
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

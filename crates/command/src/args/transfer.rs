//! Arguments of import and export.

use clap::{Args, Subcommand};
use std::path::PathBuf;

use super::{At, Signed, Target};

#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub from: Option<ImportFrom>,
    /// A .json file, a .ndjson file (.gz too), or a folder; for a table .csv, .ndjson (.gz too), .parquet or .arrow files
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// The table for the rows of the files; it is made if it is missing
    #[arg(long, value_name = "TABLE")]
    pub into: Option<String>,
    /// The access method of a new table, such as columnar
    #[arg(long, value_name = "METHOD")]
    pub using: Option<String>,
    /// The target: COLLECTION, or COLLECTION/DOC for a .json file
    #[arg(long = "as", value_name = "COLLECTION[/DOC]")]
    pub target: Option<String>,
    /// For .ndjson: the field of each line that becomes the key
    #[arg(long, value_name = "FIELD")]
    pub key: Option<String>,
    #[command(flatten)]
    pub signed: Signed,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ImportFrom {
    /// Every version of a JSON file in a git repository, renames included
    #[command(after_help = "\
Each version becomes a revision with its author, its time (as authored time) and
its message. Versions that are not valid JSON are skipped, and counted.

Examples:
  anywhen import git . package.json
  anywhen import git ~/code/app config/schema.json --as schemas/app")]
    Git {
        /// The repository
        repository: PathBuf,
        /// The file, as named in the newest commit
        path: String,
        /// The target document (default: git/PATH)
        #[arg(long = "as", value_name = "COLLECTION/DOC")]
        target: Option<Target>,
        /// Follow only first parents: the changes of a merged branch count as changes of the merge
        #[arg(long)]
        first_parent: bool,
    },
    /// The versions of a document, one a line
    #[command(after_help = "\
Each line is {\"doc\": ..., \"time\": unix seconds, \"author\": ..., \"message\": ...}; only
`doc` is needed, and without it the line says that the document was removed.
Oldest first. `anywhen export COLLECTION/DOC --history` writes such lines.

Examples:
  anywhen import history versions.ndjson.gz --as conf/main")]
    History {
        /// A .ndjson file (.gz too), or - for standard input
        file: PathBuf,
        /// The target document
        #[arg(long = "as", value_name = "COLLECTION/DOC")]
        target: Target,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// COLLECTION or COLLECTION/DOC; for a file of rows a table or a query
    #[arg(value_name = "COLLECTION[/DOC]|TABLE|QUERY")]
    pub target: String,
    /// Write the rows of the table or query to this .parquet, .arrow or .csv file
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// How the file is compressed: snappy, zstd, lz4, gzip or none
    #[arg(long, value_name = "NAME", requires = "file")]
    pub compression: Option<String>,
    /// Export the state as of this moment
    #[arg(long, value_name = "MOMENT", conflicts_with = "history")]
    pub at: Option<At>,
    /// Export every revision of a document, oldest first
    #[arg(long, conflicts_with = "to")]
    pub history: bool,
    /// Write one file a document into this folder
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Write a page that shows the history of a document without a database
    #[arg(long, value_name = "FILE", conflicts_with_all = ["to", "history", "at", "file"])]
    pub html: Option<PathBuf>,
}

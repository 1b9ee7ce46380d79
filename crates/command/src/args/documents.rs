//! Arguments of the commands on documents.

use clap::{Args, Subcommand, ValueEnum};

use super::{At, Expected, NodeArg, Signed, Target};

#[derive(Args, Debug)]
pub(crate) struct PutArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    /// A file, `-` for standard input, or the JSON itself
    #[arg(value_name = "FILE|-|JSON", default_value = "-")]
    pub source: String,
    #[command(flatten)]
    pub expected: Expected,
    #[command(flatten)]
    pub signed: Signed,
}

#[derive(Args, Debug)]
pub(crate) struct GetArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    /// A revision, an instant, authored:INSTANT or csn:N
    #[arg(long, value_name = "MOMENT")]
    pub at: Option<At>,
    /// Only this part
    #[arg(long, value_name = "PATH")]
    pub path: Option<NodeArg>,
    /// Levels to show, counted from 1
    #[arg(long, value_name = "N")]
    pub max_level: Option<u32>,
    /// Children to show in each array or object
    #[arg(long, value_name = "N")]
    pub max_children: Option<u32>,
    /// Only the first N fields or elements of the document (or of --path), each whole
    #[arg(long, value_name = "N")]
    pub top: Option<u32>,
    /// Only the fields or elements after this one: with --top, page by page
    #[arg(long, value_name = "PATH")]
    pub after: Option<NodeArg>,
    /// Nodes to show in all, the document itself counted as one
    #[arg(long, value_name = "N")]
    pub nodes: Option<u64>,
    /// Show the node keys, kinds and counts as well
    #[arg(long)]
    pub metadata: bool,
    /// Over several lines, indented
    #[arg(long, short)]
    pub pretty: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EditArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    #[command(flatten)]
    pub expected: Expected,
    #[command(subcommand)]
    pub change: Change,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Change {
    /// Set new values of parts; a missing last field is added
    #[command(
        after_help = "Examples:\n  anywhen edit articles/a1 set counter 1\n  anywhen edit articles/a1 set title Anywhen --text"
    )]
    Set {
        /// PATH VALUE, as often as needed
        #[arg(num_args = 2.., required = true, value_names = ["PATH", "VALUE"], allow_negative_numbers = true)]
        pairs: Vec<String>,
        /// The values are plain text
        #[arg(long)]
        text: bool,
        #[command(flatten)]
        signed: Signed,
    },
    /// Insert a new value
    #[command(
        after_help = "Examples:\n  anywhen edit articles/a1 insert tags '\"new\"'\n  anywhen edit articles/a1 insert 'tags[0]' '\"first\"' --before\n  anywhen edit articles/a1 insert '$' 0 --field counter"
    )]
    Insert {
        /// The array or object to put it in, or the neighbour for --before and --after
        place: NodeArg,
        /// JSON
        #[arg(allow_negative_numbers = true)]
        value: String,
        /// The value is plain text
        #[arg(long)]
        text: bool,
        #[command(flatten)]
        where_: Where,
        #[command(flatten)]
        signed: Signed,
    },
    /// Give a field another name
    #[command(after_help = "Examples:\n  anywhen edit articles/a1 rename author.name full_name")]
    Rename {
        /// The field
        place: NodeArg,
        /// Its new name
        name: String,
        #[command(flatten)]
        signed: Signed,
    },
    /// Move a part to another place; it keeps its identity and its history
    #[command(
        after_help = "Examples:\n  anywhen edit articles/a1 move 'tags[2]' --before 'tags[0]'\n  anywhen edit articles/a1 move draft.title '$' --field title"
    )]
    Move {
        /// The part to move
        place: NodeArg,
        /// Where to: an array or object, or the neighbour for --before and --after
        to: NodeArg,
        #[command(flatten)]
        where_: Where,
        #[command(flatten)]
        signed: Signed,
    },
    /// Put a copy of a part in another place
    #[command(after_help = "Examples:\n  anywhen edit articles/a1 copy author '$' --field editor")]
    Copy {
        /// The part to copy
        place: NodeArg,
        /// Where to: an array or object, or the neighbour for --before and --after
        to: NodeArg,
        #[command(flatten)]
        where_: Where,
        #[command(flatten)]
        signed: Signed,
    },
    /// Remove parts
    #[command(after_help = "Examples:\n  anywhen edit articles/a1 remove 'tags[0]' state")]
    Remove {
        /// The parts to remove
        #[arg(required = true)]
        places: Vec<NodeArg>,
        #[command(flatten)]
        signed: Signed,
    },
}

/// The position of the value, relative to the named place.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct Where {
    /// As the last child (the default)
    #[arg(long)]
    pub last: bool,
    /// As the first child
    #[arg(long)]
    pub first: bool,
    /// Just before it
    #[arg(long)]
    pub before: bool,
    /// Just after it
    #[arg(long)]
    pub after: bool,
    /// As the field of this name of the object
    #[arg(long, value_name = "NAME")]
    pub field: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct RmArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    #[command(flatten)]
    pub expected: Expected,
    #[command(flatten)]
    pub signed: Signed,
}

#[derive(Args, Debug)]
pub(crate) struct HistoryArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    /// Only the newest N
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub limit: Option<usize>,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    /// From this revision (default: the one before the last)
    pub from: Option<u64>,
    /// To this one (default: the last)
    pub to: Option<u64>,
    /// The format of the answer
    #[arg(long, value_enum)]
    pub format: Option<DiffFormat>,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffFormat {
    /// Text for people
    Text,
    /// JSON with node keys, paths, old and new values
    Anywhen,
    /// A JSON Patch
    Rfc6902,
}

#[derive(Args, Debug)]
pub(crate) struct BlameArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    /// A revision, an instant, authored:INSTANT or csn:N
    #[arg(long, value_name = "MOMENT")]
    pub at: Option<At>,
}

#[derive(Args, Debug)]
pub(crate) struct NodeHistoryArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    /// The part, for example items[3].qty
    pub place: NodeArg,
}

#[derive(Args, Debug)]
pub(crate) struct PathsArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    /// A revision, an instant, authored:INSTANT or csn:N
    #[arg(long, value_name = "MOMENT")]
    pub at: Option<At>,
}

#[derive(Args, Debug)]
pub(crate) struct RevertArgs {
    /// The document
    #[arg(value_name = "COLLECTION/DOC")]
    pub target: Target,
    /// The revision to write again
    pub revision: u64,
    #[command(flatten)]
    pub signed: Signed,
}

//! The answers of the routes as the explorer keeps them. Values stay JSON texts, digit for digit.

use anywhen::time;
use json::{JsonPath, Node, Tape};

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status code; 0 where the server could not be reached.
    pub status: u16,
    /// The reason in a sentence.
    pub text: String,
}

/// One revision of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) revision: u64,
    /// The authored time if the revision has one, else the time of its commit. Microseconds since 1970.
    pub(crate) time_us: u64,
    pub(crate) author: String,
    pub(crate) message: String,
    pub(crate) is_deleted: bool,
}

/// Revisions of about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
}

/// How the revisions of a document lie in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Density {
    pub(crate) oldest: u64,
    pub(crate) newest: Version,
    pub(crate) buckets: Vec<Bucket>,
}

/// The name or the index of a node in its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Root,
    Name(String),
    Index(usize),
}

/// A row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: u64,
    pub(crate) depth: usize,
    pub(crate) label: Label,
    /// `object`, `array`, `string`, `number`, `boolean` or `null`.
    pub(crate) kind: String,
    /// How many children a container has.
    pub(crate) children: Option<u64>,
    pub(crate) is_open: bool,
    pub(crate) text: String,
    /// True if the text is longer.
    pub(crate) is_cut: bool,
    /// The revision that last changed it.
    pub(crate) changed: u64,
}

/// A window of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) revision: u64,
    pub(crate) total: usize,
    /// The number of its first row.
    pub(crate) row: usize,
    pub(crate) found: Option<u64>,
    pub(crate) opened: Vec<u64>,
    /// The nodes that contain the first row.
    pub(crate) above: Vec<Row>,
    pub(crate) rows: Vec<Row>,
    pub(crate) versions: Vec<Version>,
}

/// The change of a node between two revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Insert,
    Update,
    Delete,
    Move,
    Rename,
}

/// A difference of two revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) node: u64,
    pub(crate) path: String,
    pub(crate) op: Op,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
    /// The path of a moved node before.
    pub(crate) from: Option<String>,
    /// The parent of a deleted node.
    pub(crate) parent: Option<u64>,
}

/// A value of a node over some revisions in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeRun {
    pub(crate) from: u64,
    pub(crate) to: Option<u64>,
    pub(crate) time_us: u64,
    pub(crate) author: String,
    pub(crate) message: String,
    /// The value of a scalar.
    pub(crate) value: Option<String>,
    /// The changes inside of a container.
    pub(crate) changes: Vec<Change>,
    /// How many changes there were: some may be left out.
    pub(crate) changes_total: u64,
}

/// All values of a node in a few figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunSummary {
    pub(crate) runs: u64,
    pub(crate) values: u64,
    /// The value that it had most often, and in how many revisions.
    pub(crate) most_often: Option<(String, u64)>,
    /// The values, where all are numbers, or some of them where there are many; oldest first.
    pub(crate) numbers: Vec<f64>,
}

/// A page of the history of a node, newest value first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runs {
    pub(crate) runs: Vec<NodeRun>,
    /// Where the page with earlier values begins.
    pub(crate) earlier: Option<u64>,
    pub(crate) summary: Option<RunSummary>,
}

/// A page of names, and whether there are more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) names: Vec<String>,
    pub(crate) next: Option<String>,
}

/// A node that has the text of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SearchFound {
    pub(crate) node: Option<u64>,
    pub(crate) is_wrapped: bool,
}

fn number(node: Node<'_>, name: &str) -> Option<u64> {
    node.get(name)?.as_u64()
}

fn text(node: Node<'_>, name: &str) -> Option<String> {
    Some(node.get(name)?.as_str()?.into_owned())
}

fn flag(node: Node<'_>, name: &str) -> bool {
    node.get(name).and_then(Node::as_bool).unwrap_or(false)
}

fn time_us(node: Node<'_>, name: &str) -> Option<u64> {
    time::parse(&node.get(name)?.as_str()?)
}

/// Returns the elements of the array in the member `name`; none if the member is missing.
fn each<'a>(node: Node<'a>, name: &str) -> impl Iterator<Item = Node<'a>> + use<'a> {
    node.get(name).into_iter().flat_map(Node::children)
}

/// The JSON text of a member.
fn raw(node: Node<'_>, name: &str) -> Option<String> {
    node.get(name).map(Node::to_json)
}

impl Version {
    pub(crate) fn read(node: Node<'_>) -> Option<Version> {
        Some(Version {
            revision: number(node, "revision")?,
            time_us: time_us(node, "authored").or_else(|| time_us(node, "time"))?,
            author: text(node, "author")?,
            message: text(node, "message")?,
            is_deleted: flag(node, "deleted"),
        })
    }
}

impl Density {
    pub(crate) fn read(tape: &Tape) -> Option<Density> {
        let root = tape.root();
        let bucket = |node: Node<'_>| {
            Some(Bucket {
                from: number(node, "from")?,
                to: number(node, "to")?,
                from_us: time_us(node, "from_time")?,
                to_us: time_us(node, "to_time")?,
            })
        };
        Some(Density {
            oldest: number(root, "oldest")?,
            newest: Version::read(root.get("newest")?)?,
            buckets: each(root, "buckets").map(bucket).collect::<Option<_>>()?,
        })
    }
}

impl Row {
    fn read(node: Node<'_>) -> Option<Row> {
        let label = match (text(node, "name"), number(node, "index")) {
            (Some(name), _) => Label::Name(name),
            (None, Some(index)) => Label::Index(usize::try_from(index).ok()?),
            (None, None) => Label::Root,
        };
        Some(Row {
            key: number(node, "node_key")?,
            depth: usize::try_from(number(node, "depth")?).ok()?,
            label,
            kind: text(node, "type")?,
            children: number(node, "children"),
            is_open: flag(node, "open"),
            text: text(node, "text").unwrap_or_default(),
            is_cut: node.get("text_length").is_some(),
            changed: number(node, "changed")?,
        })
    }
}

impl Outline {
    pub(crate) fn read(tape: &Tape) -> Option<Outline> {
        let root = tape.root();
        let count = |name| usize::try_from(number(root, name)?).ok();
        Some(Outline {
            revision: number(root, "revision")?,
            total: count("total")?,
            row: count("row")?,
            found: number(root, "found"),
            opened: each(root, "opened").map(Node::as_u64).collect::<Option<_>>()?,
            above: each(root, "above").map(Row::read).collect::<Option<_>>()?,
            rows: each(root, "rows").map(Row::read).collect::<Option<_>>()?,
            versions: each(root, "versions").map(Version::read).collect::<Option<_>>()?,
        })
    }

    /// The path of a row, by the rows above it.
    pub(crate) fn path(&self, at: usize) -> JsonPath {
        let mut steps = Vec::new();
        let mut depth = usize::MAX;
        let all: Vec<&Row> = self.above.iter().chain(self.rows.iter().take(at + 1)).collect();
        for row in all.into_iter().rev() {
            if row.depth >= depth {
                continue;
            }
            depth = row.depth;
            steps.push(&row.label);
        }
        steps.into_iter().rev().fold(JsonPath::root(), |path, label| match label {
            Label::Root => path,
            Label::Name(name) => path.field(name.clone()),
            Label::Index(index) => path.index(*index),
        })
    }
}

impl Change {
    fn read(node: Node<'_>) -> Option<Change> {
        let op = match text(node, "op")?.as_str() {
            "insert" => Op::Insert,
            "delete" => Op::Delete,
            "move" => Op::Move,
            "rename" => Op::Rename,
            _ => Op::Update,
        };
        Some(Change {
            node: number(node, "node_key")?,
            path: text(node, "path")?,
            op,
            old: raw(node, "old"),
            new: raw(node, "new"),
            from: text(node, "from"),
            parent: number(node, "parent_node_key"),
        })
    }

    /// The changes of a comparison.
    pub(crate) fn read_all(tape: &Tape) -> Option<Vec<Change>> {
        each(tape.root(), "changes").map(Change::read).collect()
    }
}

impl NodeRun {
    fn read(node: Node<'_>) -> Option<NodeRun> {
        Some(NodeRun {
            from: number(node, "from_revision")?,
            to: number(node, "to_revision"),
            time_us: time_us(node, "authored").or_else(|| time_us(node, "from_time"))?,
            author: text(node, "author")?,
            message: text(node, "message")?,
            value: raw(node, "value"),
            changes: each(node, "changes").map(Change::read).collect::<Option<_>>()?,
            changes_total: number(node, "changes_total").unwrap_or_default(),
        })
    }
}

impl Runs {
    pub(crate) fn read(tape: &Tape) -> Option<Runs> {
        let root = tape.root();
        let mut runs: Vec<NodeRun> =
            each(root, "versions").map(NodeRun::read).collect::<Option<_>>()?;
        runs.reverse();
        let summary = |node: Node<'_>| {
            let most = node.get("most_often");
            Some(RunSummary {
                runs: number(node, "versions")?,
                values: number(node, "values")?,
                most_often: most
                    .and_then(|most| Some((raw(most, "value")?, number(most, "revisions")?))),
                numbers: each(node, "numbers").filter_map(|n| n.at(1)?.as_f64()).collect(),
            })
        };
        Some(Runs {
            runs,
            earlier: number(root, "earlier"),
            summary: root.get("summary").and_then(summary),
        })
    }
}

impl Names {
    /// Reads a list of collections.
    pub(crate) fn collections(tape: &Tape) -> Option<Names> {
        let names = each(tape.root(), "collections").map(|node| text(node, "name"));
        Some(Names { names: names.collect::<Option<_>>()?, next: None })
    }

    /// Reads a page of keys.
    pub(crate) fn keys(tape: &Tape) -> Option<Names> {
        let names = each(tape.root(), "documents").map(|node| Some(node.as_str()?.into_owned()));
        Some(Names { names: names.collect::<Option<_>>()?, next: text(tape.root(), "next") })
    }
}

impl SearchFound {
    pub(crate) fn read(tape: &Tape) -> Option<SearchFound> {
        let root = tape.root();
        root.get("found")?;
        Some(SearchFound { node: number(root, "found"), is_wrapped: flag(root, "wrapped") })
    }
}

/// The sentence of a problem, and its hint.
pub(crate) fn problem(body: &[u8]) -> Option<String> {
    let tape = Tape::parse(body).ok()?;
    let hint = text(tape.root(), "hint").map_or_else(String::new, |hint| format!(" ({hint})"));
    Some(text(tape.root(), "detail")? + &hint)
}

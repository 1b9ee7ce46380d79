//! The answers of `EXPLAIN`, in the formats of PostgreSQL: text, JSON, XML and YAML.

use std::fmt::Write;

use super::operator_stats::Blocks;
use super::tree::{Entry, Value};

/// A format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// One operator a line, what is below it indented.
    #[default]
    Text,
    /// An array of one object.
    Json,
    /// A document.
    Xml,
    /// A list of one mapping.
    Yaml,
}

/// The options of an answer, other than the plan.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format.
    pub format: Format,
    /// The estimated costs of operators.
    pub costs: bool,
    /// The observed counts, where the plan was run.
    pub analyze: bool,
    /// The times of operators.
    pub timing: bool,
    /// The blocks that operators looked at.
    pub buffers: bool,
    /// Settings that are not as they come, with their values.
    pub settings: Vec<(String, String)>,
    /// How long planning and execution took, in milliseconds.
    pub planning_ms: Option<f64>,
    /// See `planning_ms`.
    pub execution_ms: Option<f64>,
}

/// A plan in a format: one text, of lines.
pub fn render(root: &Entry, options: &Options) -> String {
    match options.format {
        Format::Text => {
            let mut out = String::new();
            write_text(root, 0, true, options, &mut out);
            if !options.settings.is_empty() {
                let list =
                    options.settings.iter().map(|(name, value)| format!("{name} = '{value}'"));
                let _ = writeln!(out, "Settings: {}", list.collect::<Vec<_>>().join(", "));
            }
            for (title, ms) in
                [("Planning Time", options.planning_ms), ("Execution Time", options.execution_ms)]
            {
                if let Some(ms) = ms {
                    let _ = writeln!(out, "{title}: {ms:.3} ms");
                }
            }
            out
        }
        Format::Json => {
            let mut out = "[\n  ".to_owned();
            json(&query(root, options), 1, &mut out);
            out + "\n]"
        }
        Format::Xml => {
            let mut out = "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n"
                .to_owned();
            xml(&query(root, options), 2, &mut out);
            out + "  </Query>\n</explain>"
        }
        Format::Yaml => {
            let mut out = String::new();
            yaml(&query(root, options), 1, true, &mut out);
            out.trim_end().to_owned()
        }
    }
}

fn write_text(entry: &Entry, depth: usize, is_root: bool, options: &Options, out: &mut String) {
    let indent = " ".repeat(depth);
    if let Some(subplan) = &entry.subplan {
        let _ = writeln!(out, "{indent}{subplan}");
    }
    let depth = if entry.subplan.is_some() { depth + 2 } else { depth };
    let (arrow, inner) =
        if is_root { (String::new(), 2) } else { (" ".repeat(depth) + "->  ", depth + 6) };
    out.push_str(&arrow);
    out.push_str(&entry.head);
    if options.costs {
        let (startup, total) = entry.cost;
        let (rows, width) = (entry.rows.round(), entry.width);
        let _ = write!(out, "  (cost={startup:.2}..{total:.2} rows={rows} width={width})");
    }
    if let Some(seen) = &entry.seen {
        let loops = seen.loops.max(1) as f64;
        let rows = (seen.rows as f64 / loops).round();
        if seen.loops == 0 {
            out.push_str(" (never executed)");
        } else if options.timing {
            let ms = |us: u64| us as f64 / 1_000.0 / loops;
            let (startup, total) = (ms(seen.startup_us), ms(seen.total_us));
            let _ =
                write!(out, " (actual time={startup:.3}..{total:.3} rows={rows} loops={loops})");
        } else {
            let _ = write!(out, " (actual rows={rows} loops={loops})");
        }
    }
    out.push('\n');
    let indent = " ".repeat(inner);
    for (title, value) in &entry.properties {
        let value = match value {
            Value::Text(text) => text.clone(),
            Value::List(list) => list.join(", "),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
        };
        let _ = writeln!(out, "{indent}{title}: {value}");
    }
    for (title, value) in observed(entry) {
        match (title, value) {
            ("Sort Method", Value::Text(method)) => {
                let report = entry.seen.and_then(|seen| seen.report.sort);
                let (space, kb) = report.map_or(("Memory", 0), |sort| {
                    (if sort.is_external { "Disk" } else { "Memory" }, sort.bytes.div_ceil(1024))
                });
                let _ = writeln!(out, "{indent}Sort Method: {method}  {space}: {kb}kB");
            }
            (title @ "Workers Launched", Value::Number(number)) => {
                let _ = writeln!(out, "{indent}{title}: {number}");
            }
            (title, Value::Number(number)) if title.starts_with("Rows Removed") && number > 0 => {
                let _ = writeln!(out, "{indent}{title}: {number}");
            }
            _ => {}
        }
    }
    if let Some(seen) = entry.seen.filter(|_| options.buffers) {
        write_blocks(&seen.blocks, &indent, out);
    }
    for below in &entry.below {
        let depth = if below.subplan.is_some() {
            inner
        } else if is_root {
            2
        } else {
            inner
        };
        write_text(below, depth, false, options, out);
    }
}

/// Bytes of a block of a temporary file, as PostgreSQL counts them.
const TEMPORARY_BLOCK_BYTES: u64 = 8 << 10;

/// The blocks that an operator looked at, each with its title; those that are 0 in text are left out.
fn blocks(seen: &Blocks) -> [(&'static str, u64); 10] {
    let temporary = |bytes: u64| bytes.div_ceil(TEMPORARY_BLOCK_BYTES);
    [
        ("Shared Hit Blocks", seen.hit),
        ("Shared Read Blocks", seen.read),
        // Changes go to memory and to the log.
        ("Shared Dirtied Blocks", 0),
        ("Shared Written Blocks", 0),
        ("Local Hit Blocks", 0),
        ("Local Read Blocks", 0),
        ("Local Dirtied Blocks", 0),
        ("Local Written Blocks", 0),
        ("Temp Read Blocks", temporary(seen.temporary_bytes_read)),
        ("Temp Written Blocks", temporary(seen.temporary_bytes_written)),
    ]
}

/// The line `Buffers: shared hit=3 read=1, temp read=2 written=2`; nothing where all are 0.
fn write_blocks(seen: &Blocks, indent: &str, out: &mut String) {
    let mut kinds: Vec<String> = Vec::new();
    for kind in ["Shared", "Local", "Temp"] {
        let counts: Vec<String> = blocks(seen)
            .iter()
            .filter_map(|(title, count)| {
                let of = title.strip_prefix(kind)?.strip_suffix("Blocks")?.trim().to_lowercase();
                (*count > 0).then(|| format!("{of}={count}"))
            })
            .collect();
        if !counts.is_empty() {
            kinds.push(format!("{} {}", kind.to_lowercase(), counts.join(" ")));
        }
    }
    if !kinds.is_empty() {
        let _ = writeln!(out, "{indent}Buffers: {}", kinds.join(", "));
    }
}

/// The reports of operators that were run.
fn observed(entry: &Entry) -> Vec<(&'static str, Value)> {
    let Some(seen) = &entry.seen else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(sort) = seen.report.sort {
        let method = match (sort.is_external, sort.is_top) {
            (true, _) => "external merge",
            (false, true) => "top-N heapsort",
            (false, false) => "quicksort",
        };
        found.push(("Sort Method", Value::Text(method.to_owned())));
        found.push(("Sort Space Used", Value::Number(sort.bytes.div_ceil(1024))));
        let space = if sort.is_external { "Disk" } else { "Memory" };
        found.push(("Sort Space Type", Value::Text(space.to_owned())));
    }
    if seen.report.workers > 0 {
        found.push(("Workers Launched", Value::Number(seen.report.workers)));
    }
    if entry.properties.iter().any(|(title, _)| *title == "Filter") {
        let removed = seen.report.removed / seen.loops.max(1);
        found.push(("Rows Removed by Filter", Value::Number(removed)));
    }
    found
}

/// A value of a structured format.
enum Data {
    Text(String),
    /// A number or truth value, as it is written.
    Bare(String),
    Texts(Vec<String>),
    List(Vec<Data>),
    Object(Vec<(String, Data)>),
}

fn query(root: &Entry, options: &Options) -> Data {
    let mut fields = vec![("Plan".to_owned(), plan(root, options))];
    if !options.settings.is_empty() {
        let list = options.settings.iter();
        let list = list.map(|(name, value)| (name.clone(), Data::Text(value.clone())));
        fields.push(("Settings".to_owned(), Data::Object(list.collect())));
    }
    if let Some(ms) = options.planning_ms {
        fields.push(("Planning Time".to_owned(), Data::Bare(format!("{ms:.3}"))));
    }
    if options.analyze {
        fields.push(("Triggers".to_owned(), Data::List(Vec::new())));
    }
    if let Some(ms) = options.execution_ms {
        fields.push(("Execution Time".to_owned(), Data::Bare(format!("{ms:.3}"))));
    }
    Data::Object(fields)
}

fn data(value: &Value) -> Data {
    match value {
        Value::Text(text) => Data::Text(text.clone()),
        Value::List(list) => Data::Texts(list.clone()),
        Value::Number(number) => Data::Bare(number.to_string()),
        Value::Bool(value) => Data::Bare(value.to_string()),
    }
}

fn plan(entry: &Entry, options: &Options) -> Data {
    let mut fields: Vec<(String, Data)> = Vec::new();
    let mut put = |name: &str, value: Data| fields.push((name.to_owned(), value));
    let (first, others) = entry.facts.split_at(entry.facts.len().min(1));
    first.iter().for_each(|(name, value)| put(name, data(value)));
    let is_strategy = |name: &str| ["Strategy", "Operation", "Command"].contains(&name);
    for (name, value) in others.iter().filter(|(name, _)| is_strategy(name)) {
        put(name, data(value));
    }
    if !entry.relationship.is_empty() {
        put("Parent Relationship", Data::Text(entry.relationship.to_owned()));
    }
    if let Some(subplan) = &entry.subplan {
        put("Subplan Name", Data::Text(subplan.clone()));
    }
    put("Parallel Aware", Data::Bare("false".to_owned()));
    put("Async Capable", Data::Bare("false".to_owned()));
    for (name, value) in others.iter().filter(|(name, _)| !is_strategy(name)) {
        put(name, data(value));
    }
    if options.costs {
        put("Startup Cost", Data::Bare(format!("{:.2}", entry.cost.0)));
        put("Total Cost", Data::Bare(format!("{:.2}", entry.cost.1)));
        put("Plan Rows", Data::Bare(format!("{}", entry.rows.round())));
        put("Plan Width", Data::Bare(entry.width.to_string()));
    }
    if let Some(seen) = &entry.seen {
        let loops = seen.loops.max(1) as f64;
        if options.timing {
            let ms = |us: u64| Data::Bare(format!("{:.3}", us as f64 / 1_000.0 / loops));
            put("Actual Startup Time", ms(seen.startup_us));
            put("Actual Total Time", ms(seen.total_us));
        }
        put("Actual Rows", Data::Bare(format!("{}", (seen.rows as f64 / loops).round())));
        put("Actual Loops", Data::Bare(seen.loops.to_string()));
    }
    entry.properties.iter().for_each(|(name, value)| put(name, data(value)));
    observed(entry).iter().for_each(|(name, value)| put(name, data(value)));
    if let Some(seen) = entry.seen.filter(|_| options.buffers) {
        blocks(&seen.blocks)
            .iter()
            .for_each(|(name, count)| put(name, Data::Bare(count.to_string())));
    }
    if !entry.below.is_empty() {
        let below = entry.below.iter().map(|below| plan(below, options)).collect();
        put("Plans", Data::List(below));
    }
    Data::Object(fields)
}

/// A text as a string of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out + "\""
}

fn json(value: &Data, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Data::Text(text) => out.push_str(&quoted(text)),
        Data::Bare(text) => out.push_str(text),
        Data::Texts(list) => {
            let list: Vec<String> = list.iter().map(|text| quoted(text)).collect();
            let _ = write!(out, "[{}]", list.join(", "));
        }
        Data::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                let _ = write!(out, "{}\n{indent}  ", if at > 0 { "," } else { "" });
                json(item, depth + 1, out);
            }
            let _ = write!(out, "\n{indent}]");
        }
        Data::Object(fields) => {
            out.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                let comma = if at > 0 { "," } else { "" };
                let _ = write!(out, "{comma}\n{indent}  {}: ", quoted(name));
                json(value, depth + 1, out);
            }
            let _ = write!(out, "\n{indent}}}");
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn xml(value: &Data, depth: usize, out: &mut String) {
    let Data::Object(fields) = value else { return };
    let indent = "  ".repeat(depth);
    for (name, value) in fields {
        let tag = name.replace(' ', "-");
        match value {
            Data::Text(text) | Data::Bare(text) => {
                let _ = writeln!(out, "{indent}<{tag}>{}</{tag}>", escaped(text));
            }
            Data::Texts(list) => {
                let _ = writeln!(out, "{indent}<{tag}>");
                for item in list {
                    let _ = writeln!(out, "{indent}  <Item>{}</Item>", escaped(item));
                }
                let _ = writeln!(out, "{indent}</{tag}>");
            }
            Data::List(list) => {
                let _ = writeln!(out, "{indent}<{tag}>");
                for item in list {
                    let _ = writeln!(out, "{indent}  <Plan>");
                    xml(item, depth + 2, out);
                    let _ = writeln!(out, "{indent}  </Plan>");
                }
                let _ = writeln!(out, "{indent}</{tag}>");
            }
            object @ Data::Object(_) => {
                let _ = writeln!(out, "{indent}<{tag}>");
                xml(object, depth + 1, out);
                let _ = writeln!(out, "{indent}</{tag}>");
            }
        }
    }
}

fn yaml(value: &Data, depth: usize, is_item: bool, out: &mut String) {
    let Data::Object(fields) = value else { return };
    let indent = "  ".repeat(depth);
    for (at, (name, value)) in fields.iter().enumerate() {
        match is_item && at == 0 {
            true => {
                let _ = write!(out, "{}- {name}: ", "  ".repeat(depth - 1));
            }
            false => {
                let _ = write!(out, "{indent}{name}: ");
            }
        }
        match value {
            Data::Text(text) => {
                let _ = writeln!(out, "{}", quoted(text));
            }
            Data::Bare(text) => {
                let _ = writeln!(out, "{text}");
            }
            Data::Texts(list) => {
                out.push('\n');
                for item in list {
                    let _ = writeln!(out, "{indent}  - {}", quoted(item));
                }
            }
            Data::List(list) => {
                out.push('\n');
                list.iter().for_each(|item| yaml(item, depth + 2, true, out));
            }
            object @ Data::Object(_) => {
                out.push('\n');
                yaml(object, depth + 1, false, out);
            }
        }
    }
}

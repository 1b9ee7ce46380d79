//! Rows of figures: what was measured, beside whom, what it should be, and whether it is.
//!
//! ```text
//!  samples ── median ──> Row { ours, peers, floor, target, met } ──> terminal table
//!                                                               ├──> results/SUITE.json
//!                                                               └──> tables in docs/benchmarks.md
//! ```
//! Invariants: `met` is computed from the published numbers and the [`Target`], never typed in; a
//! row that was not measured has no `ours`, and then `met` is empty too.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::peer::{self, postgres};

/// All figures of one suite.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Name of the suite: `versioned`.
    pub suite: String,
    /// Small counts, for a look only: not to be published.
    #[serde(default)]
    pub quick: bool,
    /// Where and when.
    pub machine: Machine,
    /// The figures, in the order of the tables.
    pub rows: Vec<Row>,
}

/// One figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Stable name: `w2-100k`.
    pub id: String,
    /// The operation, in words.
    pub what: String,
    /// `commits/s`, `us`, `ms`, `bytes`, or `ratio`.
    pub unit: String,
    /// Anywhen, embedded.
    pub ours: Option<f64>,
    /// The others, by name.
    pub peers: BTreeMap<String, f64>,
    /// The least that the disk allows, measured in the same rounds.
    pub floor: Option<f64>,
    /// The figure to reach, in words.
    pub target: String,
    /// Whether it is reached; empty if there is none, or nothing was measured.
    pub met: Option<bool>,
    /// Our figures one after another, where the row says how they held; mostly empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<f64>,
}

/// A figure to reach, as a rule.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// At most so many units.
    AtMost(f64),
    /// At least so many units.
    AtLeast(f64),
    /// At least this share of the floor.
    OfFloor(f64),
    /// At least so many times as good as PostgreSQL (faster, smaller).
    TimesPeer(f64),
}

impl Row {
    /// A row without figures yet.
    pub fn new(id: impl Into<String>, what: impl Into<String>, unit: &str) -> Self {
        Row { id: id.into(), what: what.into(), unit: unit.to_owned(), ..Row::default() }
    }

    /// Our figure.
    pub fn ours(mut self, value: impl Into<Option<f64>>) -> Self {
        self.ours = value.into().map(rounded);
        self
    }

    /// Our figures one after another, to show the course.
    pub fn series(mut self, values: impl Iterator<Item = f64>) -> Self {
        self.series = values.map(rounded).collect();
        self
    }

    /// A peer's figure.
    pub fn peer(mut self, name: &str, value: f64) -> Self {
        self.peers.insert(name.to_owned(), rounded(value));
        self
    }

    /// The disk's floor.
    pub fn floor(mut self, value: f64) -> Self {
        self.floor = Some(rounded(value));
        self
    }

    /// The figure to reach: the words for people, the rule for `met`. Call it last.
    pub fn target(mut self, words: &str, target: Target) -> Self {
        self.target = words.to_owned();
        self.met = self.ours.and_then(|ours| match target {
            Target::AtMost(limit) => Some(ours <= limit),
            Target::AtLeast(limit) => Some(ours >= limit),
            Target::OfFloor(share) => self.floor.map(|floor| ours >= share * floor),
            Target::TimesPeer(times) => self.times_peer().map(|ratio| ratio >= times),
        });
        self
    }

    /// More is better: a rate, not a time or a size.
    pub fn more_is_better(&self) -> bool {
        self.unit.ends_with("/s")
    }

    /// The best figure of a peer other than PostgreSQL's server.
    pub fn best_other(&self) -> Option<f64> {
        let others = self.peers.iter().filter(|(name, _)| *name != postgres::NAME);
        let figures = others.map(|(_, figure)| *figure);
        if self.more_is_better() {
            figures.max_by(f64::total_cmp)
        } else {
            figures.min_by(f64::total_cmp)
        }
    }

    /// The figure of a peer.
    pub fn of(&self, name: &str) -> Option<f64> {
        self.peers.get(name).copied()
    }

    /// How many times as good as PostgreSQL we are; below 1 we lose. Ratios are not compared.
    pub fn times_peer(&self) -> Option<f64> {
        self.times(self.of(postgres::NAME)?)
    }

    /// How many times as good as a peer's figure we are, as in [`Row::times_peer`].
    pub fn times(&self, peer: f64) -> Option<f64> {
        if ["ratio", "%"].contains(&self.unit.as_str()) {
            return None;
        }
        let ours = self.ours?;
        Some(if self.more_is_better() { ours / peer } else { peer / ours })
    }
}

/// Four significant digits: more would pretend.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// The middle of the samples, or the mean of the two in the middle; NaN of none.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n.is_multiple_of(2) => f64::midpoint(sorted[half - 1], sorted[half]),
        _ => sorted[half],
    }
}

/// A count for people: thousands set apart.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A measured number, which is not negative, for people: three digits that count.
pub fn number(value: f64) -> String {
    if value >= 1_000.0 {
        count(value.round() as u64)
    } else if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else if value >= 0.995 || value == 0.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// The unit of a row for people.
pub fn unit(row: &Row) -> &str {
    if row.unit == "us" { "µs" } else { &row.unit }
}

/// A ratio for people, three digits that count: `27x`, `1.4x`, `0.62x`.
pub fn times(ratio: f64) -> String {
    if ratio >= 1_000.0 {
        let scale = 10f64.powi(ratio.log10().floor() as i32 - 2);
        format!("{}×", number((ratio / scale).round() * scale))
    } else if ratio >= 10.0 {
        format!("{ratio:.0}×")
    } else {
        format!("{ratio:.2}×")
    }
}

/// The part of the names of rows of one server, and one heading of a picture says it for all of
/// them.
pub const BY_SERVER: &str = " by a server";

/// A figure of a row that has a column of its own.
type Figure = fn(&Row) -> Option<f64>;

/// The rival that the figures of a report are compared with.
#[derive(Clone, Copy)]
pub enum Rival {
    PostgreSql,
    /// The best of the others, in a report without figures of PostgreSQL.
    BestOther,
}

impl Rival {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Rival::PostgreSql => "PostgreSQL",
            Rival::BestOther => "best of the others",
        }
    }

    /// Its figure in a row.
    pub fn figure(self, row: &Row) -> Option<f64> {
        match self {
            Rival::PostgreSql => row.of(postgres::NAME),
            Rival::BestOther => row.best_other(),
        }
    }
}

impl Report {
    /// The rival of our figures.
    pub fn rival(&self) -> Rival {
        match self.rows.iter().any(|row| row.of(postgres::NAME).is_some()) {
            true => Rival::PostgreSql,
            false => Rival::BestOther,
        }
    }

    /// The columns of the others: their headings, and the figures of a row.
    fn others(&self) -> Vec<(&'static str, Figure)> {
        let best = match self.suite.as_str() {
            "objects" => {
                return vec![
                    ("FileStorage", |row| row.of(peer::FILE_STORAGE)),
                    ("RelStorage", |row| row.of(peer::RELSTORAGE)),
                    ("zodb-pgjsonb", |row| row.of(peer::PGJSONB)),
                ];
            }
            "tpch" => "DuckDB",
            "stored" => "xz -9",
            "analytics" | "analytics-10m" => "best engine of columns",
            _ => "by client",
        };
        vec![("PostgreSQL 17", |row| row.of(postgres::NAME)), (best, Row::best_other)]
    }

    /// The headings of the columns.
    fn headings(&self) -> Vec<String> {
        // In suite `rest` the floor lies under the protocol: nothing goes to the disk.
        let floor = if self.suite == "rest" { "floor" } else { "disk's floor" };
        let times = format!("× {}", self.rival().name());
        let others = self.others();
        let mut headings = vec!["", "unit", "Anywhen"];
        headings.extend(others.iter().map(|(heading, _)| *heading));
        headings.extend([floor, &times, "to reach"]);
        headings.into_iter().map(str::to_owned).collect()
    }

    /// The cells of one row, in the order of the headings, without the verdict.
    fn cells(&self, row: &Row) -> Vec<String> {
        let optional = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
        let ratio = self.rival().figure(row).and_then(|figure| row.times(figure));
        let mut cells = vec![row.what.clone(), unit(row).to_owned(), optional(row.ours)];
        cells.extend(self.others().iter().map(|(_, figure)| optional(figure(row))));
        cells.push(optional(row.floor));
        cells.push(ratio.map_or_else(|| "-".to_owned(), times));
        cells.push(row.target.clone());
        cells
    }

    /// Whether a column has words, which go to the left; numbers go to the right.
    fn has_words(&self, column: usize) -> bool {
        column < 2 || column + 1 == self.headings().len()
    }

    /// The columns that hold anything in this report.
    fn columns(&self, cells: &[Vec<String>]) -> Vec<usize> {
        (0..self.headings().len())
            .filter(|&column| cells.iter().any(|row| row[column] != "-" && !row[column].is_empty()))
            .collect()
    }

    /// The table for a terminal; `colour` adds green, red and bold.
    pub fn terminal(&self, colour: bool) -> String {
        use owo_colors::OwoColorize;
        let cells: Vec<_> = self.rows.iter().map(|row| self.cells(row)).collect();
        let columns = self.columns(&cells);
        let headings = self.headings();
        let width = |column: usize| {
            cells
                .iter()
                .chain([&headings])
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let line = |row: &[String]| {
            let mut text = String::new();
            for &column in &columns {
                let width = width(column);
                let cell = &row[column];
                let _ = if self.has_words(column) {
                    write!(text, "{cell:<width$}  ")
                } else {
                    write!(text, "{cell:>width$}  ")
                };
            }
            text.trim_end().to_owned()
        };
        let mut out = String::new();
        let heading = line(&headings);
        let _ = if colour {
            writeln!(out, "   {}", heading.bold())
        } else {
            writeln!(out, "   {heading}")
        };
        for (row, cells) in self.rows.iter().zip(&cells) {
            let text = line(cells);
            let _ = match (row.met, colour) {
                (Some(true), true) => writeln!(out, " {} {text}", "✓".green()),
                (Some(false), true) => writeln!(out, " {} {text}", "✗".red()),
                (Some(true), false) => writeln!(out, " ✓ {text}"),
                (Some(false), false) => writeln!(out, " ✗ {text}"),
                (None, _) => writeln!(out, "   {text}"),
            };
        }
        out
    }

    /// The table for Markdown, with a line on the machine below it.
    pub fn markdown(&self) -> String {
        let cells: Vec<_> = self.rows.iter().map(|row| self.cells(row)).collect();
        let columns = self.columns(&cells);
        let line = |row: &[String], verdict: &str| {
            let mut text = String::from("|");
            for &column in &columns {
                let _ = write!(text, " {} |", row[column].replace('|', "\\|"));
            }
            text + " " + verdict + " |\n"
        };
        let mut out = line(&self.headings(), "reached");
        out.push('|');
        for &column in &columns {
            out.push_str(if self.has_words(column) { "---|" } else { "---:|" });
        }
        out.push_str("---|\n");
        for (row, cells) in self.rows.iter().zip(&cells) {
            out.push_str(&line(
                cells,
                row.met.map_or("", |met| if met { "yes" } else { "**no**" }),
            ));
        }
        let _ = write!(out, "\n{}\n", self.conditions());
        out
    }

    /// Where and when, in one line.
    pub fn conditions(&self) -> String {
        let Machine { cpu, cores, memory, disk, kernel, date, realtime, preferred, load } =
            &self.machine;
        let priority = match (realtime, preferred) {
            (true, _) => "both sides under real-time priority",
            (_, true) => "both sides before other programs (nice -20)",
            _ => "normal priority",
        };
        let quick =
            if self.quick { "; a quick run with small counts, not to be compared" } else { "" };
        format!(
            "{cpu}, {cores} cores, {memory}, {disk}, Linux {kernel}; {date}; {priority}; load {load:.1} before the run{quick}."
        )
    }
}

/// Puts `table` between `<!-- NAME -->` and `<!-- /NAME -->` in `page`; empty if they are not there.
pub fn between_markers(page: &str, name: &str, table: &str) -> Option<String> {
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let start = page.find(&open)? + open.len();
    let end = start + page[start..].find(&close)?;
    Some(format!("{}\n{}\n{}", &page[..start], table.trim_end(), &page[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row::new("w2", "whole document", "us").ours(2.0).peer(postgres::NAME, 24.0)
    }

    #[test]
    fn a_time_is_met_when_it_is_small_enough_and_a_rate_when_it_is_large_enough() {
        assert_eq!(row().target("<= 3", Target::AtMost(3.0)).met, Some(true));
        assert_eq!(row().target("<= 1", Target::AtMost(1.0)).met, Some(false));
        assert_eq!(row().target(">= 10 x", Target::TimesPeer(10.0)).met, Some(true));
        let rate = Row::new("w1", "commits", "commits/s")
            .ours(9_000.0)
            .peer(postgres::NAME, 6_000.0)
            .floor(10_000.0);
        assert_eq!(rate.times_peer(), Some(1.5));
        assert_eq!(rate.clone().target(">= 90 %", Target::OfFloor(0.9)).met, Some(true));
        assert_eq!(rate.target(">= 2 x", Target::TimesPeer(2.0)).met, Some(false));
    }

    #[test]
    fn what_was_not_measured_is_neither_met_nor_missed() {
        assert_eq!(Row::new("x", "x", "us").target("<= 3", Target::AtMost(3.0)).met, None);
        assert_eq!(
            Row::new("x", "x", "us").ours(1.0).target(">= 2 x", Target::TimesPeer(2.0)).met,
            None
        );
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn numbers_are_written_for_people() {
        let text: Vec<_> =
            [0.0, 0.0421, 1.0, 12.34, 123.4, 1234.0, 12_502_500.0].map(number).into();
        assert_eq!(text, ["0.00", "0.042", "1.00", "12.3", "123", "1,234", "12,502,500"]);
        assert_eq!([0.62, 1.4, 27.2, 1_234.0].map(times), ["0.62×", "1.40×", "27×", "1,230×"]);
        assert_eq!(rounded(12_345.678), 12_350.0);
        assert_eq!(rounded(0.001_234_56), 0.001_235);
    }

    #[test]
    fn a_report_survives_being_written_and_read() {
        let report = Report {
            suite: "versioned".into(),
            quick: true,
            machine: Machine::default(),
            rows: vec![row()],
        };
        let text = serde_json::to_string(&report).expect("a report is JSON");
        let back: Report = serde_json::from_str(&text).expect("what was written can be read");
        assert_eq!(back.rows, report.rows);
        assert!(back.quick);
    }

    #[test]
    fn tables_show_only_columns_that_hold_something() {
        let report = Report {
            suite: "x".into(),
            quick: false,
            machine: Machine::default(),
            rows: vec![row()],
        };
        let text = report.terminal(false);
        assert!(text.contains("whole document  µs") && text.contains("12×"), "{text}");
        assert!(!text.contains("floor") && !text.contains("to reach"), "{text}");
        assert!(report.markdown().starts_with(
            "|  | unit | Anywhen | PostgreSQL 17 | × PostgreSQL | reached |\n|---|---|---:|"
        ));
    }

    #[test]
    fn each_storage_of_objects_has_a_column_and_ratios_are_with_the_best_one() {
        let row = |what: &str| Row::new(what, what, "us").ours(2.0);
        let rows = vec![
            row("store").peer(peer::FILE_STORAGE, 3.0),
            row("load").peer(peer::RELSTORAGE, 40.0).peer(peer::PGJSONB, 6.0),
        ];
        let machine = Machine::default();
        let report = Report { suite: "objects".into(), quick: false, machine, rows };
        let page = report.markdown();
        let heading = "|  | unit | Anywhen | FileStorage | RelStorage | zodb-pgjsonb | × best of the others |";
        assert!(page.starts_with(heading), "{page}");
        assert!(page.contains("| store | µs | 2.00 | 3.00 | - | - | 1.50× |  |"), "{page}");
        assert!(page.contains("| load | µs | 2.00 | - | 40.0 | 6.00 | 3.00× |  |"), "{page}");
    }

    #[test]
    fn a_table_replaces_only_what_is_between_its_markers() {
        let page = "a\n<!-- t -->\nold\n<!-- /t -->\nb\n";
        assert_eq!(
            between_markers(page, "t", "new\n").as_deref(),
            Some("a\n<!-- t -->\nnew\n<!-- /t -->\nb\n")
        );
        assert_eq!(between_markers(page, "u", "new"), None);
    }
}

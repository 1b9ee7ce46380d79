//! Draws a report as one picture: for each figure, how many times as good as PostgreSQL we are; in a suite without
//! figures of PostgreSQL, as the best of the others.
//!
//! ```text
//!  W1 durable commits          0.1x        1x        10x       100x
//!    one writer, 2.4 KB                     |=====o 1.7x            3,300 | 1,900 commits/s
//!    32 writers                             |==========o 12x
//!    lost row                          o====|
//! ```
//! A logarithmic axis, because figures differ by thousands; bars grow from 1x, to the right in blue
//! where we are ahead and to the left in orange where we are behind (a pair that every kind of
//! colour vision tells apart, and direction says the same). A small mark shows the figure to reach
//! where it is a multiple of PostgreSQL. Plain SVG, no fonts but the reader's own, light background.

use std::fmt::Write;

use crate::report::{BY_SERVER, Report, Rival, Row, number, times, unit};

const WIDTH: f64 = 1_060.0;
/// Where the axis starts and ends.
const LEFT: f64 = 360.0;
const RIGHT: f64 = 820.0;
const ROW: f64 = 24.0;
const TOP: f64 = 96.0;
const AHEAD: &str = "#0072b2";
const BEHIND: &str = "#d55e00";
const INK: &str = "#1f2933";
const QUIET: &str = "#66727f";
/// The meaning of the bars.
const BARS: &str =
    "Same run, same disk, medians. Bars to the right: Anywhen ahead. Logarithmic scale.";
const GRID: &str = "#e3e8ed";

/// The part of the names of rows that one heading says for all of them.
const ON_TWO_THREADS: &str = " on two threads";

/// The part that the figures under one heading have in common.
fn section(row: &Row) -> String {
    if row.what.contains(ON_TWO_THREADS) {
        return "On two threads".into();
    }
    if row.what.ends_with(BY_SERVER) {
        return "By a server, beside RelStorage and zodb-pgjsonb".into();
    }
    let log = row.id.ends_with("-log");
    let known = match row.id.split('-').next().unwrap_or_default() {
        "w1" => "W1  durable commits",
        "w2" => "W2  a random version of the whole document",
        "w3" => "W3  the list of all versions",
        "w4" => "W4  one field over all versions",
        "w5" if log => "W5  bytes of log a version",
        "w5" => "W5  bytes a version",
        "w6" => "W6  what changed between neighbours",
        _ => row.what.split_once(", N = ").map_or("", |(_, commits)| commits),
    };
    if known.starts_with('W') || known.is_empty() {
        known.into()
    } else {
        format!("{known} commits")
    }
}

/// The picture of a report, SVG.
pub fn picture(report: &Report) -> String {
    let rival = report.rival();
    let rows: Vec<(&Row, f64)> = report
        .rows
        .iter()
        .filter_map(|row| Some((row, row.times(rival.figure(row)?)?)))
        .filter(|(_, ratio)| ratio.is_finite() && *ratio > 0.0)
        .collect();
    let exponents = rows.iter().map(|(_, ratio)| ratio.log10());
    // Always some room on the losing side, so that the line at 1x is seen to be a line.
    let low = exponents.clone().fold(-0.5, f64::min).floor().max(-4.0) as i32;
    let high = exponents.fold(1.0, f64::max).ceil() as i32;
    let x = |ratio: f64| {
        LEFT + (ratio.log10() - f64::from(low)) / f64::from(high - low) * (RIGHT - LEFT)
    };

    let mut body = String::new();
    let mut y = TOP;
    let mut heading = String::new();
    for (row, ratio) in &rows {
        if section(row) != heading {
            heading = section(row);
            y += 14.0;
            let _ = writeln!(
                body,
                r##"<text x="24" y="{:.1}" class="section">{}</text>"##,
                y + 16.0,
                escape(&heading)
            );
            y += ROW;
        }
        bar(&mut body, (row, rival), *ratio, y, &x);
        y += ROW;
    }
    // Where there is nobody to compare with, the panel below has the place of the bars.
    let axis_bottom = if rows.is_empty() { TOP - 40.0 } else { y + 6.0 };
    y = held(&mut body, report, axis_bottom);
    let height = y + 76.0;

    let mut out = String::new();
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="{}">
<style>text{{font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:13px;fill:{INK}}}.title{{font-size:20px;font-weight:600}}.section{{font-weight:600}}.quiet{{fill:{QUIET};font-size:12px}}.ratio{{font-weight:600}}</style>
<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>
<text x="24" y="36" class="title">{}</text>
<text x="24" y="58" class="quiet">{}{}</text>"##,
        escape(title(report)),
        escape(title(report)),
        if report.quick { "QUICK RUN, small counts, not to be compared. " } else { "" },
        if rows.is_empty() { "Same run, medians." } else { BARS },
    );
    if !rows.is_empty() {
        let _ = writeln!(
            out,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="end" class="quiet">Anywhen : {}</text>"##,
            WIDTH - 24.0,
            TOP - 10.0,
            rival.name(),
        );
        axis(&mut out, low, high, axis_bottom, &x);
    }
    out.push_str(&body);
    for (line, part) in report.conditions().split("; ").collect::<Vec<_>>().chunks(2).enumerate() {
        let _ = writeln!(
            out,
            r##"<text x="24" y="{:.1}" class="quiet">{}</text>"##,
            height - 58.0 + 16.0 * line as f64,
            escape(&part.join("; "))
        );
    }
    let _ = writeln!(
        out,
        r##"<rect x="24" y="{0:.1}" width="12" height="10" rx="2" fill="{AHEAD}"/><text x="42" y="{1:.1}" class="quiet">ahead</text><rect x="92" y="{0:.1}" width="12" height="10" rx="2" fill="{BEHIND}"/><text x="110" y="{1:.1}" class="quiet">behind</text><path d="M171 {0:.1}v10" stroke="{INK}" stroke-width="2"/><text x="180" y="{1:.1}" class="quiet">figure to reach, where it is a multiple of PostgreSQL</text>"##,
        height - 23.0,
        height - 14.0
    );
    out.push_str("</svg>\n");
    out
}

fn title(report: &Report) -> &'static str {
    match report.suite.as_str() {
        "versioned" => "Anywhen beside PostgreSQL 17: every version of a JSON document",
        "history" => "Anywhen beside PostgreSQL 17: long histories of a tiny document",
        "pgwire" => "Anywhen beside PostgreSQL 17: the protocol, seven workloads and pgbench",
        "rest" => "Anywhen over HTTP: part of a document of 1.71 MB, beside the floor",
        "large" => "Anywhen beside PostgreSQL 17: what a large transaction does to the others",
        "tpch" => {
            "Anywhen beside PostgreSQL 17: the 22 queries of TPC-H in tables of rows, one thread"
        }
        "analytics" => {
            "Anywhen beside PostgreSQL 17: ten questions over 1,000,000 events in columns, one thread"
        }
        "analytics-10m" => {
            "Anywhen beside three engines: ten questions over 10,000,000 events in columns"
        }
        "tables" => {
            "Anywhen beside PostgreSQL 17: indexes of large tables, and data beyond the cache"
        }
        "plans" => "Anywhen beside PostgreSQL 17: making plans, and keeping them",
        "objects" => "Anywhen beside FileStorage, RelStorage and zodb-pgjsonb: the objects of ZODB",
        "stored" => "Anywhen beside xz -9: the histories of three documents on disk",
        _ => "Anywhen beside PostgreSQL 17",
    }
}

/// The panel of ratios that should stay near 1, below the others, on a scale of its own; returns
/// where it ends.
fn held(out: &mut String, report: &Report, top: f64) -> f64 {
    let rows: Vec<(&Row, f64)> =
        report.rows.iter().filter_map(|row| Some((row, near_one(row)?))).collect();
    if rows.is_empty() {
        return top;
    }
    const SCALE_MAX: f64 = 2.0;
    let x = |ratio: f64| LEFT + ratio.clamp(0.0, SCALE_MAX) / SCALE_MAX * (RIGHT - LEFT);
    let (mut y, first) = (top + 60.0, top + 56.0);
    let bottom = y + rows.len() as f64 * ROW + 6.0;
    let _ = writeln!(
        out,
        r##"<text x="24" y="{:.1}" class="section">{}: 1 is the same, orange misses the goal</text>"##,
        top + 28.0,
        match report.suite.as_str() {
            "pgwire" =>
                "How far from the floor?  Median latencies against those of a server that does nothing",
            "rest" =>
                "Rates against those of the floor; and what is kept beside a writer, and after revisions",
            "tpch" => "Geometric means of the 22 queries: our time by that of the peer",
            _ => "Does it stay as it was?  Long histories against short ones",
        }
    );
    for (at, label) in [(0.0, "0"), (0.5, "0.5"), (1.0, "1"), (1.5, "1.5"), (2.0, "2 or more")] {
        let (colour, width) = if at == 1.0 { (INK, 1.5) } else { (GRID, 1.0) };
        let at = x(at);
        let _ = writeln!(
            out,
            r##"<path d="M{at:.1} {first:.1}V{bottom:.1}" stroke="{colour}" stroke-width="{width}"/><text x="{at:.1}" y="{:.1}" text-anchor="middle" class="quiet">{label}</text>"##,
            first - 6.0
        );
    }
    for (row, ratio) in rows {
        let colour = if row.met == Some(false) { BEHIND } else { AHEAD };
        let name = row.what.split(": time at").next().unwrap_or(&row.what);
        let name = name.split(": our time").next().unwrap_or(name);
        let _ = writeln!(out, r##"<text x="36" y="{:.1}">{}</text>"##, y + 16.0, escape(name));
        let _ = writeln!(
            out,
            r##"<circle cx="{:.1}" cy="{:.1}" r="6" fill="{colour}"/>"##,
            x(ratio),
            y + 12.0
        );
        let _ = writeln!(
            out,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="end" class="quiet">{} (to reach: {})</text>"##,
            WIDTH - 24.0,
            y + 16.0,
            number(ratio),
            escape(&row.target)
        );
        y += ROW;
    }
    bottom
}

/// The ratio of a row that should stay near 1: a ratio, or a rate by that of a floor of which it is to
/// reach a share.
fn near_one(row: &Row) -> Option<f64> {
    match (row.unit.as_str(), row.floor) {
        ("ratio", _) => row.ours,
        ("requests/s", Some(floor)) => row.ours.map(|ours| ours / floor),
        _ => None,
    }
}

/// Lines at the powers of ten, thin, and the strong one at 1x.
fn axis(out: &mut String, low: i32, high: i32, bottom: f64, x: &dyn Fn(f64) -> f64) {
    let step = ((high - low) / 7 + 1).max(1);
    for exponent in (low..=high).filter(|exponent| exponent % step == 0) {
        let (at, ratio) = (x(10f64.powi(exponent)), 10f64.powi(exponent));
        let (colour, width) = if exponent == 0 { (INK, 1.5) } else { (GRID, 1.0) };
        let label = if exponent < 0 {
            format!("1/{}", 10u64.pow(exponent.unsigned_abs()))
        } else {
            number(ratio).trim_end_matches(".00").trim_end_matches(".0").to_owned() + "×"
        };
        let _ = writeln!(
            out,
            r##"<path d="M{at:.1} {:.1}V{bottom:.1}" stroke="{colour}" stroke-width="{width}"/>"##,
            TOP - 4.0
        );
        let _ = writeln!(
            out,
            r##"<text x="{at:.1}" y="{:.1}" text-anchor="middle" class="quiet">{label}</text>"##,
            TOP - 10.0
        );
    }
}

/// One row: its name, its bar, its ratio, and both figures in grey.
fn bar(out: &mut String, (row, rival): (&Row, Rival), ratio: f64, y: f64, x: &dyn Fn(f64) -> f64) {
    let (one, end) = (x(1.0), x(ratio));
    let (start, width, colour) =
        if ratio >= 1.0 { (one, end - one, AHEAD) } else { (end, one - end, BEHIND) };
    let _ = writeln!(out, r##"<text x="36" y="{:.1}">{}</text>"##, y + 16.0, escape(&label(row)));
    let _ = writeln!(
        out,
        r##"<rect x="{start:.1}" y="{:.1}" width="{:.1}" height="14" rx="2" fill="{colour}"/>"##,
        y + 4.0,
        width.max(1.5)
    );
    // The label stands clear of the mark of the figure to reach.
    let goal = goal(row).map(x);
    let clear = |at: f64| {
        if goal.is_some_and(|goal| (at - 4.0..at + 40.0).contains(&goal)) {
            goal.unwrap_or(at)
        } else {
            at
        }
    };
    let (at, anchor) =
        if ratio >= 1.0 { (clear(end) + 6.0, "start") } else { (start - 6.0, "end") };
    let _ = writeln!(
        out,
        r##"<text x="{at:.1}" y="{:.1}" text-anchor="{anchor}" class="ratio">{}</text>"##,
        y + 16.0,
        times(ratio)
    );
    if let Some(goal) = goal {
        let _ = writeln!(
            out,
            r##"<path d="M{goal:.1} {:.1}v18" stroke="{INK}" stroke-width="2"/>"##,
            y + 2.0
        );
    }
    if let (Some(ours), Some(peer)) = (row.ours, rival.figure(row)) {
        let figures = format!("{} : {} {}", number(ours), number(peer), unit(row));
        let _ = writeln!(
            out,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="end" class="quiet">{}</text>"##,
            WIDTH - 24.0,
            y + 16.0,
            escape(&figures)
        );
    }
}

/// The multiple of PostgreSQL that is to be reached, if the target is one.
fn goal(row: &Row) -> Option<f64> {
    let (multiple, _) = row.target.strip_prefix("≥ ")?.split_once(" × PostgreSQL")?;
    multiple.parse().ok()
}

/// The row's name without what its section already says.
fn label(row: &Row) -> String {
    let text = row.what.split_once(", N = ").map_or(row.what.as_str(), |(before, _)| before);
    let mut text = text.to_owned();
    for said in [
        " (PostgreSQL: top level only)",
        " (PostgreSQL: without)",
        "W1 durable commits, ",
        "W2 a random version ",
        "W3 ",
        "W4 a field that ",
        "W5 bytes a version after a checkpoint, ",
        "W5 bytes a version, ",
        "W5 log bytes a version, ",
        "W6 diff of neighbours by node, ",
        "over all ",
        "whole, ",
        ON_TWO_THREADS,
        BY_SERVER,
    ] {
        text = text.replace(said, "");
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::peer::postgres;
    use crate::report::Target;

    fn report() -> Report {
        let rows = vec![
            Row::new("w1-2k", "W1 durable commits, one writer, 2.4 KB", "commits/s")
                .ours(9_000.0)
                .peer(postgres::NAME, 6_000.0)
                .target("≥ 2 × PostgreSQL", Target::TimesPeer(2.0)),
            Row::new("w2-2k", "W2 a random version by revision, whole, 2.4 KB", "us")
                .ours(48.0)
                .peer(postgres::NAME, 24.0),
            Row::new("open", "no peer", "us").ours(1.0),
        ];
        Report { suite: "versioned".into(), quick: false, machine: Machine::default(), rows }
    }

    #[test]
    fn a_bar_goes_right_where_we_are_ahead_and_left_where_we_are_behind() {
        let svg = picture(&report());
        assert_eq!(
            (svg.matches(AHEAD).count(), svg.matches(BEHIND).count()),
            (2, 2),
            "one bar each, and the key"
        );
        assert!(svg.contains("1.50×") && svg.contains("0.50×"), "{svg}");
        assert!(!svg.contains("no peer"), "a row without a peer has no ratio");
    }

    #[test]
    fn without_postgresql_the_bars_compare_with_the_best_of_the_others() {
        let row =
            Row::new("q1", "Q1: count", "ms").ours(2.0).peer("hyper", 8.0).peer("duckdb", 6.0);
        let on_two =
            Row::new("q1-2", "Q1 on two threads: count", "ms").ours(1.0).peer("hyper", 2.0);
        let rows = vec![row, Row::new("alone", "nobody else", "ms").ours(1.0), on_two];
        let svg = picture(&Report { rows, suite: "analytics-10m".into(), ..report() });
        assert!(svg.contains("3.00×") && svg.contains("2.00 : 6.00 ms"), "{svg}");
        assert!(svg.contains("Anywhen : best of the others") && !svg.contains("nobody else"));
        assert!(svg.contains(">On two threads<") && svg.matches(">Q1: count<").count() == 2);
        let mut with_postgres = report();
        with_postgres.rows.push(Row::new("q2", "nobody else", "ms").ours(1.0).peer("hyper", 2.0));
        assert!(!picture(&with_postgres).contains("nobody else"));
    }

    #[test]
    fn the_picture_is_well_formed_and_needs_nothing_from_elsewhere() {
        let svg = picture(&report());
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        assert_eq!(svg.matches("http").count(), 1, "only the name of the format");
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }
}

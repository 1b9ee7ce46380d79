//! Writes what was measured where people look: JSON and pictures in `bench/results`, and the tables
//! of `docs/benchmarks.md`, which are generated between markers and never edited by hand.

use std::fs;
use std::path::Path;

use crate::report::{Report, between_markers};
use crate::{Result, plot};

/// The suites in the order in which they are published.
const SUITES: [&str; 12] = [
    "versioned",
    "history",
    "pgwire",
    "rest",
    "large",
    "tpch",
    "analytics",
    "analytics-10m",
    "plans",
    "tables",
    "objects",
    "stored",
];

/// Writes `SUITE.json` and `SUITE.svg` into `folder`.
pub fn results(report: &Report, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let json = serde_json::to_string_pretty(report)? + "\n";
    fs::write(folder.join(format!("{}.json", report.suite)), json)?;
    Ok(fs::write(folder.join(format!("{}.svg", report.suite)), plot::picture(report))?)
}

/// Draws every suite that has results, and fills its table in `docs/benchmarks.md`; `home` is `bench`.
pub fn all(home: &Path) -> Result<()> {
    let page_path = home.join("../docs/benchmarks.md");
    let mut page = fs::read_to_string(&page_path)?;
    for suite in SUITES {
        let Ok(text) = fs::read_to_string(home.join("results").join(format!("{suite}.json")))
        else {
            continue;
        };
        let report: Report = serde_json::from_str(&text)?;
        fs::write(home.join("results").join(format!("{suite}.svg")), plot::picture(&report))?;
        page = between_markers(&page, suite, &report.markdown()).ok_or_else(|| {
            format!("{} has no place for the table of {suite}", page_path.display())
        })?;
    }
    Ok(fs::write(page_path, page)?)
}

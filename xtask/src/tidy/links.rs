//! Links between the Markdown files of the project lead somewhere.
//!
//! Checked are relative links to files and folders, and `#anchors` of headings
//! in this file or another. Addresses on the web are left alone: a test must
//! not depend on the network.

use super::modules::normal;
use super::{Finding, Tree};

/// Every relative link of every Markdown file resolves.
pub(super) fn resolve(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending("md") {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in targets(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file =
                if file.is_empty() { path.to_owned() } else { normal(&format!("{folder}/{file}")) };
            if !exists(tree, &file) {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("the link `{target}` leads to no file"),
                ));
            } else if let (false, Some(text)) = (anchor.is_empty(), tree.get(&file))
                && file.ends_with(".md")
                && !anchors(text).iter().any(|known| known == anchor)
            {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{file}` has no heading for `#{anchor}`"),
                ));
            }
        }
    }
    findings
}

/// True for a file, and for a folder that holds one.
fn exists(tree: &Tree, path: &str) -> bool {
    let inside = format!("{path}/");
    path.is_empty()
        || tree.get(path).is_some()
        || tree.others.contains(path)
        || tree.iter().any(|(known, _)| known.starts_with(&inside))
}

/// The targets of `[text](target)` outside code, with their lines.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        for (offset, _) in line.match_indices("](") {
            // An odd number of backticks before it: inside `code`.
            if line[..offset].matches('`').count() % 2 == 1
                && line[offset..].contains('`')
                && !line[..offset].ends_with('`')
            {
                continue;
            }
            let rest = &line[offset + 2..];
            if let Some(end) = rest.find(')') {
                let target = rest[..end].split_whitespace().next().unwrap_or("");
                found.push((number + 1, target.trim_matches(['<', '>'])));
            }
        }
    }
    found
}

/// The anchors of the headings of a Markdown file, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced || !line.starts_with('#') {
            continue;
        }
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let anchor: String = heading
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect();
        let same = found.iter().filter(|known| **known == anchor).count();
        if same > 0 {
            found.push(format!("{anchor}-{same}"));
        }
        found.push(anchor);
    }
    found
}

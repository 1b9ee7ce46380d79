//! Paths in which `*`, `?` and `[...]` stand for several files.
//!
//! A pattern stands in any part of a path: `2026/*/part-?.parquet`. None of them matches a `/`, nor the dot that a
//! hidden name begins with. Files come in the order of their names.

use std::path::{Component, Path, PathBuf};

use interchange::could_not;
use types::{Error, Result, SqlState};
use vfs::Env;

/// The files that a path means; at least one.
///
/// # Errors
/// 58P01 where there is none.
pub(super) fn expand(env: &Env, path: &str) -> Result<Vec<PathBuf>> {
    let plain = PathBuf::from(path);
    if !path.contains(['*', '?', '[']) || env.fs.exists(&plain).unwrap_or(false) {
        return Ok(vec![plain]);
    }
    let mut found = vec![PathBuf::new()];
    for component in Path::new(path).components() {
        let mut next = Vec::new();
        for folder in found {
            match component {
                Component::Normal(name) if has_pattern(&name.to_string_lossy()) => {
                    matching(env, &folder, &name.to_string_lossy(), &mut next)?;
                }
                component => next.push(folder.join(component)),
            }
        }
        found = next;
    }
    found.retain(|path| env.fs.exists(path).unwrap_or(false));
    if found.is_empty() {
        let message = format!("no file matches \"{path}\"");
        return Err(Error::new(SqlState::UNDEFINED_FILE, message));
    }
    Ok(found)
}

fn has_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

fn matching(env: &Env, folder: &Path, pattern: &str, out: &mut Vec<PathBuf>) -> Result<()> {
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = match env.fs.list(listed) {
        Ok(names) => names,
        // A pattern before it may have matched a file where a folder was meant.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(()),
        Err(error) => return Err(could_not("read", listed, &error)),
    };
    let pattern: Vec<char> = pattern.chars().collect();
    for path in names {
        let Some(name) = path.file_name() else { continue };
        let letters: Vec<char> = name.to_string_lossy().chars().collect();
        let is_hidden = letters.first() == Some(&'.') && pattern.first() != Some(&'.');
        if !is_hidden && matches(&pattern, &letters) {
            out.push(folder.join(name));
        }
    }
    Ok(())
}

/// True if a name has the form of a pattern.
fn matches(pattern: &[char], name: &[char]) -> bool {
    // Where the last star stands, and how far the name had come there: what follows it is tried again from the
    // next letter on. So the time is the product of the two lengths at most.
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < name.len() {
        match step(&pattern[at..], name[seen]) {
            Step::Star => {
                star = Some((at, seen));
                at += 1;
                continue;
            }
            Step::Yes(length) => {
                (at, seen) = (at + length, seen + 1);
                continue;
            }
            Step::No => {}
        }
        let Some((place, from)) = star else { return false };
        star = Some((place, from + 1));
        (at, seen) = (place + 1, from + 1);
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

enum Step {
    Star,
    /// The letter fits a part of the pattern that is so long.
    Yes(usize),
    No,
}

fn step(pattern: &[char], letter: char) -> Step {
    match pattern.first() {
        None => Step::No,
        Some('*') => Step::Star,
        Some('?') => Step::Yes(1),
        Some('[') => {
            let Some(end) = pattern.iter().skip(2).position(|other| *other == ']') else {
                return if letter == '[' { Step::Yes(1) } else { Step::No };
            };
            let set = &pattern[1..end + 2];
            let (is_not, set) = match set {
                ['!' | '^', rest @ ..] if !rest.is_empty() => (true, rest),
                set => (false, set),
            };
            let (mut at, mut found) = (0, false);
            while at < set.len() {
                if let [low, '-', high, ..] = &set[at..] {
                    found |= (*low..=*high).contains(&letter);
                    at += 3;
                } else {
                    found |= set[at] == letter;
                    at += 1;
                }
            }
            if found != is_not { Step::Yes(end + 3) } else { Step::No }
        }
        Some(other) => {
            if *other == letter {
                Step::Yes(1)
            } else {
                Step::No
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns match what a shell's would.
    #[test]
    fn patterns() {
        let check = |pattern: &str, name: &str| {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            matches(&letters(pattern), &letters(name))
        };
        for (pattern, name) in [
            ("*", ""),
            ("a*c", "abbbc"),
            ("*.csv", "x.csv"),
            ("part-?.parquet", "part-7.parquet"),
            ("[a-c]x", "bx"),
            ("[!a]x", "bx"),
            ("[]x]", "]"),
            ("a[", "a["),
            ("*a*b*", "xxaxxbxx"),
        ] {
            assert!(check(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("a*c", "abcd"), ("?", ""), ("[a-c]", "d"), ("[!a]", "a"), ("*.csv", "x.csv.gz")]
        {
            assert!(!check(pattern, name), "{pattern} {name}");
        }
    }
}

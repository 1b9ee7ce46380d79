//! Help on the statements of SQL, from `commands.txt`: the output of `\h`, and the grammar by which the
//! shell completes.
//!
//! ```text
//!   # NAME                  a command, and what it does in the next line
//!   | CREATE ... [ ... ]    its syntax: [optional] {one | of | these} repeated ... [, ...]
//!   = CREATE ...            an example
//!   ~ rule                  a part of the syntax that several commands share
//! ```
//!
//! In the syntax a word in capitals is a keyword, and a word in small letters is a rule or a place for a name or
//! a value ([`grammar::Slot`]).

pub(super) mod grammar;

use std::sync::LazyLock;

/// A command of SQL.
#[derive(Debug)]
pub(super) struct Topic {
    pub(super) name: &'static str,
    about: &'static str,
    syntax: Vec<&'static str>,
    example: &'static str,
}

/// A part of the syntax.
#[derive(Debug)]
struct Rule {
    name: &'static str,
    syntax: Vec<&'static str>,
}

/// All commands and rules.
#[derive(Debug, Default)]
pub(super) struct Manual {
    pub(super) topics: Vec<Topic>,
    rules: Vec<Rule>,
}

/// The width that the list of commands takes at most.
const LIST_WIDTH: usize = 78;

/// The commands and rules of `commands.txt`.
pub(super) fn manual() -> &'static Manual {
    static MANUAL: LazyLock<Manual> = LazyLock::new(|| Manual::read(include_str!("commands.txt")));
    &MANUAL
}

impl Manual {
    fn read(text: &'static str) -> Manual {
        let mut manual = Manual::default();
        let mut in_rule = false;
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (mark, rest) = line.split_at(line.len().min(2));
            match (mark, manual.topics.last_mut(), manual.rules.last_mut()) {
                ("# ", ..) => {
                    let (about, syntax, example) = ("", Vec::new(), "");
                    manual.topics.push(Topic { name: rest, about, syntax, example });
                }
                ("~ ", ..) => {
                    manual.rules.push(Rule { name: rest, syntax: Vec::new() });
                    in_rule = true;
                }
                ("| ", _, Some(rule)) if in_rule => rule.syntax.push(rest),
                ("| ", Some(topic), _) => topic.syntax.push(rest),
                ("= ", Some(topic), _) => topic.example = rest,
                (_, Some(topic), _) => topic.about = line,
                _ => {}
            }
        }
        manual
    }

    /// The syntax of a rule; that of a query is the syntax of `SELECT`.
    fn rule(&self, name: &str) -> Option<&[&'static str]> {
        if name == "query" {
            let topic = self.topics.iter().find(|topic| topic.name == "SELECT");
            return topic.map(|topic| &topic.syntax[..]);
        }
        self.rules.iter().find(|rule| rule.name == name).map(|rule| &rule.syntax[..])
    }

    /// The output of `\h` for `words`: a list of the commands where there are none, else the commands
    /// that begin so. If no command does, the last word is left out, and so on.
    pub(super) fn help(&self, words: &str) -> String {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase();
        if words.is_empty() {
            return self.list();
        }
        let mut begin = words.as_str();
        loop {
            let exact = self.topics.iter().filter(|topic| topic.name == begin || begin == "*");
            let found: Vec<&Topic> = match exact.collect::<Vec<_>>() {
                none if none.is_empty() => {
                    self.topics.iter().filter(|topic| topic.name.starts_with(begin)).collect()
                }
                exact => exact,
            };
            if !found.is_empty() {
                let pages: Vec<String> = found.into_iter().map(|topic| self.page(topic)).collect();
                return pages.join("\n");
            }
            match begin.rsplit_once(' ') {
                Some((shorter, _)) => begin = shorter,
                None => return format!("There is no help on {words}: \\h lists the commands.\n"),
            }
        }
    }

    fn list(&self) -> String {
        let widest = self.topics.iter().map(|topic| topic.name.len()).max().unwrap_or(0) + 2;
        let columns = (LIST_WIDTH / widest).max(1);
        let rows = self.topics.len().div_ceil(columns);
        let mut out = "Help on a command: \\h NAME\n".to_owned();
        for row in 0..rows {
            let names = self.topics[row..].iter().step_by(rows).map(|topic| topic.name);
            let line: String = names.map(|name| format!("{name:widest$}")).collect();
            out += &format!("  {}\n", line.trim_end());
        }
        out
    }

    fn page(&self, topic: &Topic) -> String {
        let mut out =
            format!("Command:     {}\nDescription: {}\nSyntax:\n", topic.name, topic.about);
        let mut shown: Vec<&str> = Vec::new();
        let mut next: Vec<&[&str]> = vec![&topic.syntax];
        let mut at = 0;
        while at < next.len() {
            for line in next[at] {
                out += &format!("  {line}\n");
            }
            at += 1;
            // The rules that have been named so far, each once, in the order in which they are named.
            for word in next[at - 1].iter().flat_map(|line| grammar::words(line)) {
                if !shown.contains(&word) && self.rules.iter().any(|rule| rule.name == word) {
                    shown.push(word);
                    next.extend(self.rule(word));
                }
            }
            if let Some(name) = shown.get(at - 1) {
                out += &format!("\n{name}:\n");
            }
        }
        out + &format!("\nExample:\n  {};\n", topic.example)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_finds_commands_by_their_first_words() {
        let help = |words: &str| manual().help(words);
        assert!(help("").contains("  ABORT ") && help("").contains("CREATE MATERIALIZED VIEW"));
        assert!(help("").lines().all(|line| line.len() <= LIST_WIDTH + 2), "{}", help(""));
        let select = help("select");
        assert!(select.starts_with("Command:     SELECT\nDescription: read rows"), "{select}");
        assert!(select.contains("\nmoment:\n  {FOR SYSTEM_TIME"), "{select}");
        assert_eq!(help("create  table ").matches("Command: ").count(), 1);
        assert_eq!(help("begin work").matches("Command:     BEGIN").count(), 1);
        assert!(help("drop").matches("Command:     DROP ").count() > 10);
        assert_eq!(help("*").matches("Command: ").count(), manual().topics.len());
        assert_eq!(help("fly"), "There is no help on FLY: \\h lists the commands.\n");
    }

    /// A command whose line was forgotten would be shown without it.
    #[test]
    fn every_command_has_its_parts() {
        for topic in &manual().topics {
            let whole = !topic.about.is_empty() && !topic.syntax.is_empty();
            assert!(whole && !topic.example.is_empty(), "{topic:?}");
        }
        let names: Vec<&str> = manual().topics.iter().map(|topic| topic.name).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
}

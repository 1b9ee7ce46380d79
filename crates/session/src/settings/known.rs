//! The known settings: a table of lines in `known.txt`, read once.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

/// A setting.
#[derive(Debug)]
pub struct Known {
    /// Its name, as it is shown.
    pub name: &'static str,
    /// The values that it takes.
    pub kind: Kind,
    /// The roles that may set it, and when.
    pub scope: Scope,
    /// The unit of its numbers; [`Unit::None`] where they are plain.
    pub unit: Unit,
    /// The least value of a number, in the unit.
    pub least: f64,
    /// The greatest.
    pub most: f64,
    /// The value where nothing else is said, as text.
    pub default: &'static str,
    /// The words that an enumeration takes.
    pub words: Vec<&'static str>,
}

/// The values that a setting takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `on` and `off`.
    Bool,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Real,
    /// Any text, or what the setting itself checks.
    Text,
    /// One of some words.
    Enum,
}

/// The roles that may set it, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Anybody, at any time.
    User,
    /// Superusers, at any time.
    Superuser,
    /// When a session starts.
    Backend,
    /// When the server starts.
    Server,
    /// No role: the setting is read-only.
    Internal,
}

/// The unit of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nothing in particular.
    None,
    /// Bytes.
    Bytes,
    /// 1024 bytes.
    Kilobytes,
    /// 8192 bytes.
    Blocks,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// As `pg_settings` names it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Bytes => "B",
            Unit::Kilobytes => "kB",
            Unit::Blocks => "8kB",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
        }
    }
}

impl Scope {
    /// As `pg_settings` names it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Superuser => "superuser",
            Scope::Backend => "backend",
            Scope::Server => "postmaster",
            Scope::Internal => "internal",
        }
    }
}

impl Kind {
    /// As `pg_settings` names it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Integer => "integer",
            Kind::Real => "real",
            Kind::Text => "string",
            Kind::Enum => "enum",
        }
    }
}

/// All settings, in the order of their names without regard to case.
pub fn all() -> &'static [Known] {
    static ALL: LazyLock<Vec<Known>> = LazyLock::new(|| {
        let lines = include_str!("known.txt").lines();
        lines.filter(|line| !line.starts_with('#')).map(read).collect()
    });
    &ALL
}

/// The place of a setting in [`all`], by its name in any case.
pub fn find(name: &str) -> Option<usize> {
    static BY_NAME: LazyLock<HashMap<String, usize, FixedState>> = LazyLock::new(|| {
        let all = all().iter().enumerate();
        all.map(|(place, known)| (known.name.to_ascii_lowercase(), place)).collect()
    });
    BY_NAME.get(name).or_else(|| BY_NAME.get(&name.to_ascii_lowercase())).copied()
}

fn read(line: &'static str) -> Known {
    let fields: Vec<&str> = line.split('|').collect();
    let &[name, kind, scope, unit, least, most, default, words] = fields.as_slice() else {
        panic!("a setting has eight fields: {line}");
    };
    let number = |text: &str, open| match text {
        "" => open,
        text => text.parse().unwrap_or_else(|_| panic!("no number: {line}")),
    };
    Known {
        name,
        kind: match kind {
            "bool" => Kind::Bool,
            "integer" => Kind::Integer,
            "real" => Kind::Real,
            "string" => Kind::Text,
            _ => Kind::Enum,
        },
        scope: match scope {
            "user" => Scope::User,
            "superuser" => Scope::Superuser,
            "backend" => Scope::Backend,
            "server" => Scope::Server,
            _ => Scope::Internal,
        },
        unit: match unit {
            "B" => Unit::Bytes,
            "kB" => Unit::Kilobytes,
            "8kB" => Unit::Blocks,
            "ms" => Unit::Milliseconds,
            "s" => Unit::Seconds,
            _ => Unit::None,
        },
        least: number(least, f64::MIN),
        most: number(most, f64::MAX),
        default,
        words: words.split(',').filter(|word| !word.is_empty()).collect(),
    }
}

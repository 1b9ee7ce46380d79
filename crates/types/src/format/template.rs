//! Templates for dates and times, taken apart.
//!
//! ```text
//!   F M D a y   t h ,     " a t "     H H 2 4
//!   Field Day FM      Separator  Char Char  Field Hour24
//!                         Space
//! ```
//!
//! Fields are found by their longest name. Before a field may stand `FM` and `TM`, behind it `TH` or
//! `th`. Characters in double quotes are text, like everything that is no field.

/// A template for `to_char`, `to_timestamp` and `to_date`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DateTemplate {
    pub(super) nodes: Vec<Node>,
    /// True for the template without characters.
    pub(super) is_empty: bool,
}

/// A piece of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Node {
    Field(FieldNode),
    /// A character of text.
    Char(char),
    /// White space.
    Space(char),
    /// Other ASCII that is neither a letter nor a digit.
    Separator(char),
}

/// A field, with what stands around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FieldNode {
    pub(super) field: DateField,
    /// The name as it stands in the template, for errors.
    pub(super) name: &'static str,
    pub(super) case: Case,
    /// `FM`: no padding.
    pub(super) is_fill: bool,
    /// `TM`: names in the session's language, without padding.
    pub(super) is_translated: bool,
    /// `TH` or `th` behind it, `true` for the former.
    pub(super) ordinal: Option<bool>,
}

/// How the letters of a name are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Case {
    Upper,
    Lower,
    Capital,
}

/// The value that a field stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DateField {
    /// `A.M.`, `P.M.`
    MeridiemDots,
    /// `AM`, `PM`
    Meridiem,
    /// `A.D.`, `B.C.`
    EraDots,
    /// `AD`, `BC`
    Era,
    Century,
    DayName,
    DayShort,
    DayOfYear,
    DayOfMonth,
    DayOfWeek,
    /// The first one to six digits of a second's fraction.
    Fraction(u8),
    Milliseconds,
    Microseconds,
    /// `FX`: what is read has exactly the template's form.
    Exact,
    Hour24,
    Hour12,
    IsoDayOfYear,
    IsoDayOfWeek,
    IsoWeek,
    /// The last one to four digits of the ISO year.
    IsoYear(u8),
    Julian,
    Minute,
    Month,
    MonthName,
    MonthShort,
    Offset,
    Quarter,
    RomanMonth,
    SecondOfDay,
    Second,
    ZoneName,
    ZoneHour,
    ZoneMinute,
    WeekOfYear,
    WeekOfMonth,
    /// `Y,YYY`
    YearComma,
    /// The last one to four digits of the year.
    Year(u8),
}

/// Which calendar a field belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Calendar {
    Gregorian,
    IsoWeeks,
}

impl DateField {
    /// The calendar whose dates the field is a part of; `None` if it belongs to both.
    pub(super) fn calendar(self) -> Option<Calendar> {
        match self {
            Self::IsoDayOfYear | Self::IsoDayOfWeek | Self::IsoWeek | Self::IsoYear(_) => {
                Some(Calendar::IsoWeeks)
            }
            Self::DayOfYear
            | Self::DayOfMonth
            | Self::DayOfWeek
            | Self::Month
            | Self::MonthName
            | Self::MonthShort
            | Self::RomanMonth
            | Self::WeekOfYear
            | Self::WeekOfMonth
            | Self::YearComma
            | Self::Year(_) => Some(Calendar::Gregorian),
            _ => None,
        }
    }

    /// True if the field is written with digits, so that digits before it run into it.
    pub(super) fn is_digits(self) -> bool {
        !matches!(
            self,
            Self::MeridiemDots
                | Self::Meridiem
                | Self::EraDots
                | Self::Era
                | Self::DayName
                | Self::DayShort
                | Self::Exact
                | Self::MonthName
                | Self::MonthShort
                | Self::Offset
                | Self::RomanMonth
                | Self::ZoneName
                | Self::ZoneHour
        )
    }
}

/// The fields by their names in capital letters. Of names that begin alike the longest is first.
const FIELDS: &[(&str, DateField)] = &[
    ("A.D.", DateField::EraDots),
    ("A.M.", DateField::MeridiemDots),
    ("AD", DateField::Era),
    ("AM", DateField::Meridiem),
    ("B.C.", DateField::EraDots),
    ("BC", DateField::Era),
    ("CC", DateField::Century),
    ("DAY", DateField::DayName),
    ("DDD", DateField::DayOfYear),
    ("DD", DateField::DayOfMonth),
    ("DY", DateField::DayShort),
    ("D", DateField::DayOfWeek),
    ("FF1", DateField::Fraction(1)),
    ("FF2", DateField::Fraction(2)),
    ("FF3", DateField::Fraction(3)),
    ("FF4", DateField::Fraction(4)),
    ("FF5", DateField::Fraction(5)),
    ("FF6", DateField::Fraction(6)),
    ("FX", DateField::Exact),
    ("HH24", DateField::Hour24),
    ("HH12", DateField::Hour12),
    ("HH", DateField::Hour12),
    ("IDDD", DateField::IsoDayOfYear),
    ("ID", DateField::IsoDayOfWeek),
    ("IW", DateField::IsoWeek),
    ("IYYY", DateField::IsoYear(4)),
    ("IYY", DateField::IsoYear(3)),
    ("IY", DateField::IsoYear(2)),
    ("I", DateField::IsoYear(1)),
    ("J", DateField::Julian),
    ("MI", DateField::Minute),
    ("MM", DateField::Month),
    ("MONTH", DateField::MonthName),
    ("MON", DateField::MonthShort),
    ("MS", DateField::Milliseconds),
    ("OF", DateField::Offset),
    ("P.M.", DateField::MeridiemDots),
    ("PM", DateField::Meridiem),
    ("Q", DateField::Quarter),
    ("RM", DateField::RomanMonth),
    ("SSSSS", DateField::SecondOfDay),
    ("SSSS", DateField::SecondOfDay),
    ("SS", DateField::Second),
    ("TZH", DateField::ZoneHour),
    ("TZM", DateField::ZoneMinute),
    ("TZ", DateField::ZoneName),
    ("US", DateField::Microseconds),
    ("WW", DateField::WeekOfYear),
    ("W", DateField::WeekOfMonth),
    ("Y,YYY", DateField::YearComma),
    ("YYYY", DateField::Year(4)),
    ("YYY", DateField::Year(3)),
    ("YY", DateField::Year(2)),
    ("Y", DateField::Year(1)),
];

/// The names that may also be written with a capital letter and small ones.
const CAPITALIZED: &[(&str, &str)] =
    &[("Day", "DAY"), ("Dy", "DY"), ("Month", "MONTH"), ("Mon", "MON")];

/// The field at the front: its name in capital letters, and how its own letters are written.
fn field_at(rest: &str) -> Option<(&'static str, DateField, Case)> {
    for (name, field) in FIELDS {
        let Some(front) = rest.get(..name.len()) else { continue };
        if front == *name {
            return Some((name, *field, Case::Upper));
        }
        // All small: the letters are, and the rest of the name has no case.
        if front.eq_ignore_ascii_case(name) && !front.bytes().any(|c| c.is_ascii_uppercase()) {
            return Some((name, *field, Case::Lower));
        }
        let capitalized = CAPITALIZED.iter().find(|(_, upper)| upper == name);
        if capitalized.is_some_and(|(capitalized, _)| front == *capitalized) {
            return Some((name, *field, Case::Capital));
        }
    }
    None
}

/// True for ASCII that is neither a letter, a digit nor space.
pub(super) fn is_separator(c: char) -> bool {
    c.is_ascii_punctuation()
}

impl DateTemplate {
    /// Takes a template apart. There are no wrong ones.
    pub fn new(template: &str) -> Self {
        let mut nodes = Vec::new();
        let mut rest = template;
        while !rest.is_empty() {
            // A prefix without a field behind it means nothing, and is gone.
            let (mut is_fill, mut is_translated) = (false, false);
            if let Some(after) = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
                (rest, is_fill) = (after, true);
            } else if let Some(after) = rest.strip_prefix("TM").or_else(|| rest.strip_prefix("tm"))
            {
                (rest, is_translated) = (after, true);
            }
            if let Some((name, field, case)) = field_at(rest) {
                rest = &rest[name.len()..];
                let ordinal = match rest.get(..2) {
                    Some("TH") => Some(true),
                    Some("th") => Some(false),
                    _ => None,
                };
                // `SP`, spelled out, is known but never done.
                if ordinal.is_some() || rest.starts_with("SP") {
                    rest = &rest[2..];
                }
                let node = FieldNode { field, name, case, is_fill, is_translated, ordinal };
                nodes.push(Node::Field(node));
            } else if let Some(quoted) = rest.strip_prefix('"') {
                rest = quoted_text(quoted, |c| nodes.push(Node::Char(c)));
            } else if let Some(c) = rest.strip_prefix('\\').filter(|rest| rest.starts_with('"')) {
                nodes.push(Node::Separator('"'));
                rest = &c[1..];
            } else if let Some(c) = rest.chars().next() {
                nodes.push(match c {
                    c if is_separator(c) => Node::Separator(c),
                    c if crate::text::is_space(c) => Node::Space(c),
                    c => Node::Char(c),
                });
                rest = &rest[c.len_utf8()..];
            }
        }
        Self { nodes, is_empty: template.is_empty() }
    }
}

/// Hands out the characters of a text up to its closing quote, and gives what follows. A backslash
/// is in front of a character that means itself.
pub(super) fn quoted_text(quoted: &str, mut each: impl FnMut(char)) -> &str {
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return &quoted[at + 1..],
            '\\' => each(chars.next().map_or('\\', |(_, c)| c)),
            c => each(c),
        }
    }
    ""
}

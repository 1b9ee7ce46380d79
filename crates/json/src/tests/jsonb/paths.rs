//! The path language: texts, answers, regular expressions, limits.

use super::{Case, check, nullable, report, rows};
use crate::jsonb::pathlang::{
    Datetime, DatetimeKind, DatetimeMethod, Datetimes, Options, Path, PathError,
};
use crate::jsonb::{Jsonb, JsonbError, build_array};
use crate::text;

/// Texts become the paths that PostgreSQL prints, or are refused in its words; what is printed reads
/// back as the same path.
#[test]
fn paths_are_read_and_written() {
    check(include_str!("paths.txt"), |case| {
        let printed = Path::parse(case.arguments[0]).map(|path| {
            let printed = path.to_string();
            assert_eq!(printed.parse(), Ok(path), "{printed}");
            printed
        });
        settle(printed)
    });
}

/// Paths find what PostgreSQL finds.
#[test]
fn paths_are_run() {
    check(include_str!("queries.txt"), |case| settle(answer(case)));
}

/// Patterns match what PostgreSQL matches.
#[test]
fn patterns_match() {
    check(include_str!("regexes.txt"), |case| settle(matched(case)));
}

fn settle(answer: Result<String, PathError>) -> String {
    answer.unwrap_or_else(|error| report(error.sqlstate(), &error, error.detail(), error.hint()))
}

fn answer(case: &Case<'_>) -> Result<String, PathError> {
    let value: Jsonb = case.arguments[0].parse()?;
    let path: Path = case.arguments[1].parse()?;
    let vars = case.arguments.get(2).map(|vars| vars.parse::<Jsonb>()).transpose()?;
    let is_operator = case.signature.starts_with("jsonb @");
    let silent = is_operator || case.arguments.get(3) == Some(&"true");
    let options = Options { vars: vars.as_ref().map(Jsonb::root), silent, ..Options::default() };
    let root = value.root();
    Ok(match case.signature.split('(').next().unwrap() {
        "jsonb_path_query" => {
            let items = path.query(root, options)?.map(|item| Ok(item.to_jsonb()?.to_string()));
            rows(items.collect::<Result<Vec<_>, PathError>>()?.into_iter())
        }
        "jsonb_path_exists" | "jsonb @? jsonpath" => nullable(path.exists(root, options)?),
        "jsonb_path_match" | "jsonb @@ jsonpath" => nullable(path.matches(root, options)?),
        "jsonb_path_query_array" => path.query_array(root, options)?.to_string(),
        "jsonb_path_query_first" => {
            let first = path.query_first(root, options)?.map(|item| item.to_jsonb());
            nullable(first.transpose()?)
        }
        other => panic!("{other}?"),
    })
}

fn matched(case: &Case<'_>) -> Result<String, PathError> {
    let string = Jsonb::string(&case.arguments[0].replace("<nl>", "\n"))?;
    let (pattern, flags) = (text::quote(case.arguments[1]), case.arguments[2]);
    let path = Path::parse(&format!("$ like_regex {pattern} flag \"{flags}\""))?;
    Ok(nullable(path.matches(string.root(), Options::default())?))
}

/// A step behind an operator inside another operator reads back as it was.
#[test]
fn printed_paths_read_back() {
    for (text, printed) in [
        ("($.a + 1).type() == \"x\"", r#"(($."a" + 1).type() == "x")"#),
        ("(exists($.a)).type()", r#"(exists ($."a")).type()"#),
        ("(!($.a == 1)).type()", r#"(!($."a" == 1)).type()"#),
        ("(($.a == 1) is unknown).type()", r#"(($."a" == 1) is unknown).type()"#),
        ("(-$.a).abs() + 1", r#"((-$."a").abs() + 1)"#),
        ("$.a/*c*/.b", r#"$."a"."b""#),
    ] {
        let path = Path::parse(text).unwrap();
        assert_eq!(path.to_string(), printed);
        assert_eq!(printed.parse(), Ok(path));
    }
}

/// Patterns of `like_regex` have what those of `~` have, lookaround constraints and back references
/// among it, which were refused once.
#[test]
fn patterns_are_those_of_sql() {
    let value: Jsonb = r#"["ab", "aa", "b"]"#.parse().unwrap();
    for (pattern, found) in [
        ("a(?=b)", r#"["ab"]"#),
        ("a(?!b)", r#"["aa"]"#),
        ("(?<=a)b", r#"["ab"]"#),
        ("(a)\\\\1", r#"["aa"]"#),
        ("\\\\mb", r#"["b"]"#),
    ] {
        let path = Path::parse(&format!("$[*] ? (@ like_regex \"{pattern}\")")).unwrap();
        let answer = path.query_array(value.root(), Options::default()).unwrap();
        assert_eq!(answer.to_string(), found, "{pattern}");
    }
    let error = Path::parse("$ like_regex \"(?=a\"").unwrap_err();
    assert_eq!(error.to_string(), "invalid regular expression: parentheses () not balanced");
}

/// Runs `inner` with as much stack as threads have that nobody asked for more.
fn on_small_stack(inner: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        thread.spawn_scoped(scope, inner).unwrap().join().unwrap();
    });
}

/// Paths that go deep in every way end in an answer or in an error.
#[test]
fn deep_paths_are_refused() {
    on_small_stack(|| {
        for (open, inner, close) in [
            ("(", "$", ")"),
            ("-", "$", ""),
            ("$[", "0", "]"),
            ("!(", "1 == 1", ")"),
            ("((", "1 == 1", ") is unknown)"),
            ("1 + (", "1", ")"),
            ("exists($ ? (", "1 == 1", "))"),
        ] {
            let deep = |n: usize| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
            let error = Path::parse(&deep(10_000)).unwrap_err();
            assert_eq!(error, PathError::TooDeep, "{open}");
            if let Ok(path) = Path::parse(&deep(60)) {
                let value = Jsonb::int(1);
                let _ = path.query(value.root(), Options::default());
                assert_eq!(path.to_string().parse(), Ok(path));
            }
        }
        // Operators in a row are not deep.
        let row = |n: usize, item: &str, join: &str| vec![item; n].join(join);
        for path in [
            row(20_000, "1", " + "),
            row(20_000, "$ == 1", " || "),
            "$".to_owned() + &row(20_000, "[*]", ""),
        ] {
            let path = Path::parse(&path).unwrap();
            let value = Jsonb::int(1);
            assert_eq!(path.query(value.root(), Options::default()).unwrap().len(), 1);
            assert_eq!(path.to_string().parse(), Ok(path));
        }
    });
}

/// Values that are deep are searched to the ground, or the search is refused.
#[test]
fn deep_values_are_searched() {
    on_small_stack(|| {
        let nested = |inner: &str| -> Jsonb {
            format!("{}{inner}{}", "[".repeat(1000), "]".repeat(1000)).parse().unwrap()
        };
        let (value, other) = (nested("1"), nested("1.0"));
        let count = |path: &str| {
            let path = Path::parse(path).unwrap();
            path.query(value.root(), Options::default()).map(|items| items.len())
        };
        assert_eq!(count("$.**"), Ok(1001));
        assert_eq!(count("$.**{last}"), Ok(1));
        // Once as itself, once as the element of the array around it.
        assert_eq!(count("$.** ? (@.type() == \"number\")"), Ok(2));
        assert_eq!(count(&format!("${}", "[*]".repeat(1000))), Ok(1));
        assert_eq!(count("strict $.**{1000}"), Ok(1));
        assert_eq!(value.root().contains(other.root()), Ok(true));
        // Made by hand, values may be deeper than any text.
        let deepen =
            |value: Jsonb| (0..1000).fold(value, |value, _| build_array([value.root()]).unwrap());
        let (deeper, other) = (deepen(value), deepen(other));
        let path = Path::parse("$.**").unwrap();
        assert_eq!(path.exists(deeper.root(), Options::default()), Ok(Some(true)));
        let all = path.query(deeper.root(), Options::default()).map(|items| items.len());
        assert_eq!(all, Err(PathError::TooDeep));
        assert_eq!(deeper.root().contains(other.root()), Err(JsonbError::TooDeep));
        assert_eq!(Jsonb::decode(deeper.bytes()).unwrap().to_string().len(), 4001);
        assert_eq!(deeper, other);
    });
}

/// Reads `HH:MM` and `YYYY`, in minutes and in years.
struct Clock;

impl Datetimes for Clock {
    fn read(&self, text: &str, method: DatetimeMethod<'_>) -> Result<Datetime, PathError> {
        let fault = || PathError::Datetime {
            sqlstate: "22031",
            message: format!("datetime format is not recognized: \"{text}\""),
            hint: None,
            hard: false,
        };
        let (kind, value) = match (method, text.split_once(':')) {
            (DatetimeMethod::Datetime(None), Some((hours, minutes))) => {
                let number = |digits: &str| digits.parse::<i64>().map_err(|_| fault());
                (DatetimeKind::Time, number(hours)? * 60 + number(minutes)?)
            }
            (DatetimeMethod::Datetime(Some("YYYY")) | DatetimeMethod::Date, None) => {
                (DatetimeKind::Date, text.parse().map_err(|_| fault())?)
            }
            _ => return Err(fault()),
        };
        Ok(Datetime { kind, value, zone: 0, text: text.to_owned() })
    }

    fn compare(
        &self,
        left: &Datetime,
        right: &Datetime,
    ) -> Result<Option<std::cmp::Ordering>, PathError> {
        Ok((left.kind == right.kind).then(|| left.value.cmp(&right.value)))
    }
}

/// Dates and times are whatever the caller says they are; without one they are refused.
#[test]
fn datetimes_are_the_callers() {
    let value: Jsonb = r#"["9:30", "10:15", "2020", "x"]"#.parse().unwrap();
    let options = Options { datetimes: &Clock, ..Options::default() };
    let run = |path: &str| {
        let path = Path::parse(path).unwrap();
        path.query_array(value.root(), options).map(|found| found.to_string())
    };
    assert_eq!(run("$[0 to 1].datetime()"), Ok(r#"["9:30", "10:15"]"#.into()));
    assert_eq!(run("$[0].datetime().type()"), Ok(r#"["time without time zone"]"#.into()));
    assert_eq!(run("$[*] ? (@.datetime() < \"10:00\".datetime())"), Ok(r#"["9:30"]"#.into()));
    assert_eq!(run("$[2].date().string()"), Ok(r#"["2020"]"#.into()));
    assert_eq!(run("$[2].datetime(\"YYYY\") == $[0].datetime()"), Ok("[null]".into()));
    assert_eq!(run("$[3].date()").unwrap_err().sqlstate(), "22031");
    let without = Path::parse("$[0].datetime()").unwrap();
    let error = without.query_array(value.root(), Options::default()).unwrap_err();
    assert_eq!(error.sqlstate(), "0A000");
}

//! The same questions, the same answers as PostgreSQL: each line of `postgres.tsv` is an operation,
//! its arguments, and what a server of version 17 said.

use std::fmt::Write;

use numeric::{Numeric, NumericError, Precision, Spread, Squares, Sum};

/// Texts longer than this are compared by their ends and their length.
const LONG: usize = 160;

#[test]
fn every_line_is_answered_as_postgres_answers_it() {
    let mut wrong = String::new();
    let mut lines = 0;
    for line in include_str!("postgres.tsv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<String> = line.split('\t').map(unescape).collect();
        let [operation, arguments @ .., expected] = fields.as_slice() else {
            panic!("no result in {line}");
        };
        let found = answer(operation, arguments).map_or_else(refusal, |found| shorten(&found));
        // How a float is written is not this crate's business; that it is the same one is.
        let same = match (operation.as_str(), expected.parse(), found.parse()) {
            ("to_f32" | "to_f64", Ok(expected), Ok(found)) => {
                f64::total_cmp(&expected, &found).is_eq()
            }
            _ => found == *expected,
        };
        if !same {
            writeln!(wrong, "{operation} {arguments:?}\n  expected {expected}\n  found    {found}")
                .unwrap();
        }
        lines += 1;
    }
    assert!(lines > 3_000, "only {lines} lines");
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn unescape(field: &str) -> String {
    field.replace("\\t", "\t").replace("\\n", "\n").replace("\\\\", "\\")
}

fn shorten(text: &str) -> String {
    let length = text.chars().count();
    if length <= LONG {
        return text.to_owned();
    }
    let head: String = text.chars().take(40).collect();
    let tail: String = text.chars().skip(length - 40).collect();
    format!("{head}...{tail}[{length}]")
}

fn refusal(error: NumericError) -> String {
    let detail = error.detail().map_or(String::new(), |detail| format!(" / {detail}"));
    format!("!{} {}{detail}", error.sqlstate(), shorten(&error.to_string()))
}

fn answer(operation: &str, arguments: &[String]) -> Result<String, NumericError> {
    let number = |i: usize| arguments[i].parse::<Numeric>();
    let integer = |i: usize| arguments[i].parse::<i32>().expect("an integer");
    let all = || arguments.iter().map(|argument| argument.parse::<Numeric>());
    let optional = |value: Option<u32>| value.map_or("NULL".to_owned(), |value| value.to_string());
    let variance = |deviation: bool, spread: Spread| -> Result<String, NumericError> {
        let mut squares = Squares::new();
        for value in all() {
            squares.add(&value?);
        }
        let result =
            if deviation { squares.deviation(spread)? } else { squares.variance(spread)? };
        Ok(result.map_or("NULL".to_owned(), |value| value.to_string()))
    };
    let sum = || -> Result<Sum, NumericError> {
        let mut sum = Sum::new();
        for value in all() {
            sum.add(&value?);
        }
        Ok(sum)
    };
    let result = match operation {
        "parse" => number(0)?,
        "add" => number(0)?.checked_add(&number(1)?)?,
        "sub" => number(0)?.checked_sub(&number(1)?)?,
        "mul" => number(0)?.checked_mul(&number(1)?)?,
        "div" => number(0)?.checked_div(&number(1)?)?,
        "rem" => number(0)?.checked_rem(&number(1)?)?,
        "div_trunc" => number(0)?.div_trunc(&number(1)?)?,
        "gcd" => number(0)?.gcd(&number(1)?)?,
        "lcm" => number(0)?.lcm(&number(1)?)?,
        "power" => number(0)?.power(&number(1)?)?,
        "log" => number(1)?.log(&number(0)?)?,
        "abs" => number(0)?.abs(),
        "neg" => number(0)?.neg(),
        "sign" => number(0)?.sign(),
        "ceil" => number(0)?.ceil()?,
        "floor" => number(0)?.floor()?,
        "sqrt" => number(0)?.sqrt()?,
        "exp" => number(0)?.exp()?,
        "ln" => number(0)?.ln()?,
        "log10" => number(0)?.log10()?,
        "trim_scale" => number(0)?.trim_scale(),
        "round" => number(0)?.round(integer(1))?,
        "trunc" => number(0)?.trunc(integer(1)),
        "precision" => {
            let precision = Precision::new(integer(1), integer(2))?;
            assert_eq!(Precision::from_typmod(precision.to_typmod()), Some(precision));
            number(0)?.with_precision(precision)?
        }
        "factorial" => Numeric::factorial(arguments[0].parse().expect("an integer"))?,
        "from_f64" => Numeric::from(arguments[0].parse::<f64>().expect("a float")),
        "from_f32" => Numeric::from(arguments[0].parse::<f32>().expect("a float")),
        "scale" => return Ok(optional(number(0)?.scale())),
        "min_scale" => return Ok(optional(number(0)?.min_scale())),
        "cmp" => return Ok((number(0)?.cmp(&number(1)?) as i32).to_string()),
        "to_i16" => return Ok(number(0)?.to_i16()?.to_string()),
        "to_i32" => return Ok(number(0)?.to_i32()?.to_string()),
        "to_i64" => return Ok(number(0)?.to_i64()?.to_string()),
        "to_f32" => return Ok(spell(format!("{:e}", number(0)?.to_f32()?))),
        "to_f64" => return Ok(spell(format!("{:e}", number(0)?.to_f64()?))),
        "width_bucket" => {
            let bucket = number(0)?.width_bucket(&number(1)?, &number(2)?, integer(3))?;
            return Ok(bucket.to_string());
        }
        "wire" => {
            let mut bytes = Vec::new();
            number(0)?.to_wire(&mut bytes);
            return Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        "sum" => return Ok(sum()?.sum()?.map_or("NULL".to_owned(), |value| value.to_string())),
        "avg" => return Ok(sum()?.avg()?.map_or("NULL".to_owned(), |value| value.to_string())),
        "var_samp" => return variance(false, Spread::Sample),
        "var_pop" => return variance(false, Spread::Population),
        "stddev_samp" => return variance(true, Spread::Sample),
        "stddev_pop" => return variance(true, Spread::Population),
        other => panic!("no operation {other}"),
    };
    Ok(result.to_string())
}

/// A float's shortest digits, without the sign that Rust keeps on zero.
fn spell(float: String) -> String {
    if float == "-0e0" { "0".to_owned() } else { float }
}

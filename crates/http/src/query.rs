//! Parameters: the part of an address after its question mark.

use crate::problem::Problem;
use crate::route::{Form, Parameter, Route};

/// The parameters of a request by their names, in the order of the address.
pub(crate) type Parameters = Vec<(&'static str, String)>;

/// Reads the parameters of a request for a route.
///
/// # Errors
/// 400 where one is not UTF-8, is there twice, is none of the route's, or not of its form.
pub(crate) fn read(text: &str, route: &Route) -> Result<Parameters, Problem> {
    let mut found = Parameters::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        let Some(parameter) = route.parameters().find(|known| known.name == name) else {
            let known: Vec<&str> = route.parameters().map(|known| known.name).collect();
            let known = match &known[..] {
                [] => "this operation has no parameters".to_owned(),
                known => format!("this operation has {}", known.join(", ")),
            };
            return Err(Problem::bad(format!("there is no parameter {name:?}: {known}")));
        };
        if found.iter().any(|(known, _)| *known == parameter.name) {
            return Err(Problem::bad(format!("the parameter {name} is given twice")));
        }
        check(parameter, &value)?;
        found.push((parameter.name, value));
    }
    Ok(found)
}

/// Fails if a number or a truth value is none, whether it is looked at afterwards or not.
fn check(parameter: &Parameter, value: &str) -> Result<(), Problem> {
    let is_good = match parameter.form {
        Form::Number | Form::Positive => value.parse::<u64>().is_ok(),
        Form::Flag => value.parse::<bool>().is_ok(),
        Form::Text | Form::Revision | Form::Time | Form::OneOf(_) => true,
    };
    let name = parameter.name;
    match is_good {
        true => Ok(()),
        false => {
            let allowed = match parameter.form {
                Form::Flag => "true or false",
                Form::Positive => "a whole number from 1",
                _ => "a whole number from 0",
            };
            let text = format!("the parameter {name} cannot be {value:?}: it must be {allowed}");
            Err(Problem::bad(text))
        }
    }
}

/// Decodes `%20` and `+`.
fn decode(text: &str) -> Result<String, Problem> {
    let wrong = || Problem::bad(format!("{text:?} is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, after) = rest.split_at_checked(2).ok_or_else(wrong)?;
                rest = after;
                let digit = |at: usize| char::from(digits[at]).to_digit(16).ok_or_else(wrong);
                (digit(0)? * 16 + digit(1)?) as u8
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// Encodes a part of a path.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encoded text comes back, and a text that is no encoding is refused.
    #[test]
    fn codes() {
        for text in ["", "a b", "é/%&=+?", "\u{0}\u{7f}"] {
            assert_eq!(decode(&encode(text)).expect(text), text);
        }
        assert_eq!(decode("a+b%2Bc").expect("decodes"), "a b+c");
        for bad in ["%", "%2", "%zz", "%+1", "%ff", "%é"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }
}

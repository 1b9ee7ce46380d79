//! Statements without their constants, so that statements that differ in nothing else share one
//! plan.
//!
//! ```text
//!   SELECT v FROM t WHERE id = 7 AND name <> 'x' LIMIT 3
//!   SELECT v FROM t WHERE id =  $1  AND name <>  $2  LIMIT 3        7, 'x'
//! ```
//!
//! A constant is taken out only where a parameter means the same: next to a comparison or
//! arithmetic, in `BETWEEN`, `IN` and the rows of `VALUES`. Elsewhere it may say which column is
//! meant (`ORDER BY 1`), how long a type is, or which function is called. A statement whose template
//! cannot be bound, or whose constants are no values of the types that were found, is to be read as
//! it is: the errors of a statement are those of its own text.

use super::keywords;
use super::lexer::{Lexeme, Token, tokens};

/// The longest text that is looked at, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// The most constants that are taken out.
const CONSTANTS_MAX: usize = 256;

/// A value that was taken out of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Constant {
    /// A whole number, with its sign.
    Integer(i64),
    /// A string, which has no type of its own.
    Text(String),
}

/// A statement with parameters in the place of constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    /// Its text. It is the text of the statement where nothing was taken out.
    pub text: String,
    /// The constants that the parameters stand for.
    pub constants: Vec<Constant>,
}

/// The template of a text; `None` if it is more than one statement, or none that has a plan.
///
/// Statements with parameters of their own are taken as they are.
pub fn template(text: &str) -> Option<Template> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let begins = text.trim_start().as_bytes().first()?.to_ascii_lowercase();
    if !b"siudwvm-/".contains(&begins) {
        return None;
    }
    let mut lexemes = tokens(text).ok()?;
    lexemes.pop();
    while lexemes.last().is_some_and(|last| last.token == Token::Punct(";")) {
        lexemes.pop();
    }
    let (first, last) = (lexemes.first()?, lexemes.last()?);
    let Token::Word(word) = &first.token else { return None };
    if !["select", "insert", "update", "delete", "with", "values", "merge"].contains(&&**word)
        || lexemes.iter().any(|lexeme| lexeme.token == Token::Punct(";"))
    {
        return None;
    }
    // From the beginning, so that places are those of the text.
    let whole = &text[..last.end];
    if lexemes.iter().any(|lexeme| matches!(lexeme.token, Token::Param(_))) {
        return Some(Template { text: whole.to_owned(), constants: Vec::new() });
    }
    let mut made = Template { text: String::with_capacity(whole.len()), constants: Vec::new() };
    let mut copied = 0;
    let mut lists = Lists::default();
    for at in 0..lexemes.len() {
        lists.step(&lexemes, at);
        let Some((constant, begin)) = constant(text, &lexemes, at, lists.is_list()) else {
            continue;
        };
        if made.constants.len() == CONSTANTS_MAX {
            return None;
        }
        made.text.push_str(&text[copied..lexemes[begin].start]);
        made.constants.push(constant);
        // Blanks around it, because a word may stand right beside a string.
        made.text.push_str(&format!(" ${} ", made.constants.len()));
        copied = lexemes[at].end;
    }
    made.text.push_str(&text[copied..last.end]);
    Some(made)
}

/// Which parentheses are open: those of lists of values, or others.
#[derive(Default)]
struct Lists {
    open: Vec<bool>,
    /// True right after a row of `VALUES`.
    after_row: bool,
}

impl Lists {
    /// Steps over a lexeme.
    fn step(&mut self, lexemes: &[Lexeme<'_>], at: usize) {
        match &lexemes[at].token {
            Token::Punct("(") => {
                let before = at.checked_sub(1).map(|at| &lexemes[at].token);
                let is_list = match before {
                    Some(Token::Word(word)) => *word == "values" || *word == "in",
                    Some(Token::Punct(",")) => self.after_row,
                    _ => false,
                };
                self.open.push(is_list);
                self.after_row = false;
            }
            Token::Punct(")") => self.after_row = self.open.pop().unwrap_or(false),
            Token::Punct(",") => {}
            _ => self.after_row = false,
        }
    }

    fn is_list(&self) -> bool {
        self.open.last().copied().unwrap_or(false)
    }
}

/// The constant that ends with this lexeme and can be taken out, and the lexeme that it begins with.
fn constant(
    text: &str,
    lexemes: &[Lexeme<'_>],
    at: usize,
    in_list: bool,
) -> Option<(Constant, usize)> {
    match &lexemes[at].token {
        Token::String(value) => {
            let is_plain = text.as_bytes()[lexemes[at].start] == b'\'';
            let fits = is_plain
                && takes_value(lexemes, at, in_list, false)
                && may_follow(lexemes.get(at + 1).map(|next| &next.token));
            fits.then(|| (Constant::Text(value.clone().into_owned()), at))
        }
        Token::Number(digits) => {
            let number: i64 = digits.parse().ok()?;
            if !may_follow(lexemes.get(at + 1).map(|next| &next.token)) {
                return None;
            }
            let minus = at.checked_sub(1).filter(|before| is_symbol(&lexemes[*before], &["-"]));
            match minus {
                Some(minus) if takes_value(lexemes, minus, in_list, true) => {
                    Some((Constant::Integer(-number), minus))
                }
                _ if takes_value(lexemes, at, in_list, true) => {
                    Some((Constant::Integer(number), at))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_symbol(lexeme: &Lexeme<'_>, symbols: &[&str]) -> bool {
    matches!(&lexeme.token, Token::Symbol(symbol) if symbols.contains(&&**symbol))
}

/// True if a parameter in the place of this lexeme means what a constant means.
fn takes_value(lexemes: &[Lexeme<'_>], at: usize, in_list: bool, is_number: bool) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    match &lexemes[before].token {
        Token::Punct("(" | ",") => in_list,
        Token::Word(word) => *word == "between" || *word == "and",
        Token::Symbol(symbol) => match &**symbol {
            "=" | "<>" | "!=" | "<" | ">" | "<=" | ">=" => true,
            "+" | "-" | "*" | "/" | "%" => is_number && is_operand(lexemes, before),
            _ => false,
        },
        _ => false,
    }
}

/// True if the operator at this place has something on its left.
fn is_operand(lexemes: &[Lexeme<'_>], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    match &lexemes[before].token {
        Token::Punct(before) => matches!(*before, ")" | "]"),
        Token::Symbol(_) | Token::End => false,
        // After BY a number says which column is meant.
        Token::Word(word) => *word != "by" && keywords::names_column(word),
        _ => true,
    }
}

/// True if nothing that follows belongs to a constant.
fn may_follow(next: Option<&Token<'_>>) -> bool {
    match next {
        Some(Token::Punct(punct)) => matches!(*punct, ")" | ","),
        Some(Token::Word(word)) => !matches!(&**word, "collate" | "at"),
        Some(Token::Symbol(_)) | None => true,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Constant, template};

    #[track_caller]
    fn check(text: &str, wanted: &str, constants: &[&str]) {
        let made = template(text).expect("it has a template");
        // Blanks do not matter.
        let folded: Vec<&str> = made.text.split_whitespace().collect();
        assert_eq!(folded.join(" "), wanted, "{text}");
        let given: Vec<String> = made
            .constants
            .into_iter()
            .map(|constant| match constant {
                Constant::Integer(number) => number.to_string(),
                Constant::Text(text) => format!("'{text}'"),
            })
            .collect();
        assert_eq!(given, constants, "{text}");
    }

    #[test]
    fn values_that_rows_are_compared_with_are_taken_out() {
        check(
            "SELECT v FROM t WHERE id = 7 AND name <> 'it''s' LIMIT 3;",
            "SELECT v FROM t WHERE id = $1 AND name <> $2 LIMIT 3",
            &["7", "'it's'"],
        );
        check(
            "SELECT count(*) FROM t WHERE id BETWEEN 5 AND 105",
            "SELECT count(*) FROM t WHERE id BETWEEN $1 AND $2",
            &["5", "105"],
        );
        check(
            "select 1 from t where a='x'and b=2",
            "select 1 from t where a= $1 and b= $2",
            &["'x'", "2"],
        );
        check(
            "DELETE FROM t WHERE a IN (1, -2)",
            "DELETE FROM t WHERE a IN ( $1 , $2 )",
            &["1", "-2"],
        );
    }

    #[test]
    fn a_sign_belongs_to_its_number() {
        check(
            "UPDATE t SET a = a + -12 WHERE b = -1",
            "UPDATE t SET a = a + $1 WHERE b = $2",
            &["-12", "-1"],
        );
        check("UPDATE t SET a = a - 12", "UPDATE t SET a = a - $1", &["12"]);
        check(
            "SELECT * FROM t WHERE a = -2147483648",
            "SELECT * FROM t WHERE a = $1",
            &["-2147483648"],
        );
    }

    #[test]
    fn rows_of_values_are_taken_out() {
        check(
            "INSERT INTO t (a, b) VALUES (1, 'x'), (2, f(3, 'y'))",
            "INSERT INTO t (a, b) VALUES ( $1 , $2 ), ( $3 , f(3, 'y'))",
            &["1", "'x'", "2"],
        );
    }

    #[test]
    fn constants_that_say_what_is_meant_stay() {
        for text in [
            "SELECT 1",
            "SELECT a, 'x' FROM t ORDER BY 1, 2 LIMIT 5 OFFSET 6",
            "SELECT a FROM t GROUP BY 1",
            "SELECT a FROM t ORDER BY -1",
            "SELECT '1'::int, cast('2' AS varchar(3)), interval '1 day', date '2020-01-01'",
            "SELECT f(1, 'x'), a @> '{1}', b -> 'c' ->> 0 FROM t",
            "SELECT a FROM t WHERE b = '1'::int",
            "SELECT a FROM t WHERE b = 'x' COLLATE \"C\"",
            "SELECT a FROM t WHERE b = E'x'",
            "SELECT a FROM t WHERE b = 1.5",
            "SELECT a FROM t FOR SYSTEM_VERSION AS OF 5",
            "SELECT a FROM t WHERE b = $1 AND c = 5",
        ] {
            let made = template(text).expect("it has a template");
            assert_eq!((made.text.as_str(), made.constants.len()), (text, 0));
        }
    }

    #[test]
    fn what_has_no_single_plan_has_no_template() {
        for text in ["", "SELECT 1; SELECT 2", "BEGIN", "CREATE TABLE t (a int)", "SELECT 'x"] {
            assert_eq!(template(text), None, "{text}");
        }
    }
}

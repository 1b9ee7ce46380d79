//! Statements as `pg_stat_statements` identifies them: by their tokens, whatever their constants are.
//!
//! ```text
//!   SELECT v  FROM t WHERE id = 7 -- it      select v from t where id = $?      hashed: the fingerprint
//!   SELECT v  FROM t WHERE id = $1 -- it                                        shown: the text
//! ```

use std::fmt::Write;

use super::lexer::{Token, tokens};

/// An id that statements share which differ only in constants and in spelling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint(pub i64);

/// FNV-1a, so that a fingerprint is the same in every process and on every machine.
struct Hash(u64);

impl Hash {
    fn add(&mut self, kind: u8, text: &str) {
        for byte in [kind].into_iter().chain(text.bytes()).chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// The fingerprint of a statement; `None` for what is no text of SQL. Never 0.
pub fn fingerprint(text: &str) -> Option<Fingerprint> {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let lexemes = tokens(text).ok()?;
    for (at, lexeme) in lexemes.iter().enumerate() {
        match &lexeme.token {
            Token::Word(word) => hash.add(0, word),
            Token::Quoted(word) => hash.add(0, word),
            Token::Number(_) | Token::String(_) | Token::Bits(_) | Token::Param(_) => {
                hash.add(1, "");
            }
            Token::Symbol(symbol) => hash.add(2, symbol),
            // A semicolon at the end belongs to no statement.
            Token::Punct(";") if at + 2 == lexemes.len() => {}
            Token::Punct(punct) => hash.add(3, punct),
            Token::End => {}
        }
    }
    Some(Fingerprint(if hash.0 == 0 { 1 } else { hash.0 as i64 }))
}

/// The text of a statement with `$1`, `$2` ... in the place of constants, numbered after its own parameters.
pub fn normalized(text: &str) -> String {
    let Ok(lexemes) = tokens(text) else { return text.to_owned() };
    let own = lexemes.iter().filter_map(|lexeme| match lexeme.token {
        Token::Param(number) => Some(number),
        _ => None,
    });
    let mut number = own.max().unwrap_or(0);
    let (mut made, mut copied) = (String::with_capacity(text.len()), 0);
    for lexeme in &lexemes {
        if matches!(lexeme.token, Token::Number(_) | Token::String(_) | Token::Bits(_)) {
            number += 1;
            made.push_str(&text[copied..lexeme.start]);
            // Writing to a string does not fail.
            let _ = write!(made, "${number}");
            copied = lexeme.end;
        }
    }
    made.push_str(&text[copied..]);
    let end = made.trim_end().trim_end_matches(';').trim_end().len();
    made.truncate(end);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Constants, blanks, comments and the case of words make no difference; all else does.
    #[test]
    fn statements_are_told_apart() {
        let same = [
            "select v from t where id = 7",
            "SELECT v\nFROM T WHERE id = 'x' -- it",
            "select v from t where id = $1;",
        ];
        let found: Vec<_> = same.iter().map(|text| fingerprint(text)).collect();
        assert!(found[0].is_some() && found.iter().all(|one| *one == found[0]), "{found:?}");
        for other in [
            "select w from t where id = 7",
            "select v from t where id > 7",
            "select v from \"T\" where id = 7",
        ] {
            assert_ne!(fingerprint(other), found[0], "{other}");
        }
        assert_eq!(fingerprint("select 'open"), None);
    }

    /// Constants become parameters after those of the statement; all else stays as it is written.
    #[test]
    fn constants_are_parameters() {
        for (text, wanted) in [
            ("SELECT 1, 'a''b', B'01' ;", "SELECT $1, $2, $3"),
            ("SELECT $2 + 5 /* 6 */", "SELECT $2 + $3 /* 6 */"),
            ("SELECT c1 FROM \"7\"", "SELECT c1 FROM \"7\""),
        ] {
            assert_eq!(normalized(text), wanted);
        }
    }
}

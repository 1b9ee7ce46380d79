//! `DECLARE`: variables and their types.

use ::types::SqlState;

use super::Reader;
use super::ast::{FragmentKind, ItemKind, VariableType};
use crate::error::{Error, Result};
use crate::parse::ast::{Name, Path};
use crate::parse::lexer::Token;

impl Reader<'_> {
    /// The declarations of a block, of which there may be none.
    pub(super) fn declarations(&mut self) -> Result<Vec<usize>> {
        let mut declared = Vec::new();
        while self.parser.eat(&["declare"]) {
            while !self.parser.is_any(&["begin", "declare"]) {
                if self.parser.is_symbol(0, "<<") {
                    let message = "block label must be placed before DECLARE, not after";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(self.parser.at()));
                }
                declared.extend(self.declaration()?);
            }
        }
        Ok(declared)
    }

    fn declaration(&mut self) -> Result<Option<usize>> {
        let (start, line) = (self.parser.start(), self.line());
        if self.parser.is_end() {
            return Err(self.parser.unexpected());
        }
        let (name, at) = self.any_name()?;
        if self.is_in_level(&name) {
            let shown = &self.text[start..self.parser.end()];
            let message = format!("duplicate declaration at or near \"{shown}\"");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        }
        let ahead = usize::from(self.parser.is(&["no"])) + usize::from(self.parser.is(&["scroll"]));
        if self.parser.is(&["cursor"]) || self.parser.word(ahead + 1) == Some("cursor") && ahead > 0
        {
            return Err(self.not_supported("a cursor in PL/pgSQL", at));
        }
        if self.parser.eat(&["alias"]) {
            self.parser.expect(&["for"])?;
            return self.alias(name).map(|()| None);
        }
        let constant = self.parser.eat(&["constant"]);
        let type_at = self.parser.at();
        let ty = self.variable_type()?;
        if self.parser.is(&["refcursor"]) {
            return Err(self.not_supported("a cursor in PL/pgSQL", type_at));
        }
        if self.parser.eat(&["collate"]) {
            // All collations are one.
            self.parser.path()?;
        }
        let not_null_at = self.parser.at();
        let not_null = self.parser.eat(&["not"]);
        if not_null {
            self.parser.expect(&["null"])?;
        }
        let mut default = None;
        if self.parser.eat_punct(":=")
            || self.parser.eat_symbol("=")
            || self.parser.eat(&["default"])
        {
            default = Some(self.fragment(FragmentKind::Expression, &[], ";")?);
        }
        if not_null && default.is_none() {
            let message = format!(
                "variable \"{name}\" must have a default value, since it's declared NOT NULL"
            );
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message).at(not_null_at));
        }
        self.expect_end()?;
        let number = self.declare(&name, ty, line);
        let variable = &mut self.variables[number];
        (variable.constant, variable.not_null, variable.default) = (constant, not_null, default);
        Ok(Some(number))
    }

    /// `name ALIAS FOR variable`: another name of it.
    fn alias(&mut self, name: String) -> Result<()> {
        let at = self.parser.at();
        let (of, _) = self.any_name()?;
        let found = self.names.find(&[&of], self.seen, &|_| true);
        let Some((number, _)) = found else {
            let message = format!("variable \"{of}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(at));
        };
        self.expect_end()?;
        let kind = ItemKind::Variable(number);
        self.put(super::NamedItem { before: self.seen, name, kind });
        Ok(())
    }

    /// True if the level of names that is open has this one.
    fn is_in_level(&self, name: &str) -> bool {
        let mut at = self.seen;
        while let Some(item) = at.map(|at| &self.names.0[at]) {
            match item.kind {
                ItemKind::Variable(_) if item.name == name => return true,
                ItemKind::Variable(_) => at = item.before,
                ItemKind::Block | ItemKind::Loop => return false,
            }
        }
        false
    }

    fn variable_type(&mut self) -> Result<VariableType> {
        if self.parser.is_punct(0, ";") || self.parser.is_punct(0, ":=") || self.parser.is_end() {
            return Err(self.near("missing data type declaration"));
        }
        if self.parser.is(&["record"]) && !self.parser.is_punct(1, "[") {
            self.parser.skip(1);
            return Ok(VariableType::Record);
        }
        if let Some(ty) = self.copied_type()? {
            return Ok(ty);
        }
        if self.parser.is(&["refcursor"]) {
            return Err(self.not_supported("a cursor in PL/pgSQL", self.parser.at()));
        }
        let name = self.parser.type_name()?;
        if name.set {
            return Err(
                Error::new(SqlState::SYNTAX_ERROR, "variables cannot be of a set type").at(name.at)
            );
        }
        Ok(VariableType::Named(name))
    }

    /// `name%TYPE` or `name%ROWTYPE`
    fn copied_type(&mut self) -> Result<Option<VariableType>> {
        let is_word = |token: &Token<'_>| matches!(token, Token::Word(_) | Token::Quoted(_));
        let mut length = 1;
        if !is_word(self.parser.peek(0)) {
            return Ok(None);
        }
        while self.parser.is_punct(length, ".") && is_word(self.parser.peek(length + 1)) {
            length += 2;
        }
        if !self.parser.is_symbol(length, "%") {
            return Ok(None);
        }
        let of_row = match self.parser.word(length + 1) {
            Some("type") => false,
            Some("rowtype") => true,
            _ => return Ok(None),
        };
        let mut parts = Vec::new();
        loop {
            let (text, at) = self.any_name()?;
            parts.push(Name { text, at });
            if !self.parser.eat_punct(".") {
                break;
            }
        }
        self.parser.skip(2);
        let array = self.is_array()?;
        if of_row {
            if array {
                return Err(self.not_supported("an array of rows by %ROWTYPE", parts[0].at));
            }
            return Ok(Some(VariableType::Row(Path { parts })));
        }
        let words: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        let found = self.names.find(&words, self.seen, &|number| self.has_fields(number));
        Ok(Some(match found {
            Some((number, used)) if used == words.len() => VariableType::Variable(number, array),
            _ if parts.len() > 1 => VariableType::Column(Path { parts }, array),
            _ => {
                let message = format!("variable \"{}\" does not exist", parts[0].text);
                let error = Error::new(SqlState::UNDEFINED_OBJECT, message);
                return Err(self.about_line(error, self.line()));
            }
        }))
    }

    /// `[]`, `[3]` or `ARRAY` behind a type.
    fn is_array(&mut self) -> Result<bool> {
        let mut array = self.parser.eat(&["array"]);
        while self.parser.eat_punct("[") {
            array = true;
            if matches!(self.parser.peek(0), Token::Number(_)) {
                self.parser.skip(1);
            }
            self.parser.expect_punct("]")?;
        }
        Ok(array)
    }
}

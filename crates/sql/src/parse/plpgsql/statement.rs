//! Statements of PL/pgSQL, by their first words.

use ::types::{SqlState, Type};

use super::Reader;
use super::ast::{Execute, FragmentKind, ItemKind, Line, Step, VariableType};
use crate::error::{At, Error, Result};
use crate::parse::ast::ExprKind;
use crate::parse::lexer::Token;

impl Reader<'_> {
    /// A statement.
    pub(super) fn step(&mut self) -> Result<Step> {
        self.deeper(Self::step_here)
    }

    fn step_here(&mut self) -> Result<Step> {
        if self.is_assignment() {
            return self.assignment();
        }
        if self.parser.is_symbol(0, "<<") {
            let label = self.label()?;
            return match self.parser.word(0) {
                Some("loop" | "while" | "for" | "foreach") => self.repeated(label),
                _ => {
                    let block = self.block_of(label)?;
                    self.expect_end()?;
                    Ok(Step::Block(Box::new(block)))
                }
            };
        }
        let word = self.parser.word(0).map(str::to_owned);
        match word.as_deref() {
            Some("declare" | "begin") => {
                let block = self.block_of(None)?;
                self.expect_end()?;
                Ok(Step::Block(Box::new(block)))
            }
            Some("loop" | "while" | "for" | "foreach") => self.repeated(None),
            Some("if") => self.condition_step(),
            Some("case") => self.case_step(),
            Some("exit" | "continue") => self.leave(word.as_deref() == Some("exit")),
            Some("return") => self.return_step(),
            Some("raise") => self.raise(),
            Some("assert") => self.assert(),
            Some("get") => self.diagnostics(),
            Some("perform") => self.perform(),
            Some("execute") => {
                self.parser.skip(1);
                let execute = self.execute_text(&[])?;
                self.expect_end()?;
                Ok(Step::Execute(Box::new(execute)))
            }
            Some("null") => {
                self.parser.skip(1);
                self.expect_end()?;
                Ok(Step::Nothing)
            }
            Some("commit" | "rollback") if self.ends_transaction() => {
                let commits = word.as_deref() == Some("commit");
                self.parser.skip(1);
                let mut chain = false;
                if self.parser.eat(&["and"]) {
                    chain = !self.parser.eat(&["no"]);
                    self.parser.expect(&["chain"])?;
                }
                self.expect_end()?;
                Ok(Step::End(commits, chain))
            }
            Some("open" | "fetch" | "move" | "close") => {
                Err(self.not_supported("a cursor in PL/pgSQL", self.parser.at()))
            }
            Some(_) => {
                let (sql, into) = self.sql()?;
                self.expect_end()?;
                Ok(Step::Sql(Box::new(sql), into))
            }
            None if self.parser.is_punct(0, "(") => {
                let (sql, into) = self.sql()?;
                self.expect_end()?;
                Ok(Step::Sql(Box::new(sql), into))
            }
            None => Err(self.parser.unexpected()),
        }
    }

    /// `COMMIT;` and not `COMMIT PREPARED` or `ROLLBACK TO`.
    fn ends_transaction(&self) -> bool {
        self.parser.is_punct(1, ";") || self.parser.word(1) == Some("and")
    }

    /// True if a name comes next, and then what assigns to it.
    fn is_assignment(&self) -> bool {
        let mut length = 0;
        loop {
            if !matches!(self.parser.peek(length), Token::Word(_) | Token::Quoted(_)) {
                return false;
            }
            length += 1;
            if !self.parser.is_punct(length, ".") {
                break;
            }
            length += 1;
        }
        self.parser.is_punct(length, ":=")
            || self.parser.is_symbol(length, "=")
            || self.parser.is_punct(length, "[")
    }

    fn assignment(&mut self) -> Result<Step> {
        let start = self.parser.start();
        let target = self.target()?;
        // The target left of the sign, with subscripts.
        let mut depth = 0_usize;
        while depth > 0 || !(self.parser.is_punct(0, ":=") || self.parser.is_symbol(0, "=")) {
            match self.parser.peek(0) {
                Token::Punct("[" | "(") => depth += 1,
                Token::Punct("]" | ")") => depth = depth.saturating_sub(1),
                Token::End | Token::Punct(";") => return Err(self.parser.unexpected()),
                _ => {}
            }
            self.parser.skip(1);
        }
        let left = &self.text[start..self.parser.end()];
        let read = crate::parse::expression(left)
            .map_err(|error| Error { at: error.at.within(At::offset(start)), ..error })?;
        let part = match read.kind {
            ExprKind::Indirection { steps, .. } => steps,
            _ => Vec::new(),
        };
        self.parser.skip(1);
        let value = self.fragment_of_assignment(start)?;
        self.expect_end()?;
        Ok(Step::Assign { target, part, value: Box::new(value) })
    }

    fn fragment_of_assignment(&mut self, start: usize) -> Result<super::Fragment> {
        let from = self.parser.start();
        if self.parser.is_punct(0, ";") {
            let message = "assignment source returned 0 columns";
            let error = Error::new(SqlState::SYNTAX_ERROR, message);
            return Err(self.about_line(error, self.line()));
        }
        let mut depth = 0_usize;
        while depth > 0 || !self.parser.is_punct(0, ";") {
            match self.parser.peek(0) {
                Token::Punct("(" | "[") => depth += 1,
                Token::Punct(")" | "]") => depth = depth.saturating_sub(1),
                Token::End => return Err(self.parser.unexpected()),
                Token::Punct(";") => return Err(self.near("mismatched parentheses")),
                _ => {}
            }
            self.parser.skip(1);
        }
        let end = self.parser.end();
        let text = self.text[start..end].to_owned();
        let source = format!("SELECT {}", &self.text[from..end]);
        let shift = (from - start) as isize - 7;
        self.read(FragmentKind::Assignment, text, source, shift, start)
    }

    fn perform(&mut self) -> Result<Step> {
        let start = self.parser.start();
        self.parser.skip(1);
        let from = self.parser.end();
        let mut depth = 0_usize;
        while depth > 0 || !self.parser.is_punct(0, ";") {
            match self.parser.peek(0) {
                Token::Punct("(") => depth += 1,
                Token::Punct(")") => depth = depth.saturating_sub(1),
                Token::End => return Err(self.parser.unexpected()),
                _ => {}
            }
            self.parser.skip(1);
        }
        let source = format!("SELECT{}", &self.text[from..self.parser.end()]);
        let lead = from - start - "SELECT".len();
        let kind = FragmentKind::Statement;
        let fragment = self.read(kind, source.clone(), source, 0, start + lead)?;
        self.expect_end()?;
        Ok(Step::Perform(Box::new(fragment)))
    }

    fn condition_step(&mut self) -> Result<Step> {
        self.parser.skip(1);
        let mut arms = vec![self.arm()?];
        let mut otherwise = Vec::new();
        loop {
            if self.parser.eat(&["elsif"]) || self.parser.eat(&["elseif"]) {
                arms.push(self.arm()?);
                continue;
            }
            if self.parser.eat(&["else"]) {
                otherwise = self.lines()?;
            }
            self.parser.expect(&["end", "if"])?;
            self.expect_end()?;
            return Ok(Step::If(arms, otherwise));
        }
    }

    /// A condition, `THEN`, and statements.
    fn arm(&mut self) -> Result<(super::Fragment, Vec<Line>)> {
        let condition = self.fragment(FragmentKind::Expression, &["then"], "then")?;
        self.parser.expect(&["then"])?;
        Ok((condition, self.lines()?))
    }

    fn case_step(&mut self) -> Result<Step> {
        let line = self.line();
        self.parser.skip(1);
        let outside = self.seen;
        let mut operand = None;
        let mut name = String::new();
        if !self.parser.is(&["when"]) {
            let value = self.fragment(FragmentKind::Expression, &["when"], "when")?;
            name = format!("__Case__Variable_{}__", self.variables.len());
            let number = self.declare(&name, VariableType::Operand, line);
            operand = Some((number, Box::new(value)));
        }
        let mut arms = Vec::new();
        while self.parser.eat(&["when"]) {
            if operand.is_none() {
                arms.push(self.arm()?);
                continue;
            }
            // The operand is one of the values.
            let start = self.parser.start();
            let values = self.fragment_text(&["then"])?;
            let lead = format!("\"{name}\" IN (");
            let text = format!("{lead}{values})");
            let source = format!("SELECT {text}");
            let kind = FragmentKind::Expression;
            let place = start.saturating_sub(lead.len());
            let condition = self.read(kind, text, source, -7, place)?;
            self.parser.expect(&["then"])?;
            arms.push((condition, self.lines()?));
        }
        if arms.is_empty() {
            return Err(self.parser.unexpected());
        }
        let otherwise = if self.parser.eat(&["else"]) { Some(self.lines()?) } else { None };
        self.parser.expect(&["end", "case"])?;
        self.expect_end()?;
        self.seen = outside;
        Ok(Step::Case { operand, arms, otherwise })
    }

    /// The text up to one of these words.
    fn fragment_text(&mut self, words: &[&str]) -> Result<String> {
        let start = self.parser.start();
        let end = self.skip_to(FragmentKind::Expression, words, ";")?;
        Ok(self.text[start..end].to_owned())
    }

    /// A loop.
    fn repeated(&mut self, label: Option<String>) -> Result<Step> {
        let outside = self.seen;
        self.open_level(label.clone(), ItemKind::Loop);
        let word = self.parser.word(0).unwrap_or_default().to_owned();
        self.parser.skip(1);
        let step = match word.as_str() {
            "while" => {
                let condition = self.fragment(FragmentKind::Expression, &["loop"], "loop")?;
                let body = self.loop_body(label.as_deref())?;
                Step::While(label, Box::new(condition), body)
            }
            "for" => self.for_step(label)?,
            "foreach" => self.each(label)?,
            _ => {
                let body = self.loop_body(label.as_deref())?;
                Step::Loop(label, body)
            }
        };
        self.seen = outside;
        Ok(step)
    }

    /// `LOOP ... END LOOP [label];`, whose first word may be taken already.
    fn loop_body(&mut self, label: Option<&str>) -> Result<Vec<Line>> {
        self.parser.eat(&["loop"]);
        self.loops.push((label.map(str::to_owned), true));
        let body = self.lines()?;
        self.loops.pop();
        self.parser.expect(&["end", "loop"])?;
        self.end_label(label, "block's")?;
        self.expect_end()?;
        Ok(body)
    }

    fn for_step(&mut self, label: Option<String>) -> Result<Step> {
        let (line, at) = (self.line(), self.parser.at());
        // The first name may be a variable that the loop makes, or variables for the columns of rows.
        let name_start = self.parser.start();
        let known = self.target_ahead();
        let mut targets = None;
        let mut simple = None;
        match known {
            Some((_, length)) if !self.is_single_name() || length > 1 => {
                targets = Some(self.targets()?);
            }
            Some(_) => {
                simple = Some(self.any_name()?.0);
                targets = Some(vec![known.map(|(target, _)| target).expect("it was found")]);
            }
            None => simple = Some(self.any_name()?.0),
        }
        if self.parser.is_punct(0, ",") || self.parser.is_punct(0, ".") {
            let name = &self.text[name_start..self.parser.end()];
            let message = format!("\"{name}\" is not a scalar variable");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        }
        self.parser.expect(&["in"])?;
        if self.parser.eat(&["execute"]) {
            let targets = self.row_targets(targets, at)?;
            let execute = self.execute_text(&["loop"])?;
            let body = self.loop_body(label.as_deref())?;
            return Ok(Step::Dynamic(label, targets, Box::new(execute), body));
        }
        let reverse = self.parser.eat(&["reverse"]);
        if reverse || self.has_range() {
            return self.count(label, simple, reverse, (line, at));
        }
        let targets = self.row_targets(targets, at)?;
        let query = self.fragment(FragmentKind::Statement, &["loop"], "loop")?;
        let body = self.loop_body(label.as_deref())?;
        Ok(Step::Rows(label, targets, Box::new(query), body))
    }

    /// True if the name that comes next is followed by `IN`.
    fn is_single_name(&self) -> bool {
        self.parser.word(1) == Some("in")
    }

    /// The variables of a loop over rows.
    fn row_targets(
        &self,
        targets: Option<Vec<super::Target>>,
        at: At,
    ) -> Result<Vec<super::Target>> {
        targets.ok_or_else(|| {
            let message = "loop variable of loop over rows must be a record variable or list of \
                           scalar variables";
            Error::new(SqlState::SYNTAX_ERROR, message).at(at)
        })
    }

    /// True if `..` comes before `LOOP`.
    fn has_range(&self) -> bool {
        let mut ahead = 0;
        let mut depth = 0_usize;
        loop {
            match self.parser.peek(ahead) {
                Token::End | Token::Punct(";") => return false,
                Token::Punct("..") if depth == 0 => return true,
                Token::Punct("(" | "[") => depth += 1,
                Token::Punct(")" | "]") => depth = depth.saturating_sub(1),
                Token::Word(word) if depth == 0 && word == "loop" => return false,
                _ => {}
            }
            ahead += 1;
        }
    }

    fn count(
        &mut self,
        label: Option<String>,
        name: Option<String>,
        reverse: bool,
        (line, at): (u32, At),
    ) -> Result<Step> {
        let Some(name) = name else {
            let message = "integer FOR loop must have only one target variable";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        };
        let low = self.fragment(FragmentKind::Expression, &[], "..")?;
        self.parser.skip(1);
        let high = self.fragment(FragmentKind::Expression, &["loop", "by"], "loop")?;
        let mut by = None;
        if self.parser.eat(&["by"]) {
            by = Some(Box::new(self.fragment(FragmentKind::Expression, &["loop"], "loop")?));
        }
        let variable = self.declare(&name, VariableType::Fixed(Type::INT4), line);
        let body = self.loop_body(label.as_deref())?;
        let bounds = Box::new((low, high));
        Ok(Step::Count { label, variable, reverse, bounds, by, body })
    }

    fn each(&mut self, label: Option<String>) -> Result<Step> {
        let target = self.target()?;
        let mut slice = 0;
        if self.parser.eat(&["slice"]) {
            let Token::Number(digits) = self.parser.peek(0) else {
                return Err(self.parser.unexpected());
            };
            slice = digits.parse().map_err(|_| self.parser.unexpected())?;
            self.parser.skip(1);
        }
        self.parser.expect(&["in", "array"])?;
        let array = Box::new(self.fragment(FragmentKind::Expression, &["loop"], "loop")?);
        let body = self.loop_body(label.as_deref())?;
        Ok(Step::Each { label, target, slice, array, body })
    }

    fn leave(&mut self, exit: bool) -> Result<Step> {
        let word_at = self.parser.at();
        self.parser.skip(1);
        let mut label = None;
        if !self.parser.is_punct(0, ";") && !self.parser.is(&["when"]) {
            let (name, at) = self.any_name()?;
            let known = |found: &&(Option<String>, bool)| found.0.as_deref() == Some(name.as_str());
            let message = match self.loops.iter().rev().find(known) {
                None => format!(
                    "there is no label \"{name}\" attached to any block or loop enclosing this \
                     statement"
                ),
                Some((_, false)) if !exit => {
                    format!("block label \"{name}\" cannot be used in CONTINUE")
                }
                Some(_) => String::new(),
            };
            if !message.is_empty() {
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
            }
            label = Some(name);
        } else if !self.loops.iter().any(|(_, is_loop)| *is_loop) {
            let message = match exit {
                true => "EXIT cannot be used outside a loop, unless it has a label",
                false => "CONTINUE cannot be used outside a loop",
            };
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(word_at));
        }
        let mut condition = None;
        if self.parser.eat(&["when"]) {
            condition = Some(Box::new(self.fragment(FragmentKind::Expression, &[], ";")?));
        }
        self.expect_end()?;
        Ok(Step::Leave(exit, label, condition))
    }

    fn return_step(&mut self) -> Result<Step> {
        self.parser.skip(1);
        let at = self.parser.at();
        let message = match self.parser.word(0) {
            Some("next") => "cannot use RETURN NEXT in a non-SETOF function",
            Some("query") => "cannot use RETURN QUERY in a non-SETOF function",
            _ if self.parser.is_punct(0, ";") => {
                self.expect_end()?;
                return Ok(Step::Return);
            }
            _ => "RETURN cannot have a parameter in function returning void",
        };
        Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(at))
    }

    /// Parses the text after `EXECUTE`, up to its semicolon or one of these words.
    fn execute_text(&mut self, ends: &[&str]) -> Result<Execute> {
        let words: Vec<&str> = ["into", "using"].iter().chain(ends).copied().collect();
        let text = self.fragment(FragmentKind::Expression, &words, ";")?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            if into.is_none() && ends.is_empty() && self.parser.eat(&["into"]) {
                into = Some(self.targets_of_into()?);
            } else if using.is_empty() && self.parser.eat(&["using"]) {
                let words: Vec<&str> = ["into"].iter().chain(ends).copied().collect();
                loop {
                    using.push(self.one_of_list(&words)?);
                    if !self.parser.eat_punct(",") {
                        break;
                    }
                }
            } else {
                return Ok(Execute { text, using, into });
            }
        }
    }

    /// An expression of a list, up to a comma, a semicolon or one of these words.
    pub(super) fn one_of_list(&mut self, words: &[&str]) -> Result<super::Fragment> {
        let mut ahead = 0;
        let mut depth = 0_usize;
        let has_comma = loop {
            match self.parser.peek(ahead) {
                Token::End | Token::Punct(";") => break false,
                Token::Punct(",") if depth == 0 => break true,
                Token::Word(word) if depth == 0 && words.contains(&&**word) => break false,
                Token::Punct("(" | "[") => depth += 1,
                Token::Punct(")" | "]") => depth = depth.saturating_sub(1),
                _ => {}
            }
            ahead += 1;
        };
        let punct = if has_comma { "," } else { ";" };
        self.fragment(FragmentKind::Expression, words, punct)
    }
}

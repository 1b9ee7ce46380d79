//! Parts of a JSON text, as PostgreSQL's functions of `json` find them.

use super::syntax::{Lexer, SyntaxError, Token, unquote};
use crate::jsonb::{JsonbError, subscript};
use crate::tape::Kind;
use crate::text;

/// A value inside a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written<'a> {
    kind: Kind,
    text: &'a str,
}

impl<'a> Written<'a> {
    /// Its kind.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// As it is written, without space around it.
    pub fn json(self) -> &'a str {
        self.text
    }

    /// As SQL's text: strings without quotes and escapes, nothing for `null`.
    pub fn to_text(self) -> Option<String> {
        match self.kind {
            Kind::Null => None,
            Kind::String => Some(unquote(self.text)),
            _ => Some(self.text.to_owned()),
        }
    }
}

/// Reads whole values from a lexer.
struct Reader<'a> {
    lexer: Lexer<'a>,
}

impl<'a> Reader<'a> {
    /// Reads the rest of the value that begins with `token`, the last one of the lexer.
    fn value(&mut self, token: Token) -> Result<Written<'a>, SyntaxError> {
        let start = self.lexer.start;
        let kind = kind(token);
        let mut depth = 0usize;
        let mut token = token;
        loop {
            match token {
                Token::OpenObject | Token::OpenArray => depth += 1,
                Token::CloseObject | Token::CloseArray => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 || token == Token::End {
                return Ok(Written { kind, text: self.lexer.between(start, self.lexer.end) });
            }
            token = self.lexer.next()?;
        }
    }

    /// The next name of the object that is open, with the colon behind it; none at its end.
    fn name(&mut self) -> Result<Option<String>, SyntaxError> {
        let mut token = self.lexer.next()?;
        if token == Token::Comma {
            token = self.lexer.next()?;
        }
        if token != Token::Scalar(Kind::String) {
            return Ok(None);
        }
        let name = unquote(self.lexer.written());
        self.lexer.next()?;
        Ok(Some(name))
    }

    /// The first token of the next element of the array that is open; none at its end.
    fn element(&mut self) -> Result<Option<Token>, SyntaxError> {
        let mut token = self.lexer.next()?;
        if token == Token::Comma {
            token = self.lexer.next()?;
        }
        Ok((!matches!(token, Token::CloseArray | Token::End)).then_some(token))
    }
}

/// The kind of the value that begins with a token.
fn kind(token: Token) -> Kind {
    match token {
        Token::OpenObject => Kind::Object,
        Token::OpenArray => Kind::Array,
        Token::Scalar(kind) => kind,
        _ => Kind::Null,
    }
}

/// Opens a text: a reader behind its first token, and the token.
fn open(text: &str, escapes: bool) -> Result<(Reader<'_>, Token), SyntaxError> {
    let mut lexer = Lexer::new(text, escapes);
    let token = lexer.next()?;
    Ok((Reader { lexer }, token))
}

/// `json_typeof`: `object`, `array`, `string`, `number`, `boolean` or `null`.
///
/// # Errors
/// Fails if the text is not JSON from the first character on.
pub fn type_name(json: &str) -> Result<&'static str, SyntaxError> {
    Ok(match kind(open(json, false)?.1) {
        Kind::Null => "null",
        Kind::False | Kind::True => "boolean",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    })
}

/// Steps through a document: each is a name where it meets an object, a position where it meets an
/// array.
#[derive(Clone, Copy)]
pub struct Path<'p> {
    name: Option<&'p str>,
    position: Option<i32>,
}

impl<'p> Path<'p> {
    /// A step that only leads into objects.
    pub fn name(name: &'p str) -> Path<'p> {
        Path { name: Some(name), position: None }
    }

    /// A step that only leads into arrays; negative positions count from the end.
    pub fn position(position: i32) -> Path<'p> {
        Path { name: None, position: Some(position) }
    }

    /// A step as `#>` has it: a name, and a position if it can be read as one.
    pub fn either(text: &'p str) -> Path<'p> {
        Path { name: Some(text), position: subscript(text) }
    }
}

/// `json -> text`: the field called `name` of an object; of several the last.
///
/// # Errors
/// Escapes that no text can hold, anywhere in `json`.
pub fn field<'a>(json: &'a str, name: &str) -> Result<Option<Written<'a>>, SyntaxError> {
    get_path(json, &[Path::name(name)])
}

/// `json -> integer`: an element of an array, counted from 0 or, from -1, backwards from the end.
///
/// # Errors
/// As [`field`].
pub fn get(json: &str, position: i32) -> Result<Option<Written<'_>>, SyntaxError> {
    get_path(json, &[Path::position(position)])
}

/// `json #> text[]`: what a path leads to. Where names occur more than once, the last value that
/// the whole path leads to.
///
/// # Errors
/// As [`field`].
pub fn get_path<'a>(json: &'a str, path: &[Path<'_>]) -> Result<Option<Written<'a>>, SyntaxError> {
    let (mut reader, token) = open(json, true)?;
    let Some(first) = path.first() else { return reader.value(token).map(Some) };
    let mut found = None;
    // The containers on the path that are open; the n-th is searched for step n.
    let mut levels = Vec::from_iter(Level::enter(&reader, token, first)?);
    while let Some(level) = levels.last_mut() {
        let Some((token, hit)) = level.advance(&mut reader)? else {
            levels.pop();
            continue;
        };
        let next = if hit { path.get(levels.len()) } else { None };
        let inner = match next {
            Some(step) => Level::enter(&reader, token, step)?,
            None => None,
        };
        if inner.is_some() {
            levels.extend(inner);
        } else {
            let value = reader.value(token)?;
            if hit && next.is_none() {
                found = Some(value);
            }
        }
    }
    Ok(found)
}

/// A container on a path: what is looked for in it.
enum Level<'p> {
    /// The field of this name.
    Object(Option<&'p str>),
    /// The element after so many others; none if it has gone by or is not there.
    Array(Option<usize>),
}

impl<'p> Level<'p> {
    /// The container that begins with `token`, if one does.
    fn enter(
        reader: &Reader<'_>,
        token: Token,
        step: &Path<'p>,
    ) -> Result<Option<Level<'p>>, SyntaxError> {
        Ok(match token {
            Token::OpenObject => Some(Level::Object(step.name)),
            Token::OpenArray => Some(Level::Array(match step.position {
                Some(position) if position < 0 => {
                    reader.count()?.checked_sub(position.unsigned_abs() as usize)
                }
                position => position.map(|position| position as usize),
            })),
            _ => None,
        })
    }

    /// The first token of the next value, and whether it is what is looked for; none at the end.
    fn advance(&mut self, reader: &mut Reader<'_>) -> Result<Option<(Token, bool)>, SyntaxError> {
        match self {
            Level::Object(wanted) => {
                let Some(name) = reader.name()? else { return Ok(None) };
                Ok(Some((reader.lexer.next()?, *wanted == Some(name.as_str()))))
            }
            Level::Array(left) => {
                let Some(token) = reader.element()? else { return Ok(None) };
                let hit = *left == Some(0);
                *left = left.and_then(|left| left.checked_sub(1));
                Ok(Some((token, hit)))
            }
        }
    }
}

/// `json_array_length`.
///
/// # Errors
/// [`JsonbError::LengthOfScalar`], [`JsonbError::LengthOfNonArray`].
pub fn array_length(json: &str) -> Result<usize, JsonbError> {
    let (reader, token) = open(json, false)?;
    match kind(token) {
        Kind::Array => Ok(reader.count()?),
        Kind::Object => Err(JsonbError::LengthOfNonArray),
        _ => Err(JsonbError::LengthOfScalar),
    }
}

/// The elements of an array, in order.
pub struct Elements<'a>(Reader<'a>);

/// `json_array_elements`, called by the name of `function`.
///
/// # Errors
/// [`JsonbError::WrongKind`]; and the iterator ends with the first escape that no text can hold.
pub fn elements<'a>(json: &'a str, function: &'static str) -> Result<Elements<'a>, JsonbError> {
    let (reader, token) = open(json, true)?;
    let what = match kind(token) {
        Kind::Array => return Ok(Elements(reader)),
        Kind::Object => "a non-array",
        _ => "a scalar",
    };
    Err(JsonbError::WrongKind { function, what })
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Written<'a>, SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        let token = self.0.element().transpose()?;
        Some(token.and_then(|token| self.0.value(token)))
    }
}

/// The fields of an object in the order they are written in, all of those that share a name.
pub struct Fields<'a>(Reader<'a>);

/// `json_each`.
///
/// # Errors
/// [`JsonbError::FieldsOfArray`], [`JsonbError::FieldsOfScalar`]; and the iterator ends with the
/// first escape that no text can hold.
pub fn each(json: &str) -> Result<Fields<'_>, JsonbError> {
    let (reader, token) = open(json, true)?;
    match kind(token) {
        Kind::Object => Ok(Fields(reader)),
        Kind::Array => Err(JsonbError::FieldsOfArray),
        _ => Err(JsonbError::FieldsOfScalar),
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(String, Written<'a>), SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.0.name().transpose()?;
        Some(name.and_then(|name| {
            let token = self.0.lexer.next()?;
            Ok((name, self.0.value(token)?))
        }))
    }
}

/// `json_object_keys`: names in the order they are written in, with those that occur again.
///
/// # Errors
/// [`JsonbError::WrongKind`], and escapes that no text can hold.
pub fn object_names(json: &str) -> Result<Vec<String>, JsonbError> {
    let wrong = |what| Err(JsonbError::WrongKind { function: "json_object_keys", what });
    match each(json) {
        Ok(fields) => Ok(fields.map(|field| Ok(field?.0)).collect::<Result<_, SyntaxError>>()?),
        Err(JsonbError::FieldsOfArray) => wrong("an array"),
        Err(JsonbError::FieldsOfScalar) => wrong("a scalar"),
        Err(error) => Err(error),
    }
}

/// `json_strip_nulls`: the text without the fields that are null, at any depth, and without space.
///
/// # Errors
/// Escapes that no text can hold.
pub fn strip_nulls(json: &str) -> Result<String, SyntaxError> {
    let (mut reader, mut token) = open(json, true)?;
    let mut out = Vec::with_capacity(json.len());
    // The containers that are open; true for objects.
    let mut open: Vec<bool> = Vec::new();
    loop {
        match token {
            Token::OpenObject | Token::OpenArray => {
                open.push(token == Token::OpenObject);
                out.push(if token == Token::OpenObject { b'{' } else { b'[' });
            }
            Token::Scalar(Kind::String) => quote_into(&unquote(reader.lexer.written()), &mut out),
            _ => out.extend_from_slice(reader.lexer.written().as_bytes()),
        }
        // On to the first token of the next value that is kept.
        token = loop {
            let next = match open.last() {
                None => return Ok(String::from_utf8_lossy(&out).into_owned()),
                Some(true) => match reader.name()? {
                    Some(name) => match reader.lexer.next()? {
                        Token::Scalar(Kind::Null) => continue,
                        token => Some((token, Some(name))),
                    },
                    None => None,
                },
                Some(false) => reader.element()?.map(|token| (token, None)),
            };
            match next {
                Some((token, name)) => {
                    if !matches!(out.last(), Some(b'{' | b'[')) {
                        out.push(b',');
                    }
                    if let Some(name) = name {
                        quote_into(&name, &mut out);
                        out.push(b':');
                    }
                    break token;
                }
                None => out.push(if open.pop() == Some(true) { b'}' } else { b']' }),
            }
        };
    }
}

fn quote_into(string: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    text::escape_into(string, out);
    out.push(b'"');
}

impl Reader<'_> {
    /// How many elements are left in the array that is open.
    fn count(&self) -> Result<usize, SyntaxError> {
        let mut ahead = Reader { lexer: self.lexer.clone() };
        let mut count = 0;
        while let Some(token) = ahead.element()? {
            ahead.value(token)?;
            count += 1;
        }
        Ok(count)
    }
}

/// `json_build_object`: names and JSON texts in PostgreSQL's spacing, `{"a" : 1, "b" : 2}`.
pub fn build_object<'t>(fields: impl IntoIterator<Item = (&'t str, &'t str)>) -> String {
    let fields = fields.into_iter().map(|(name, value)| format!("{} : {value}", text::quote(name)));
    format!("{{{}}}", Vec::from_iter(fields).join(", "))
}

/// `json_build_array`: JSON texts in PostgreSQL's spacing, `[1, 2]`.
pub fn build_array<'t>(elements: impl IntoIterator<Item = &'t str>) -> String {
    format!("[{}]", Vec::from_iter(elements).join(", "))
}

//! Texts that the catalog keeps: defaults, checks, keys of indexes, queries of views.
//!
//! ```text
//!   price > 0 and kind = 'a'::color              as it was written, along the search path
//!   price > 0 and kind = 'a'::public.color       as it is kept: read alike wherever it is read
//!   ^^^^^         ^^^^        ^^^^^^ ^^^^^       places of names, which a rename writes anew
//! ```

use std::sync::Arc;

use sql::bind::{Merge, Named, Star, Text, Written};
use sql::parse::ast::{Call, Expr, ExprKind, Name, Path, TypeName};
use sql::parse::visit::{self, Visitor};
use table::catalog::{Address, Class, Column, NamePlace, Relation, SqlText};
use types::{Oid, Type};

use crate::error::{Error, Result};
use crate::names::Names;
use crate::system::PG_CATALOG;

/// The columns that an expression may name: those of one relation.
#[derive(Clone, Copy)]
pub struct Over<'a> {
    /// The relation; none for one that is being made.
    pub relation: Oid,
    /// The schema that it is in.
    pub schema: Oid,
    /// Its name, which may stand before a column, alone or with its schema.
    pub name: &'a str,
    /// Name and number of each column.
    pub columns: &'a [(Arc<str>, i16)],
}

impl<'a> Over<'a> {
    /// The columns of a relation of the catalog, given [`columns_of`] it.
    pub fn of(relation: &'a Relation, columns: &'a [(Arc<str>, i16)]) -> Self {
        Over { relation: relation.oid, schema: relation.schema, name: &relation.name, columns }
    }
}

/// Name and number of the columns of a relation that is there.
pub fn columns_of<'a>(columns: impl Iterator<Item = &'a Column>) -> Vec<(Arc<str>, i16)> {
    columns.map(|column| (Arc::clone(&column.name), column.attnum)).collect()
}

/// An expression as the catalog keeps it.
///
/// # Errors
/// Fails if it cannot be read.
pub fn expression(text: &str, over: Option<Over<'_>>, names: &Names) -> Result<SqlText> {
    let parsed = sql::parse::expression(text).map_err(|error| Error::in_text(error, text))?;
    let mut edits = Edits { text, names, over, edits: Vec::new(), depends: Vec::new() };
    visit::expr(&parsed, &mut edits);
    Ok(edits.done())
}

/// A query as the catalog keeps it: it goes on meaning what `bound` says, whatever its tables and
/// their columns are called later. Each `*` stands for the columns that there are now, joins over
/// columns of one name have a condition instead, and an output is still called what its column was.
pub fn query(parsed: &sql::parse::ast::Query, text: &str, names: &Names, bound: &Text) -> SqlText {
    let mut edits = Edits { text, names, over: None, edits: Vec::new(), depends: Vec::new() };
    visit::query(parsed, &mut edits);
    // The columns of one such join may be those of another: all are written so, or none.
    let has_conditions = bound.merges.iter().all(|merge| merge.pairs.is_some());
    bound.stars.iter().for_each(|star| edits.star(star, has_conditions));
    bound.named.iter().for_each(|named| edits.named(named, has_conditions));
    bound.merges.iter().for_each(|merge| edits.merge(merge, has_conditions));
    edits.done()
}

/// The length of the identifier at an offset of a text, quotes and `UESCAPE` included.
pub fn identifier_len(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    if rest.starts_with("U&\"") || rest.starts_with("u&\"") {
        return sql::parse::name_len(rest);
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        let mut chars = quoted.char_indices().peekable();
        while let Some((place, c)) = chars.next() {
            if c == '"' && chars.next_if(|(_, next)| *next == '"').is_none() {
                return place + 2;
            }
        }
        return rest.len();
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

/// A piece of the text that is written otherwise, and what it names.
struct Edit {
    at: usize,
    len: usize,
    text: String,
    /// Places in the new piece.
    names: Vec<(usize, usize, Address)>,
}

impl Edit {
    fn new(at: usize, len: usize) -> Self {
        Edit { at, len, text: String::new(), names: Vec::new() }
    }

    fn name(&mut self, name: &str, object: Option<Address>) {
        let quoted = scalar::quote::identifier(name);
        self.names.extend(object.map(|object| (self.text.len(), quoted.len(), object)));
        self.text.push_str(&quoted);
    }

    /// Adds a column. `has_conditions` is false if joins over columns of one name stay what they
    /// are, and have a column of that name.
    fn column(&mut self, column: &Written, has_conditions: bool) {
        match column {
            Written::Column(table, name, origin) => {
                if let Some((table, relation)) = table {
                    self.name(table, relation.map(Address::relation));
                    self.text.push('.');
                }
                let origin = origin.as_ref();
                self.name(name, origin.map(|at| Address::column(at.relation, at.attnum)));
            }
            Written::Either(_, name) if !has_conditions => self.name(name, None),
            Written::Either(both, _) => {
                self.text.push_str("COALESCE(");
                self.column(&both.0, true);
                self.text.push_str(", ");
                self.column(&both.1, true);
                self.text.push(')');
            }
        }
    }

    /// Adds a column as an output without an alias, whose name stays when that of the column changes.
    fn output(&mut self, column: &Written, has_conditions: bool) {
        self.column(column, has_conditions);
        if let Written::Column(_, name, Some(_)) | Written::Either(_, name) = column {
            self.text.push_str(" AS ");
            self.name(name, None);
        }
    }
}

struct Edits<'a> {
    text: &'a str,
    names: &'a Names,
    over: Option<Over<'a>>,
    edits: Vec<Edit>,
    depends: Vec<Address>,
}

impl Edits<'_> {
    /// The length of the identifier at an offset, quotes included.
    fn identifier_len(&self, at: usize) -> usize {
        identifier_len(self.text, at)
    }

    /// The bytes that a name of several parts takes.
    fn span(&self, parts: &[Name]) -> Option<(usize, usize)> {
        let (first, last) = (parts.first()?.at.get()?, parts.last()?.at.get()?);
        Some((first, last + self.identifier_len(last)))
    }

    /// Writes the columns of a `*` in its place.
    fn star(&mut self, star: &Star, has_conditions: bool) {
        let Some(start) = star.at.get() else { return };
        let Some(len) = self.text[start..].find('*') else { return };
        let mut edit = Edit::new(start, len + 1);
        for column in &star.columns {
            if !edit.text.is_empty() {
                edit.text.push_str(", ");
            }
            match star.is_named {
                true => edit.output(column, has_conditions),
                false => edit.column(column, has_conditions),
            }
        }
        self.edits.push(edit);
    }

    /// Writes the name of a column, with its table where it needs one.
    fn named(&mut self, named: &Named, has_conditions: bool) {
        let (Some(at), Some(end)) = (named.from.get(), named.at.get()) else { return };
        let mut edit = Edit::new(at, end + self.identifier_len(end) - at);
        match named.is_output {
            true => edit.output(&named.column, has_conditions),
            false => edit.column(&named.column, has_conditions),
        }
        self.edits.push(edit);
    }

    /// Writes a join over columns of one name with a condition, or at least with these columns.
    fn merge(&mut self, merge: &Merge, has_conditions: bool) {
        let Some(start) = merge.at.get() else { return };
        let (right_end, end) = merge.ends;
        let mut edit = Edit::new(right_end, end - right_end);
        match &merge.pairs {
            Some(pairs) if has_conditions => {
                // The comment tells the printer of definitions what was written.
                edit.text.push_str(" ON ");
                edit.text.push_str(sql::parse::WAS_USING);
                edit.text.push_str(" (");
                for (number, (left, right)) in pairs.iter().enumerate() {
                    if number > 0 {
                        edit.text.push_str(" AND ");
                    }
                    edit.column(left, true);
                    edit.text.push_str(" = ");
                    edit.column(right, true);
                }
                edit.text.push_str(if pairs.is_empty() { "true)" } else { ")" });
            }
            _ if !merge.is_natural => return,
            _ if merge.names.is_empty() => edit.text.push_str(" ON (true)"),
            _ => {
                let quoted = merge.names.iter().map(|name| scalar::quote::identifier(name));
                let quoted: Vec<_> = quoted.collect();
                edit.text = format!(" USING ({})", quoted.join(", "));
            }
        }
        if merge.is_natural {
            // The word goes, and the space behind it.
            let word = self.identifier_len(start);
            let rest = &self.text[start + word..];
            self.edits.push(Edit::new(start, word + rest.len() - rest.trim_start().len()));
        }
        self.edits.push(edit);
    }

    /// Writes the name of an object in a schema with that schema.
    fn qualify(&mut self, parts: &[Name], schema: Oid, object: Address, name: &str) {
        let Some((start, end)) = self.span(parts) else { return };
        let schema_name = scalar::quote::identifier(self.names.schema_name(schema));
        let name = scalar::quote::identifier(name);
        let text = format!("{schema_name}.{name}");
        let names = vec![
            (0, schema_name.len(), Address::of(Class::Schema, schema)),
            (schema_name.len() + 1, name.len(), object),
        ];
        self.edits.push(Edit { at: start, len: end - start, text, names });
    }

    /// A string that names a relation, which stays what it is.
    fn relation_literal(&mut self, text: &str, expr: &Expr, cast: bool) {
        let Ok(oid) = self.names.regclass(text) else { return };
        let Some(relation) = self.names.catalog.relation(oid) else { return };
        let Some(start) = expr.at.get() else { return };
        let len = self.string_len(start);
        let schema_name = scalar::quote::identifier(self.names.schema_name(relation.schema));
        let name = scalar::quote::identifier(&relation.name);
        if schema_name.contains('\'') || name.contains('\'') {
            self.depends.push(Address::relation(oid));
            return;
        }
        let tail = if cast { "::regclass" } else { "" };
        let written = format!("'{schema_name}.{name}'{tail}");
        let names = vec![
            (1, schema_name.len(), Address::of(Class::Schema, relation.schema)),
            (schema_name.len() + 2, name.len(), Address::relation(oid)),
        ];
        self.edits.push(Edit { at: start, len, text: written, names });
    }

    /// Writes the name of a function of an extension with its schema, unless a built-in function has that name.
    fn function_of_extension(&mut self, call: &Call) {
        let names: &Names = self.names;
        let schema = match &call.name.parts[..] {
            _ if call.syntax => return,
            [.., schema, _] => Some(schema.text.as_str()),
            _ => None,
        };
        let origins = names.origins_of(schema);
        let named = scalar::registry::functions(call.name.last());
        let found = named.iter().find(|function| origins.has(function.oid));
        let Some(function) = found.filter(|found| types::extension::of(found.oid).is_some()) else {
            return;
        };
        if let Some(schema) = names.member_schema(function.oid) {
            let object = Address::of(Class::Function, function.oid);
            self.qualify(&call.name.parts, schema, object, function.name);
        }
    }

    /// The length of the plain string at an offset.
    fn string_len(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let mut chars = rest.char_indices().skip(1).peekable();
        while let Some((place, c)) = chars.next() {
            if c == '\'' && chars.next_if(|(_, next)| *next == '\'').is_none() {
                return place + 1;
            }
        }
        rest.len()
    }

    /// The text with all edits, and where names stand in it.
    fn done(mut self) -> SqlText {
        self.edits.sort_by_key(|edit| edit.at);
        let mut text = String::with_capacity(self.text.len() + 16 * self.edits.len());
        let mut names = Vec::new();
        let mut from = 0;
        for edit in &self.edits {
            if edit.at < from {
                continue;
            }
            text.push_str(&self.text[from..edit.at]);
            let base = text.len();
            for (at, len, object) in &edit.names {
                // The schema of what an extension has may be moved away or left out, also where it is `public`.
                let is_of_member =
                    edit.names.iter().any(|(.., named)| types::extension::of(named.oid).is_some());
                if object.oid.is_builtin() && object.class != Class::Relation && !is_of_member {
                    continue;
                }
                names.push(NamePlace { at: (base + at) as u32, len: *len as u32, object: *object });
            }
            text.push_str(&edit.text);
            from = edit.at + edit.len;
        }
        text.push_str(&self.text[from..]);
        self.depends.sort_unstable();
        self.depends.dedup();
        SqlText { text: text.into(), names, depends: self.depends }
    }
}

impl Visitor for Edits<'_> {
    fn table(&mut self, path: &Path) {
        let Ok((schema, name)) = self.names.split(path) else { return };
        let Some(relation) = self.names.user_relation(schema, name).cloned() else { return };
        let object = Address::relation(relation.oid);
        self.qualify(&path.parts, relation.schema, object, &relation.name);
    }

    fn column(&mut self, parts: &[Name]) {
        let Some(over) = self.over else { return };
        let is_own = |schema: &Name, table: &Name| {
            table.text == over.name && schema.text == self.names.schema_name(over.schema)
        };
        let name = match parts {
            [name] => name,
            [table, name] if table.text == over.name => name,
            // The whole row.
            [schema, table] if is_own(schema, table) => table,
            [schema, table, name] if is_own(schema, table) => name,
            [database, schema, table, name]
                if is_own(schema, table)
                    && sql::bind::Names::is_database(self.names, &database.text) =>
            {
                name
            }
            _ => return,
        };
        let found = over.columns.iter().find(|(known, _)| **known == *name.text);
        let object = match found {
            Some((_, attnum)) => Address::column(over.relation, *attnum),
            None if name.text == over.name => Address::relation(over.relation),
            None => return,
        };
        let Some((start, end)) = self.span(parts) else { return };
        let text = scalar::quote::identifier(&name.text);
        let names = vec![(0, text.len(), object)];
        self.edits.push(Edit { at: start, len: end - start, text, names });
    }

    fn type_name(&mut self, ty: &TypeName) {
        let Ok((schema, name)) = self.names.split(&ty.name) else { return };
        if schema.is_none_or(|schema| schema == "pg_catalog")
            && types::builtin::by_name(name).is_some()
        {
            return;
        }
        let Some(found) = sql::bind::Names::user_type(self.names, schema, name) else {
            return;
        };
        let Some(entry) = self.names.catalog.type_entry(found) else {
            let schema = self.names.member_schema(found.oid());
            if let (Some(facts), Some(schema)) = (types::builtin::facts(found), schema) {
                let object = Address::of(Class::Type, found.oid());
                self.qualify(&ty.name.parts, schema, object, facts.name);
            }
            return;
        };
        let (schema, name) = (entry.schema(), Arc::clone(entry.name()));
        let object = match entry {
            table::catalog::TypeEntry::Row(relation)
            | table::catalog::TypeEntry::RowArray(relation) => Address::relation(relation.oid),
            _ => Address::of(Class::Type, element_of(self.names, found).oid()),
        };
        self.qualify(&ty.name.parts, schema, object, &name);
    }

    fn literal(&mut self, text: &str, expr: &Expr, to: &TypeName) {
        if to.name.last() == "regclass" {
            self.relation_literal(text, expr, false);
        }
    }

    fn collation(&mut self, path: &Path) {
        let Ok((schema, name)) = self.names.split(path) else { return };
        let found = sql::bind::Names::collation_named(self.names, schema, name);
        let Some(known) = found.and_then(|oid| self.names.catalog.collation(oid)) else { return };
        let object = Address::of(Class::Collation, known.oid);
        self.qualify(&path.parts, known.schema, object, &known.name);
    }

    fn call(&mut self, call: &Call) {
        self.function_of_extension(call);
        let of_sequence = ["nextval", "currval", "setval"].contains(&call.name.last());
        if of_sequence
            && let Some(first) = call.args.first()
            && let ExprKind::String(text) = &first.value.kind
        {
            self.relation_literal(text, &first.value, true);
        }
    }
}

fn element_of(names: &Names, ty: Type) -> Type {
    let entry = names.catalog.type_entry(ty);
    entry.and_then(table::catalog::TypeEntry::element).unwrap_or(ty)
}

/// The default of a `serial` column: the next value of its sequence.
pub fn next_value(names: &Names, schema: Oid, sequence: Oid, name: &str) -> SqlText {
    let schema_name = scalar::quote::identifier(names.schema_name(schema));
    let name = scalar::quote::identifier(name);
    let head = "nextval('";
    let text = format!("{head}{schema_name}.{name}'::regclass)");
    let place =
        |at: usize, len: usize, object| NamePlace { at: at as u32, len: len as u32, object };
    let mut places = Vec::new();
    if schema != PG_CATALOG {
        places.push(place(head.len(), schema_name.len(), Address::of(Class::Schema, schema)));
    }
    let at = head.len() + schema_name.len() + 1;
    places.push(place(at, name.len(), Address::relation(sequence)));
    SqlText { text: text.into(), names: places, depends: Vec::new() }
}

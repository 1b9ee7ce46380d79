//! Privileges as values: the defaults of an object (`acldefault`), and the rows of a list
//! (`aclexplode`); options of relations as a table.

use scalar::Rows;
use table::catalog::{Acl, AclItem, Privileges};
use types::{Datum, DatumRef, Error, Oid, Record, Repr, Result, SqlState, Type};

use super::{oid, text};
use crate::client::StatementContext;
use crate::names::Names;
use crate::system::rows::texts;

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    if name != "acldefault" {
        return Ok(None);
    }
    let kind = text(args, 0).chars().next().unwrap_or(' ');
    let acl = usual(kind, oid(args, 1))?;
    let name = |role: Oid| role_name(&around.names, role);
    let items: Vec<String> = acl.0.iter().map(|item| Acl::text_of(item, &name)).collect();
    Ok(Some(texts(Type::ACLITEM, items.iter().map(String::as_str))))
}

/// The privileges that everybody and the owner have on an object of a kind by default.
fn usual(kind: char, owner: Oid) -> Result<Acl> {
    const SET: Privileges = Privileges(1 << 12);
    const ALTER_SYSTEM: Privileges = Privileges(1 << 13);
    let (everybody, own) = match kind {
        'c' => (Privileges::NONE, Privileges::NONE),
        'r' => (Privileges::NONE, Privileges::ALL_TABLE),
        's' => (Privileges::NONE, Privileges::ALL_SEQUENCE),
        'd' => (Privileges::TEMPORARY | Privileges::CONNECT, Privileges::ALL_DATABASE),
        'f' => (Privileges::EXECUTE, Privileges::EXECUTE),
        'l' | 'T' => (Privileges::USAGE, Privileges::USAGE),
        'L' => (Privileges::NONE, Privileges::SELECT | Privileges::UPDATE),
        'n' => (Privileges::NONE, Privileges::ALL_SCHEMA),
        'p' => (Privileges::NONE, SET | ALTER_SYSTEM),
        't' => (Privileges::NONE, Privileges::CREATE),
        'F' | 'S' => (Privileges::NONE, Privileges::USAGE),
        _ => {
            let message = format!("unrecognized object type abbreviation: {kind}");
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
        }
    };
    let item = |grantee, privileges| AclItem {
        grantee,
        grantor: owner,
        privileges,
        grantable: Privileges::NONE,
    };
    let items = [item(Oid::NONE, everybody), item(owner, own)];
    Ok(Acl(items.into_iter().filter(|item| !item.privileges.is_empty()).collect()))
}

fn role_name(names: &Names, role: Oid) -> String {
    let role = names.catalog.role(role);
    role.map_or_else(String::new, |role| scalar::quote::identifier(&role.name))
}

/// The rows of `aclexplode`: one for each privilege of each item.
pub(super) fn explode(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<Rows> {
    let mut rows = Vec::new();
    for text in elements(args) {
        let item = read(&around.names, &text)?;
        for (privilege, name) in item.privileges.each() {
            rows.push(Ok(Datum::from(Record::new([
                (Type::OID, Repr::Oid, DatumRef::Oid(item.grantor)),
                (Type::OID, Repr::Oid, DatumRef::Oid(item.grantee)),
                (Type::TEXT, Repr::Text, DatumRef::Text(name)),
                (Type::BOOL, Repr::Bool, DatumRef::Bool(item.grantable.contains(privilege))),
            ]))));
        }
    }
    Ok(Box::new(rows.into_iter()))
}

/// The rows of `pg_options_to_table`: names and values of `name=value`.
pub(super) fn options(args: &[DatumRef<'_>]) -> Rows {
    let row = |text: String| {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, DatumRef::Text(value)),
            None => (text.as_str(), DatumRef::Null),
        };
        Ok(Datum::from(Record::new([
            (Type::TEXT, Repr::Text, DatumRef::Text(name)),
            (Type::TEXT, Repr::Text, value),
        ])))
    };
    Box::new(elements(args).into_iter().map(row).collect::<Vec<_>>().into_iter())
}

/// The elements of an array of texts.
fn elements(args: &[DatumRef<'_>]) -> Vec<String> {
    let Some(DatumRef::Array(array)) = args.first() else { return Vec::new() };
    let text = |element| match element {
        DatumRef::Text(text) => Some(str::to_owned(text)),
        _ => None,
    };
    array.iter().filter_map(text).collect()
}

/// An item from its text: `bob=r*w/alice`, where names may be quoted.
fn read(names: &Names, text: &str) -> Result<AclItem> {
    let bad = || {
        let message = format!("invalid input syntax for type aclitem: \"{text}\"");
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
    };
    let (grantee, rest) = name(text);
    let letters = rest.strip_prefix('=').ok_or_else(bad)?;
    let (letters, grantor) = letters.split_once('/').ok_or_else(bad)?;
    let (grantor, _) = name(grantor);
    let role = |name: &str| names.catalog.role_named(name).map(|role| role.oid);
    let (mut privileges, mut grantable) = (Privileges::NONE, Privileges::NONE);
    let mut last = Privileges::NONE;
    for letter in letters.chars() {
        match letter {
            '*' => grantable = grantable | last,
            letter => {
                last = Privileges::of_letter(letter).ok_or_else(bad)?;
                privileges = privileges | last;
            }
        }
    }
    Ok(AclItem {
        grantee: if grantee.is_empty() { Oid::NONE } else { role(&grantee).ok_or_else(bad)? },
        grantor: role(&grantor).ok_or_else(bad)?,
        privileges,
        grantable,
    })
}

/// A name at the beginning of a text, and what follows it.
fn name(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(['=', '/']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut name = String::new();
    let mut rest = quoted;
    while let Some(at) = rest.find('"') {
        name.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => break,
        }
    }
    (name, rest)
}

//! The facts about types: `pg_type`, names, modifiers.

use std::collections::BTreeSet;

use types::{Builtins, Coercion, Context, Error, Modifier, Oid, Type, builtin, format_type, text};

use crate::{check, type_of};

/// Everything that `pg_type` says of a type, from its OID.
fn row_of_type(fields: &[String], _: &Context<'_>) -> Result<String, Error> {
    let ty = Type(Oid(fields[0].parse().expect("an OID")));
    let facts = builtin::facts(ty).unwrap_or_else(|| panic!("{ty:?} is not built in"));
    let flag = |flag: bool| if flag { "t" } else { "f" }.to_owned();
    let or_none = |name: Option<String>| name.unwrap_or_else(|| "-".to_owned());
    let got = [
        fields[0].clone(),
        facts.name.to_owned(),
        facts.length.to_string(),
        flag(facts.is_by_value()),
        facts.kind().to_string(),
        facts.category.to_string(),
        flag(facts.is_preferred()),
        facts.element.oid().to_string(),
        facts.array.oid().to_string(),
        facts.input_function(),
        facts.output_function(),
        or_none(facts.receive_function()),
        or_none(facts.send_function()),
        or_none(facts.modifier_input_function()),
        or_none(facts.modifier_output_function()),
        facts.align.to_string(),
        facts.storage.to_string(),
        facts.collation().to_string(),
        or_none(facts.subscript_function().map(str::to_owned)),
    ];
    assert_eq!(got.as_slice(), fields, "{}", facts.name);
    Ok(facts.sql_name())
}

#[test]
fn built_in_types() {
    let table = include_str!("data/types.tsv");
    check(table, row_of_type);
    let in_table: BTreeSet<&str> = table.lines().filter_map(|row| row.split('\t').next()).collect();
    let missing: Vec<&str> = builtin::all()
        .iter()
        .filter(|facts| types::extension::of(facts.ty.oid()).is_none())
        .filter(|facts| !in_table.contains(facts.ty.oid().to_string().as_str()))
        .map(|facts| facts.name)
        .collect();
    assert_eq!(missing, [""; 0], "every type is in the table");
}

#[test]
fn names_with_modifiers() {
    check(include_str!("data/names.tsv"), |fields, _| {
        let (ty, modifier) = type_of(&fields[0]);
        Ok(format_type(&Builtins, ty, modifier))
    });
}

/// A text becomes a value of the type without its modifier, and is then brought under it.
fn under_modifier(fields: &[String], context: &Context<'_>) -> Result<String, Error> {
    let [name, input, coercion] = fields else { panic!("three fields: {fields:?}") };
    let (ty, modifier) = type_of(name);
    let value = match coercion.as_str() {
        "assign" => text::parse(input, ty, modifier, context)?,
        _ => {
            let wide = text::parse(input, ty, Modifier::NONE, context)?;
            modifier.apply(wide, ty, Coercion::Explicit)?
        }
    };
    Ok(text::to_string(value.as_ref(), ty, modifier, context).expect("not NULL"))
}

#[test]
fn modifiers() {
    check(include_str!("data/modifiers.tsv"), under_modifier);
}

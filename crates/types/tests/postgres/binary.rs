//! The binary form, written and read.

use types::{Context, Error, binary, text};

use crate::{check, type_of};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The value of a text is written; what is read back is written as the text again.
fn write_and_read(fields: &[String], context: &Context<'_>) -> Result<String, Error> {
    let [name, input] = fields else { panic!("two fields: {fields:?}") };
    let (ty, modifier) = type_of(name);
    let value = text::parse(input, ty, modifier, context)?;
    let mut bytes = Vec::new();
    binary::write(value.as_ref(), ty, modifier, context, &mut bytes).expect("nothing stops it");

    let read = binary::read(&bytes, ty, modifier, context)?;
    let shown = |value: &types::Datum| text::to_string(value.as_ref(), ty, modifier, context);
    assert_eq!(shown(&read), shown(&value), "{name} {input} read back");
    for end in 0..bytes.len() {
        // Reading bytes that are cut off anywhere gives an answer.
        let _ = binary::read(&bytes[..end], ty, modifier, context);
    }
    Ok(hex(&bytes))
}

#[test]
fn binary_forms() {
    check(include_str!("data/binary.tsv"), write_and_read);
}

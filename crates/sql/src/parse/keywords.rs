//! PostgreSQL's key words, by the places in which each may still be a name.
//!
//! | class | column or table | function or type | `AS` may be left out |
//! |---|---|---|---|
//! | unreserved | yes | yes | yes, but for [`NOT_BARE`] |
//! | column name | yes | no | yes, but for [`NOT_BARE`] |
//! | function or type | no | yes | yes, but for [`NOT_BARE`] |
//! | reserved | no | no | yes, but for [`NOT_BARE`] |
//!
//! Words that are not listed are unreserved or no key words at all, which is the same to a parser
//! that looks at the words themselves.

/// Words that may name a column or table, but no function or type.
const COLUMN: &str = " between bigint bit boolean char character coalesce dec decimal exists \
    extract float greatest grouping inout int integer interval json json_array json_arrayagg \
    json_exists json_object json_objectagg json_query json_scalar json_serialize json_table \
    json_value least merge_action national nchar none normalize nullif numeric out overlay \
    position precision real row setof smallint substring time timestamp treat trim values varchar \
    xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot \
    xmlserialize xmltable ";

/// Words that may name a function or type, but no column or table.
const FUNCTION: &str = " authorization binary collation concurrently cross current_schema freeze \
    full ilike inner is isnull join left like natural notnull outer overlaps right similar \
    tablesample verbose ";

/// Words that name nothing unless they are quoted.
const RESERVED: &str = " all analyse analyze and any array as asc asymmetric both case cast check \
    collate column constraint create current_catalog current_date current_role current_time \
    current_timestamp current_user default deferrable desc distinct do else end except false \
    fetch for foreign from grant group having in initially intersect into lateral leading limit \
    localtime localtimestamp not null offset on only or order placing primary references \
    returning select session_user some symmetric system_user table then to trailing true union \
    unique user using variadic when where window with ";

/// Words that need `AS` in front to name an output.
const NOT_BARE: &str = " array as char character create day except fetch filter for from grant \
    group having hour intersect into isnull limit minute month notnull offset on order over \
    overlaps precision returning second to union varying where window with within without year ";

fn is_in(list: &str, word: &str) -> bool {
    list.match_indices(word).any(|(at, _)| {
        at > 0
            && list.as_bytes()[at - 1] == b' '
            && list.as_bytes().get(at + word.len()) == Some(&b' ')
    })
}

/// True for a word that may name a column or a table.
pub fn names_column(word: &str) -> bool {
    !is_in(RESERVED, word) && !is_in(FUNCTION, word)
}

/// True for a word that may name a function or a type.
pub fn names_function(word: &str) -> bool {
    !is_in(RESERVED, word) && !is_in(COLUMN, word)
}

/// True for a word that may name an output without `AS`.
pub fn is_bare_label(word: &str) -> bool {
    !is_in(NOT_BARE, word)
}

/// True for a word that may name a type or be the first part of a longer name.
pub fn is_reserved(word: &str) -> bool {
    is_in(RESERVED, word)
}

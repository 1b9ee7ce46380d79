//! The functions of text search.

use ::json::jsonb::JsonbRef;
use lexeme::{Kind, tokens};
use types::search::{Node, Syntax, Vector, query, vector};
use types::{Array, ArrayRef, Datum, DatumRef, Error, Oid, Repr, Result, SqlState, Type};

use super::json::{JsonParts, of_json, of_jsonb};
use super::{
    Document, Joined, PARSER, Query, bytes, concatenated, dictionary, dictionary_oid, document,
    filtered, has_words, headline, joined, known_config, known_texts, lexemes_of, matching,
    query_tree, rank, read_query, rewrite, usual_config, weight_of, with_weight, without,
};
use crate::array::texts;
use crate::function::{Call, Function, functions, sets};
use crate::rows::{Columns, Rows};

fn matches(document: &Vector<'_>, query: &Query<'_>) -> bool {
    query.0.as_ref().is_some_and(|query| matching::matches(document, query))
}

fn of_parts(
    config: lexeme::Config,
    walk: impl FnOnce(&mut dyn FnMut(&str) -> Result<()>) -> Result<()>,
) -> Result<Datum> {
    let mut document = Document::new(config);
    walk(&mut |text| document.add_part(text))?;
    document.finish().map(bytes)
}

fn phrase(left: Query<'_>, right: Query<'_>, distance: i32) -> Result<Datum> {
    let distance = u16::try_from(distance).ok().filter(|distance| *distance <= 1 << 14);
    let distance = distance.ok_or_else(types::search::wrong_distance)?;
    joined(left.0, right.0, |pair| Node::Phrase(pair, distance)).map(bytes)
}

fn rewritten(query: Query<'_>, wanted: Query<'_>, with: Query<'_>) -> Result<Datum> {
    let node = match (query.0, wanted.0) {
        (Some(query), Some(wanted)) => rewrite::rewritten(query, wanted, with.0),
        (query, _) => query,
    };
    query::build(node.as_ref()).map(bytes)
}

fn lexize(oid: Oid, word: &str) -> Result<Array> {
    let dictionary = dictionary(oid).ok_or_else(|| {
        let message = format!("cache lookup failed for text search dictionary {oid}");
        Error::new(SqlState::INTERNAL_ERROR, message)
    })?;
    texts(dictionary.lexeme(word).as_deref().map(Some))
}

/// The positions and the weights of each lexeme.
fn taken_apart(document: &Vector<'_>) -> Result<Rows> {
    let mut rows = Vec::with_capacity(document.lexemes().len());
    for lexeme in document.lexemes() {
        let positions = lexeme.positions();
        let (mut at, mut weights) = (Datum::Null, Datum::Null);
        if positions.len() > 0 {
            let numbers = positions.clone().map(|position| DatumRef::Int2(position.at() as i16));
            at = Array::from_elements(Type::INT2, Repr::Int2, numbers.collect::<Vec<_>>())?.into();
            let letters: Vec<String> =
                positions.map(|position| vector::letter(position.weight()).to_string()).collect();
            weights = texts(letters.iter().map(|letter| Some(letter.as_str())))?.into();
        }
        rows.push(Ok([Datum::text(lexeme.text), at, weights]));
    }
    let types = [
        (Type::TEXT, Repr::Text),
        (Type::INT2_ARRAY, Repr::Array),
        (Type::TEXT_ARRAY, Repr::Array),
    ];
    Ok(Box::new(Columns::new(types, rows.into_iter())))
}

fn check_parser(is_known: bool, name: &str) -> Result<()> {
    let message = || format!("text search parser \"{name}\" does not exist");
    is_known.then_some(()).ok_or_else(|| Error::new(SqlState::UNDEFINED_OBJECT, message()))
}

fn is_parser(name: &str) -> bool {
    matches!(name, "default" | "pg_catalog.default")
}

fn token_types() -> Rows {
    let rows = Kind::ALL.iter().map(|kind| {
        let number = Datum::Int4(*kind as i32);
        Ok([number, Datum::text(kind.name()), Datum::text(kind.description())])
    });
    let types = [(Type::INT4, Repr::Int4), (Type::TEXT, Repr::Text), (Type::TEXT, Repr::Text)];
    Box::new(Columns::new(types, rows))
}

fn parsed(text: &str) -> Rows {
    let all =
        tokens(text).map(|token| Ok([Datum::Int4(token.kind as i32), Datum::text(token.text)]));
    let rows: Vec<_> = all.collect();
    Box::new(Columns::new([(Type::INT4, Repr::Int4), (Type::TEXT, Repr::Text)], rows.into_iter()))
}

fn debugged(config: lexeme::Config, text: &str) -> Result<Rows> {
    let mut rows = Vec::new();
    for token in tokens(text) {
        let dictionary = config.dictionary(token.kind);
        let number = dictionary.map(dictionary_oid);
        let list = number.map(DatumRef::Oid);
        let list = Array::from_elements(
            Type::REGDICTIONARY,
            Repr::Oid,
            list.into_iter().collect::<Vec<_>>(),
        )?;
        let lexemes = match dictionary {
            Some(dictionary) => texts(dictionary.lexeme(token.text).as_deref().map(Some))?.into(),
            None => Datum::Null,
        };
        rows.push(Ok([
            Datum::text(token.kind.name()),
            Datum::text(token.kind.description()),
            Datum::text(token.text),
            list.into(),
            number.map_or(Datum::Null, Datum::Oid),
            lexemes,
        ]));
    }
    let types = [
        (Type::TEXT, Repr::Text),
        (Type::TEXT, Repr::Text),
        (Type::TEXT, Repr::Text),
        (Type::REGDICTIONARY_ARRAY, Repr::Array),
        (Type::REGDICTIONARY, Repr::Oid),
        (Type::TEXT_ARRAY, Repr::Array),
    ];
    Ok(Box::new(Columns::new(types, rows.into_iter())))
}

fn usual_query(call: &Call<'_>, text: &str, syntax: Syntax, joined: Joined) -> Result<Datum> {
    read_query(usual_config(call)?, text, syntax, joined).map(bytes)
}

fn query_by(config: Oid, text: &str, syntax: Syntax, joined: Joined) -> Result<Datum> {
    read_query(known_config(config)?, text, syntax, joined).map(bytes)
}

pub(crate) const TABLE: &[Function] = functions! {
    3616 tsvector_lt(TSVECTOR, TSVECTOR) -> BOOL = (a: &[u8], b: &[u8]) a < b;
    3617 tsvector_le(TSVECTOR, TSVECTOR) -> BOOL = (a: &[u8], b: &[u8]) a <= b;
    3618 tsvector_eq(TSVECTOR, TSVECTOR) -> BOOL = (a: &[u8], b: &[u8]) a == b;
    3619 tsvector_ne(TSVECTOR, TSVECTOR) -> BOOL = (a: &[u8], b: &[u8]) a != b;
    3620 tsvector_ge(TSVECTOR, TSVECTOR) -> BOOL = (a: &[u8], b: &[u8]) a >= b;
    3621 tsvector_gt(TSVECTOR, TSVECTOR) -> BOOL = (a: &[u8], b: &[u8]) a > b;
    3622 tsvector_cmp(TSVECTOR, TSVECTOR) -> INT4 = (a: &[u8], b: &[u8]) a.cmp(b) as i32;
    3662 tsquery_lt(TSQUERY, TSQUERY) -> BOOL = (a: &[u8], b: &[u8]) a < b;
    3663 tsquery_le(TSQUERY, TSQUERY) -> BOOL = (a: &[u8], b: &[u8]) a <= b;
    3664 tsquery_eq(TSQUERY, TSQUERY) -> BOOL = (a: &[u8], b: &[u8]) a == b;
    3665 tsquery_ne(TSQUERY, TSQUERY) -> BOOL = (a: &[u8], b: &[u8]) a != b;
    3666 tsquery_ge(TSQUERY, TSQUERY) -> BOOL = (a: &[u8], b: &[u8]) a >= b;
    3667 tsquery_gt(TSQUERY, TSQUERY) -> BOOL = (a: &[u8], b: &[u8]) a > b;
    3668 tsquery_cmp(TSQUERY, TSQUERY) -> INT4 = (a: &[u8], b: &[u8]) a.cmp(b) as i32;

    3745 to_tsvector(REGCONFIG, TEXT) -> TSVECTOR = (config: Oid, text: &str)
        document(known_config(config)?, text);
    3749 to_tsvector(TEXT) -> TSVECTOR [stable] = (call; text: &str)
        document(usual_config(call)?, text);
    4209 to_tsvector(JSONB) -> TSVECTOR [stable] = (call; a: JsonbRef<'_>)
        of_parts(usual_config(call)?, |each| of_jsonb(a, JsonParts::STRINGS, each));
    4210 to_tsvector(JSON) -> TSVECTOR [stable] = (call; a: &str)
        of_parts(usual_config(call)?, |each| of_json(a, JsonParts::STRINGS, each));
    4211 to_tsvector(REGCONFIG, JSONB) -> TSVECTOR = (config: Oid, a: JsonbRef<'_>)
        of_parts(known_config(config)?, |each| of_jsonb(a, JsonParts::STRINGS, each));
    4212 to_tsvector(REGCONFIG, JSON) -> TSVECTOR = (config: Oid, a: &str)
        of_parts(known_config(config)?, |each| of_json(a, JsonParts::STRINGS, each));
    4213 jsonb_to_tsvector(JSONB, JSONB) -> TSVECTOR [stable]
        = (call; a: JsonbRef<'_>, filter: JsonbRef<'_>) {
        let wanted = JsonParts::read(filter)?;
        of_parts(usual_config(call)?, |each| of_jsonb(a, wanted, each))
    };
    4214 jsonb_to_tsvector(REGCONFIG, JSONB, JSONB) -> TSVECTOR
        = (config: Oid, a: JsonbRef<'_>, filter: JsonbRef<'_>) {
        let wanted = JsonParts::read(filter)?;
        of_parts(known_config(config)?, |each| of_jsonb(a, wanted, each))
    };
    4215 json_to_tsvector(JSON, JSONB) -> TSVECTOR [stable]
        = (call; a: &str, filter: JsonbRef<'_>) {
        let wanted = JsonParts::read(filter)?;
        of_parts(usual_config(call)?, |each| of_json(a, wanted, each))
    };
    4216 json_to_tsvector(REGCONFIG, JSON, JSONB) -> TSVECTOR
        = (config: Oid, a: &str, filter: JsonbRef<'_>) {
        let wanted = JsonParts::read(filter)?;
        of_parts(known_config(config)?, |each| of_json(a, wanted, each))
    };

    3746 to_tsquery(REGCONFIG, TEXT) -> TSQUERY = (config: Oid, text: &str)
        query_by(config, text, Syntax::Operators, Joined::Phrase);
    3750 to_tsquery(TEXT) -> TSQUERY [stable] = (call; text: &str)
        usual_query(call, text, Syntax::Operators, Joined::Phrase);
    3747 plainto_tsquery(REGCONFIG, TEXT) -> TSQUERY = (config: Oid, text: &str)
        query_by(config, text, Syntax::Plain, Joined::And);
    3751 plainto_tsquery(TEXT) -> TSQUERY [stable] = (call; text: &str)
        usual_query(call, text, Syntax::Plain, Joined::And);
    5006 phraseto_tsquery(REGCONFIG, TEXT) -> TSQUERY = (config: Oid, text: &str)
        query_by(config, text, Syntax::Plain, Joined::Phrase);
    5001 phraseto_tsquery(TEXT) -> TSQUERY [stable] = (call; text: &str)
        usual_query(call, text, Syntax::Plain, Joined::Phrase);
    5007 websearch_to_tsquery(REGCONFIG, TEXT) -> TSQUERY = (config: Oid, text: &str)
        query_by(config, text, Syntax::Web, Joined::Phrase);
    5009 websearch_to_tsquery(TEXT) -> TSQUERY [stable] = (call; text: &str)
        usual_query(call, text, Syntax::Web, Joined::Phrase);

    3634 ts_match_vq(TSVECTOR, TSQUERY) -> BOOL = (a: Vector<'_>, b: Query<'_>) matches(&a, &b);
    3635 ts_match_qv(TSQUERY, TSVECTOR) -> BOOL = (a: Query<'_>, b: Vector<'_>) matches(&b, &a);
    3760 ts_match_tt(TEXT, TEXT) -> BOOL [stable] = (call; a: &str, b: &str) {
        let config = usual_config(call)?;
        let query = read_query(config, b, Syntax::Plain, Joined::And)?;
        Ok::<_, Error>(matches(&Vector::new(&document(config, a)?), &Query(query::read(&query))))
    };
    3761 ts_match_tq(TEXT, TSQUERY) -> BOOL [stable] = (call; a: &str, b: Query<'_>)
        document(usual_config(call)?, a).map(|document| matches(&Vector::new(&document), &b));

    3623 strip(TSVECTOR) -> TSVECTOR = (a: Vector<'_>)
        vector::build(a.lexemes().iter().map(|lexeme| (lexeme.text.into(), Vec::new())));
    3624 setweight(TSVECTOR, CHAR) -> TSVECTOR = (a: Vector<'_>, weight: &str)
        with_weight(&a, weight_of(weight)?, |_| true);
    3320 setweight(TSVECTOR, CHAR, TEXT_ARRAY) -> TSVECTOR
        = (a: Vector<'_>, weight: &str, only: ArrayRef<'_>) {
        let only = known_texts(only);
        with_weight(&a, weight_of(weight)?, |text| only.contains(&text))
    };
    3625 tsvector_concat(TSVECTOR, TSVECTOR) -> TSVECTOR = (a: Vector<'_>, b: Vector<'_>)
        concatenated(&a, &b);
    3711 length(TSVECTOR) -> INT4 = (a: Vector<'_>) a.lexemes().len() as i32;
    3321 ts_delete(TSVECTOR, TEXT) -> TSVECTOR = (a: Vector<'_>, gone: &str) without(&a, &[gone]);
    3323 ts_delete(TSVECTOR, TEXT_ARRAY) -> TSVECTOR = (a: Vector<'_>, gone: ArrayRef<'_>)
        without(&a, &known_texts(gone));
    3319 ts_filter(TSVECTOR, CHAR_ARRAY) -> TSVECTOR = (a: Vector<'_>, weights: ArrayRef<'_>)
        filtered(&a, weights);
    3326 tsvector_to_array(TSVECTOR) -> TEXT_ARRAY = (a: Vector<'_>)
        texts(a.lexemes().iter().map(|lexeme| Some(lexeme.text)));
    3327 array_to_tsvector(TEXT_ARRAY) -> TSVECTOR = (a: ArrayRef<'_>)
        vector::build(lexemes_of(a)?.into_iter().map(|text| (text.into(), Vec::new())));

    3669 tsquery_and(TSQUERY, TSQUERY) -> TSQUERY = (a: Query<'_>, b: Query<'_>)
        joined(a.0, b.0, Node::And);
    3670 tsquery_or(TSQUERY, TSQUERY) -> TSQUERY = (a: Query<'_>, b: Query<'_>)
        joined(a.0, b.0, Node::Or);
    3671 tsquery_not(TSQUERY) -> TSQUERY = (a: Query<'_>)
        query::build(a.0.map(|node| Node::Not(Box::new(node))).as_ref());
    5003 tsquery_phrase(TSQUERY, TSQUERY) -> TSQUERY = (a: Query<'_>, b: Query<'_>) phrase(a, b, 1);
    5004 tsquery_phrase(TSQUERY, TSQUERY, INT4) -> TSQUERY
        = (a: Query<'_>, b: Query<'_>, distance: i32) phrase(a, b, distance);
    3672 numnode(TSQUERY) -> INT4 = (a: Query<'_>) a.0.map_or(0, |node| node.count() as i32);
    3673 querytree(TSQUERY) -> TEXT = (a: Query<'_>) query_tree(a);
    3691 tsq_mcontains(TSQUERY, TSQUERY) -> BOOL = (a: Query<'_>, b: Query<'_>) has_words(&a, &b);
    3692 tsq_mcontained(TSQUERY, TSQUERY) -> BOOL = (a: Query<'_>, b: Query<'_>) has_words(&b, &a);
    3684 ts_rewrite(TSQUERY, TSQUERY, TSQUERY) -> TSQUERY
        = (a: Query<'_>, wanted: Query<'_>, with: Query<'_>) rewritten(a, wanted, with);

    3703 ts_rank(FLOAT4_ARRAY, TSVECTOR, TSQUERY, INT4) -> FLOAT4
        = (weights: ArrayRef<'_>, a: Vector<'_>, b: Query<'_>, method: i32)
        rank::weights(weights).map(|weights| rank::rank(&weights, &a, b.0.as_ref(), method));
    3704 ts_rank(FLOAT4_ARRAY, TSVECTOR, TSQUERY) -> FLOAT4
        = (weights: ArrayRef<'_>, a: Vector<'_>, b: Query<'_>)
        rank::weights(weights).map(|weights| rank::rank(&weights, &a, b.0.as_ref(), 0));
    3705 ts_rank(TSVECTOR, TSQUERY, INT4) -> FLOAT4 = (a: Vector<'_>, b: Query<'_>, method: i32)
        rank::rank(&rank::USUAL, &a, b.0.as_ref(), method);
    3706 ts_rank(TSVECTOR, TSQUERY) -> FLOAT4 = (a: Vector<'_>, b: Query<'_>)
        rank::rank(&rank::USUAL, &a, b.0.as_ref(), 0);
    3707 ts_rank_cd(FLOAT4_ARRAY, TSVECTOR, TSQUERY, INT4) -> FLOAT4
        = (weights: ArrayRef<'_>, a: Vector<'_>, b: Query<'_>, method: i32)
        rank::weights(weights)
            .map(|weights| rank::cover_density(&weights, &a, b.0.as_ref(), method));
    3708 ts_rank_cd(FLOAT4_ARRAY, TSVECTOR, TSQUERY) -> FLOAT4
        = (weights: ArrayRef<'_>, a: Vector<'_>, b: Query<'_>)
        rank::weights(weights).map(|weights| rank::cover_density(&weights, &a, b.0.as_ref(), 0));
    3709 ts_rank_cd(TSVECTOR, TSQUERY, INT4) -> FLOAT4 = (a: Vector<'_>, b: Query<'_>, method: i32)
        rank::cover_density(&rank::USUAL, &a, b.0.as_ref(), method);
    3710 ts_rank_cd(TSVECTOR, TSQUERY) -> FLOAT4 = (a: Vector<'_>, b: Query<'_>)
        rank::cover_density(&rank::USUAL, &a, b.0.as_ref(), 0);

    3743 ts_headline(REGCONFIG, TEXT, TSQUERY, TEXT) -> TEXT
        = (config: Oid, text: &str, query: Query<'_>, options: &str)
        headline::headline(known_config(config)?, text, query.0.as_ref(), options);
    3744 ts_headline(REGCONFIG, TEXT, TSQUERY) -> TEXT
        = (config: Oid, text: &str, query: Query<'_>)
        headline::headline(known_config(config)?, text, query.0.as_ref(), "");
    3754 ts_headline(TEXT, TSQUERY, TEXT) -> TEXT [stable]
        = (call; text: &str, query: Query<'_>, options: &str)
        headline::headline(usual_config(call)?, text, query.0.as_ref(), options);
    3755 ts_headline(TEXT, TSQUERY) -> TEXT [stable] = (call; text: &str, query: Query<'_>)
        headline::headline(usual_config(call)?, text, query.0.as_ref(), "");

    3723 ts_lexize(REGDICTIONARY, TEXT) -> TEXT_ARRAY = (dictionary: Oid, word: &str)
        lexize(dictionary, word);
    3759 get_current_ts_config() -> REGCONFIG [stable] = (call;)
        usual_config(call).map(super::config_oid);
};

pub(crate) const SETS: &[Function] = sets! {
    3322 unnest(TSVECTOR) -> RECORD = (a: Vector<'_>) taken_apart(&a);
    3713 ts_token_type(OID) -> RECORD = (parser: Oid) {
        check_parser(parser == PARSER, &parser.to_string()).map(|()| token_types())
    };
    3714 ts_token_type(TEXT) -> RECORD [stable] = (parser: &str) {
        check_parser(is_parser(parser), parser).map(|()| token_types())
    };
    3715 ts_parse(OID, TEXT) -> RECORD = (parser: Oid, text: &str) {
        check_parser(parser == PARSER, &parser.to_string()).map(|()| parsed(text))
    };
    3716 ts_parse(TEXT, TEXT) -> RECORD [stable] = (parser: &str, text: &str) {
        check_parser(is_parser(parser), parser).map(|()| parsed(text))
    };
    6183 ts_debug(REGCONFIG, TEXT) -> RECORD [stable] = (config: Oid, text: &str)
        debugged(known_config(config)?, text);
    6184 ts_debug(TEXT) -> RECORD [stable] = (call; text: &str) debugged(usual_config(call)?, text);
};

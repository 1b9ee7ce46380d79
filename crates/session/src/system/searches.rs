//! The objects of text search: `pg_ts_config`, `pg_ts_dict` and the like.

use lexeme::dictionary::Language;
use lexeme::{Config, Dictionary, Kind};
use scalar::extension::unaccent;
use scalar::fulltext::{PARSER, config_oid, dictionary_name, dictionary_oid};
use types::{Datum, Oid};

use super::rows::{CatalogContext, Rows, oid, text};
use super::{OWNER, PG_CATALOG, forms};

/// The template of `simple`.
const SIMPLE: Oid = Oid(3_727);
/// The template of the stems.
const SNOWBALL: Oid = Oid(13_077);

fn proc(name: &str) -> Datum {
    Datum::Oid(forms::oid_of(name).unwrap_or(Oid::NONE))
}

pub(super) fn configs(rows: &mut Rows) {
    for config in Config::all() {
        rows.row(&[
            ("oid", oid(config_oid(config))),
            ("cfgname", text(config.name())),
            ("cfgnamespace", oid(PG_CATALOG)),
            ("cfgowner", oid(OWNER)),
            ("cfgparser", oid(PARSER)),
        ]);
    }
}

pub(super) fn mappings(rows: &mut Rows) {
    for config in Config::all() {
        for kind in Kind::ALL {
            let Some(dictionary) = config.dictionary(*kind) else { continue };
            rows.row(&[
                ("mapcfg", oid(config_oid(config))),
                ("maptokentype", Datum::Int4(*kind as i32)),
                ("mapseqno", Datum::Int4(1)),
                ("mapdict", oid(dictionary_oid(dictionary))),
            ]);
        }
    }
}

pub(super) fn dictionaries(scene: CatalogContext<'_>, rows: &mut Rows) {
    let mut row = |number: Oid, name: &str, schema: Oid, template: Oid, options: Option<String>| {
        rows.row(&[
            ("oid", oid(number)),
            ("dictname", text(name)),
            ("dictnamespace", oid(schema)),
            ("dictowner", oid(OWNER)),
            ("dicttemplate", oid(template)),
            ("dictinitoption", options.map_or(Datum::Null, |options| text(&options))),
        ]);
    };
    let simple = Dictionary::Simple;
    row(dictionary_oid(simple), &dictionary_name(simple), PG_CATALOG, SIMPLE, None);
    for language in Language::ALL {
        let (dictionary, name) = (Dictionary::Stem(*language), language.name());
        let mut options = format!("language = '{name}'");
        if language.has_stop_words() {
            options.push_str(&format!(", stopwords = '{name}'"));
        }
        let known = dictionary_name(dictionary);
        row(dictionary_oid(dictionary), &known, PG_CATALOG, SNOWBALL, Some(options));
    }
    if let Some(schema) = scene.names.member_schema(unaccent::DICTIONARY) {
        row(unaccent::DICTIONARY, "unaccent", schema, Oid::NONE, None);
    }
}

pub(super) fn parsers(rows: &mut Rows) {
    rows.row(&[
        ("oid", oid(PARSER)),
        ("prsname", text("default")),
        ("prsnamespace", oid(PG_CATALOG)),
        ("prsstart", proc("prsd_start")),
        ("prstoken", proc("prsd_nexttoken")),
        ("prsend", proc("prsd_end")),
        ("prsheadline", proc("prsd_headline")),
        ("prslextype", proc("prsd_lextype")),
    ]);
}

pub(super) fn templates(rows: &mut Rows) {
    for (number, name) in [(SIMPLE, "simple"), (SNOWBALL, "snowball")] {
        rows.row(&[
            ("oid", oid(number)),
            ("tmplname", text(name)),
            ("tmplnamespace", oid(PG_CATALOG)),
            ("tmplinit", proc(&format!("d{name}_init"))),
            ("tmpllexize", proc(&format!("d{name}_lexize"))),
        ]);
    }
}

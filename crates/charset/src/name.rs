//! The names of encodings.
//!
//! Only letters and digits of a name count, in either case: `ISO-8859-1` is `iso88591`.

use encoding_rs as tables;

use super::{Entry, Form};

pub(super) static UTF8: Entry = Entry { name: "UTF8", form: Form::Same };

const fn table(name: &'static str, table: &'static tables::Encoding) -> Entry {
    Entry { name, form: Form::Table { table, is_strict: false } }
}

/// An encoding of Windows, of which PostgreSQL's tables have no control characters.
const fn windows(name: &'static str, table: &'static tables::Encoding) -> Entry {
    Entry { name, form: Form::Table { table, is_strict: true } }
}

const fn unconverted(name: &'static str) -> Entry {
    Entry { name, form: Form::None }
}

/// The encodings other than UTF-8, each with its spellings.
static ENTRIES: [(Entry, &[&str]); 41] = [
    (Entry { name: "SQL_ASCII", form: Form::Same }, &["sqlascii"]),
    (table("EUC_JP", tables::EUC_JP), &["eucjp"]),
    (table("EUC_CN", tables::GBK), &["euccn"]),
    (table("EUC_KR", tables::EUC_KR), &["euckr"]),
    (unconverted("EUC_TW"), &["euctw"]),
    (unconverted("EUC_JIS_2004"), &["eucjis2004"]),
    (unconverted("MULE_INTERNAL"), &["muleinternal"]),
    (Entry { name: "LATIN1", form: Form::Latin1 }, &["latin1", "iso88591"]),
    (table("LATIN2", tables::ISO_8859_2), &["latin2", "iso88592"]),
    (table("LATIN3", tables::ISO_8859_3), &["latin3", "iso88593"]),
    (table("LATIN4", tables::ISO_8859_4), &["latin4", "iso88594"]),
    (Entry { name: "LATIN5", form: Form::Latin5 }, &["latin5", "iso88599"]),
    (table("LATIN6", tables::ISO_8859_10), &["latin6", "iso885910"]),
    (table("LATIN7", tables::ISO_8859_13), &["latin7", "iso885913"]),
    (table("LATIN8", tables::ISO_8859_14), &["latin8", "iso885914"]),
    (table("LATIN9", tables::ISO_8859_15), &["latin9", "iso885915"]),
    (table("LATIN10", tables::ISO_8859_16), &["latin10", "iso885916"]),
    (windows("WIN1256", tables::WINDOWS_1256), &["win1256", "windows1256"]),
    (
        windows("WIN1258", tables::WINDOWS_1258),
        &["win1258", "windows1258", "abc", "tcvn", "tcvn5712", "vscii"],
    ),
    (table("WIN866", tables::IBM866), &["win866", "windows866", "alt"]),
    (windows("WIN874", tables::WINDOWS_874), &["win874", "windows874"]),
    (table("KOI8R", tables::KOI8_R), &["koi8r", "koi8"]),
    (windows("WIN1251", tables::WINDOWS_1251), &["win1251", "windows1251", "win"]),
    (windows("WIN1252", tables::WINDOWS_1252), &["win1252", "windows1252"]),
    (table("ISO_8859_5", tables::ISO_8859_5), &["iso88595"]),
    (table("ISO_8859_6", tables::ISO_8859_6), &["iso88596"]),
    (table("ISO_8859_7", tables::ISO_8859_7), &["iso88597"]),
    (table("ISO_8859_8", tables::ISO_8859_8), &["iso88598"]),
    (windows("WIN1250", tables::WINDOWS_1250), &["win1250", "windows1250"]),
    (windows("WIN1253", tables::WINDOWS_1253), &["win1253", "windows1253"]),
    (windows("WIN1254", tables::WINDOWS_1254), &["win1254", "windows1254"]),
    (windows("WIN1255", tables::WINDOWS_1255), &["win1255", "windows1255"]),
    (windows("WIN1257", tables::WINDOWS_1257), &["win1257", "windows1257"]),
    (table("KOI8U", tables::KOI8_U), &["koi8u"]),
    (table("SJIS", tables::SHIFT_JIS), &["sjis", "shiftjis", "mskanji", "win932", "windows932"]),
    (table("BIG5", tables::BIG5), &["big5", "win950", "windows950"]),
    (table("GBK", tables::GBK), &["gbk", "win936", "windows936"]),
    (table("UHC", tables::EUC_KR), &["uhc", "win949", "windows949"]),
    (table("GB18030", tables::GB18030), &["gb18030"]),
    (unconverted("JOHAB"), &["johab"]),
    (unconverted("SHIFT_JIS_2004"), &["shiftjis2004"]),
];

/// The encoding with this name.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let plain: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    if matches!(plain.as_str(), "utf8" | "unicode") {
        return Some(&UTF8);
    }
    let found = ENTRIES.iter().find(|(_, spellings)| spellings.contains(&plain.as_str()));
    found.map(|(entry, _)| entry)
}

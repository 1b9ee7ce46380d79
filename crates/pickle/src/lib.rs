//! The pickles that ZODB stores, read without executing them: class, references, JSON.
//!
//! ```text
//!   record = class pickle + state pickle
//!
//!   read_head ──> Class { module, name }, oids of the objects that the state refers to
//!   to_json   ──> JSON of the state, as a view for queries
//! ```
//!
//! The pickle is the stored record and is kept byte for byte. The JSON is a view of it: no state is ever
//! made from the JSON. Its form is the one that `zodb-json-codec` writes and that tools of Zope and Plone
//! read; where that form loses or confuses values, this crate writes another marker.
//!
//! | module | contains |
//! |---|---|
//! | `machine` | the loop over the opcodes of the protocols 0 to 5; the trait `Heap` |
//! | `literal` | integers in two's complement, numbers and strings of protocol 0 |
//! | `head` | [`read_head`]: tags instead of values |
//! | `tree` | all values of a record as a graph of nodes |
//! | `view` | [`to_json`]: the graph as JSON, within [`Limits`] |
//! | `known` | calls that have a marker of their own: dates, decimals, sets, UUIDs |
//! | `btree` | the states of BTrees as lists of keys and values |
//!
//! # The JSON of a state
//! The JSON is that of the state. The class of the object is not part of it: [`read_head`] returns it.
//!
//! | Python value | JSON |
//! |---|---|
//! | `None`, `True`, `False` | `null`, `true`, `false` |
//! | `int` of 64 bits (signed) | number without a point: `42` |
//! | larger `int` | `{"@bi":"18446744073709551616"}`; more than 4,096 bits: `{"@bi":"0x..."}` |
//! | `float` | number with a point: `1.0`, `0.00001`, `10000000000000000000000.0` |
//! | `float` from 1e31, or nearer to 0 than 1e-30 | `{"@f":"1e300"}` |
//! | NaN, infinities, `-0.0` | `{"@f":"nan"}`, `{"@f":"inf"}`, `{"@f":"-inf"}`, `{"@f":"-0.0"}` |
//! | `str` | string |
//! | `str` with U+0000 or lone surrogates | `{"@su":"..."}`: base64 of its UTF-8 |
//! | `bytes`, `bytearray` | `{"@b":"..."}`: base64 |
//! | `list` | array |
//! | `tuple` | `{"@t":[...]}` |
//! | `dict` whose keys are all `str` | object |
//! | other `dict`; or a key begins with `@`, or has U+0000 or lone surrogates | `{"@d":[[key,value],...]}` |
//! | `set`, `frozenset` | `{"@set":[...]}`, `{"@fset":[...]}` |
//! | `datetime` | `{"@dt":"2025-01-02T03:04:05.000678"}` |
//! | `datetime` with a fixed offset | `{"@dt":"2025-01-02T03:04:05+02:00"}`; with a name also `"@tz":{"name":"CEST"}` |
//! | `datetime` of a `pytz` zone | `{"@dt":"2025-01-02T03:04:05","@tz":{"pytz":["Europe/Vienna",3600,0,"CET"],"name":"Europe/Vienna"}}` |
//! | `datetime` of a `zoneinfo` zone | `{"@dt":"...","@tz":{"zoneinfo":"Europe/Vienna"}}` |
//! | `datetime` of another zone | `{"@dt":"...","@tz":` JSON of the zone `}` |
//! | `datetime` or `time` with `fold=1` | also `"@fold":1` |
//! | `date`, `time` | `{"@date":"2025-01-02"}`, `{"@time":"03:04:05"}`; `@tz` as above |
//! | `timedelta` | `{"@td":[days,seconds,microseconds]}` |
//! | `Decimal` | `{"@dec":"1.50"}` |
//! | `UUID` | `{"@uuid":"00000000-0000-0000-0000-000000000005"}` |
//! | class or function | `{"@cls":["module","Name"]}` |
//! | instance | `{"@cls":["module","Name"],"@s":state}`; a `dict` or `list` subclass also has `"@kv":[[key,value],...]` or `"@items":[...]` |
//! | other calls, among them `OrderedDict`, `defaultdict`, `deque`, `Counter` | `{"@reduce":{"callable":...,"args":...}}`, and where they exist `kwargs`, `state`, `items`, `kv` |
//! | persistent object | `{"@ref":"0000000000000003"}` or `{"@ref":["0000000000000003","module.Name"]}` |
//! | weak reference | `{"@wref":"0000000000000003"}` or `{"@wref":["0000000000000003","database"]}` |
//! | object of another database | `{"@xref":["database","0000000000000003"]}`, perhaps with `"module.Name"` as third |
//! | a container inside itself | `{"@cycle":n}`: the container that is `n` containers further out, 1 for the innermost |
//!
//! A container that the record has twice, but not inside itself, is written twice. The states of
//! BTrees are flattened:
//!
//! | state | JSON |
//! |---|---|
//! | `Bucket` of any BTree, or a BTree of one bucket | `{"@kv":[[key,value],...]}` |
//! | `Set`, or a `TreeSet` of one set | `{"@ks":[key,...]}` |
//! | bucket or set with a successor | also `"@next":` the reference |
//! | BTree or `TreeSet` of several buckets | `{"@children":[ref,key,ref,...],"@first":ref}` |
//! | empty BTree or `TreeSet` | `null` |
//! | `Length` | the number |
//!
//! Where [`to_json`] fails, [`to_raw_json`] writes `{"@pkl":"..."}`: the whole record in base64.
//!
//! # Invariants
//! * Nothing is executed or imported. No input causes a panic, an endless loop, or memory beyond a
//!   fixed multiple of the record, the output and [`Limits`].
//! * A dict of the user is never read as a marker: a dict with a key that begins with `@` is a `@d`.
//! * The JSON is valid, and PostgreSQL's `jsonb` can hold it: no U+0000, no lone surrogate, numbers
//!   that `jsonb` returns as they are written.
//! * The references of [`read_head`] are those of `ZODB.serialize.referencesf`, each once.
//!
//! # Absent on purpose
//! No encoder from JSON to pickle, no extension registry (`EXT1`), no out-of-band buffers, no
//! knowledge of classes beyond Python's own, `pytz`, `zoneinfo` and BTrees. Bytes after the second
//! pickle are ignored, as ZODB ignores them.

mod btree;
mod error;
mod head;
mod known;
mod literal;
mod machine;
mod tree;
mod view;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use error::Error;
pub use view::Limits;

/// The class of a stored object. Both names are empty where the class is itself a persistent object,
/// as the ZClasses of old Zope are, and where the first pickle is a value and no class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class<'a> {
    /// The module, for example `persistent.mapping`.
    pub module: Cow<'a, str>,
    /// The name in the module, for example `PersistentMapping`.
    pub name: Cow<'a, str>,
}

/// Returns the class of a record, and replaces the contents of `references` with the oids of the
/// objects that it refers to: each once, in the order met.
///
/// Weak references and references to other databases are not among them. An unreadable record is an
/// error: damaged, cut after its first pickle, or with persistent ids that are not those of ZODB.
/// The contents of `references` are unspecified then. The function checks the opcodes and the
/// references; it does not check what only [`to_json`] needs, such as whether a list is appended to
/// a list.
pub fn read_head<'a>(record: &'a [u8], references: &mut Vec<u64>) -> Result<Class<'a>, Error> {
    head::read(record, references)
}

/// Appends the state of a record to `out` as compact JSON, in the form that the crate describes.
///
/// Fails for unreadable records and for states whose JSON goes beyond `limits`; `out` is then as it
/// was before.
pub fn to_json(record: &[u8], limits: &Limits, out: &mut Vec<u8>) -> Result<(), Error> {
    view::write(record, limits, out)
}

/// Appends `{"@pkl":"..."}` to `out`, with the whole record in base64: the JSON of a record that
/// [`to_json`] refuses.
pub fn to_raw_json(record: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"@pkl\":\"");
    view::push_base64(record, out);
    out.extend_from_slice(b"\"}");
}

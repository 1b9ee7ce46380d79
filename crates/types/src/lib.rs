//! PostgreSQL's types and values.
//!
//! ```text
//!                    text form     binary form        seen by clients
//!                         \           /
//!      Type, Modifier ──>  Datum, DatumRef  ──> order, equality, hash
//!                         /           \
//!                     key form      row form          kept by the store
//! ```
//!
//! A [`Datum`] is a value. It does not contain its [`Type`], which comes from the catalog or a plan. The
//! inputs of a conversion come in a [`Context`]: the session's [`Style`], its clock, the types and the
//! objects that users made. This crate reads no clock, file or environment.
//!
//! Every mistake of a user is an [`Error`] with PostgreSQL's code and message. Bytes from the network or
//! the disk never cause a panic, nor an allocation that is larger than they are.

pub mod array;
pub mod binary;
mod bits;
pub mod bounded;
pub mod builtin;
mod causes;
pub mod compare;
mod context;
mod datum;
mod error;
pub mod extension;
pub mod float;
pub mod format;
pub mod geometry;
pub mod hash;
pub mod hstore;
pub mod key;
pub mod ltree;
mod modifier;
pub mod money;
mod network;
mod numeric_ref;
mod oid;
mod packed;
pub mod range;
mod record;
pub mod row;
mod row_picker;
pub mod search;
mod short;
pub mod snapshot;
mod state;
mod style;
pub mod text;
pub mod time;

pub use array::{Array, ArrayRef, Dimension};
pub use bits::{BITS_MAX, Bits};
pub use builtin::Facts;
pub use causes::Causes;
pub use context::{Builtins, Context, Domains, EnumLabels, Field, Objects, Shape, TypeSource};
pub use datum::{Datum, DatumRef, EnumOrder, Repr};
pub use error::{Error, Object, Result, RetryReason};
pub use extension::{Extension, Origins};
pub use json::jsonb::{Jsonb, JsonbRef};
pub use key::KeyOrder;
pub use modifier::{Coercion, Modifier, format_type};
pub use network::{Inet, Mac};
pub use numeric_ref::NumericRef;
pub use oid::{Oid, Type};
pub use range::{Multirange, MultirangeRef, Range, RangeRef};
pub use record::{Record, RecordRef};
pub use row::RowView;
pub use row_picker::RowPicker;
pub use short::{SHORT_TEXT_BYTES_MAX, ShortText};
pub use state::SqlState;
pub use style::{ByteaOutput, DateFormat, DateOrder, IntervalStyle, Style};

//! Values of Rust as parameters of statements ([`ToSql`]), and values of SQL as those of Rust ([`FromSql`]).

use types::Datum;

/// A value that a parameter can have.
pub trait ToSql {
    /// Its text, as PostgreSQL reads it; `None` for NULL.
    fn to_sql(&self) -> Option<String>;
}

/// A type that values can be taken as.
pub trait FromSql: Sized {
    /// The name of it in errors.
    const WHAT: &'static str;

    /// The value, where it is one of this type.
    fn from_sql(value: &Datum) -> Option<Self>;
}

macro_rules! plain {
    ($($ty:ty),*) => {$(
        impl ToSql for $ty {
            fn to_sql(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}

plain!(bool, i16, i32, i64, f32, f64, str, String);

impl ToSql for &str {
    fn to_sql(&self) -> Option<String> {
        Some((*self).to_owned())
    }
}

impl ToSql for [u8] {
    fn to_sql(&self) -> Option<String> {
        use std::fmt::Write;
        let mut text = String::from("\\x");
        for byte in self {
            write!(text, "{byte:02x}").expect("a string takes all");
        }
        Some(text)
    }
}

impl ToSql for Vec<u8> {
    fn to_sql(&self) -> Option<String> {
        self.as_slice().to_sql()
    }
}

impl<T: ToSql> ToSql for Option<T> {
    fn to_sql(&self) -> Option<String> {
        self.as_ref()?.to_sql()
    }
}

impl FromSql for bool {
    const WHAT: &'static str = "bool";

    fn from_sql(value: &Datum) -> Option<Self> {
        if let Datum::Bool(value) = value { Some(*value) } else { None }
    }
}

impl FromSql for i64 {
    const WHAT: &'static str = "i64";

    fn from_sql(value: &Datum) -> Option<Self> {
        match value {
            Datum::Int2(value) => Some(i64::from(*value)),
            Datum::Int4(value) => Some(i64::from(*value)),
            Datum::Int8(value) => Some(*value),
            Datum::Oid(value) => Some(i64::from(value.0)),
            _ => None,
        }
    }
}

impl FromSql for i32 {
    const WHAT: &'static str = "i32";

    fn from_sql(value: &Datum) -> Option<Self> {
        i64::from_sql(value)?.try_into().ok()
    }
}

impl FromSql for f64 {
    const WHAT: &'static str = "f64";

    fn from_sql(value: &Datum) -> Option<Self> {
        match value {
            Datum::Float4(value) => Some(f64::from(*value)),
            Datum::Float8(value) => Some(*value),
            Datum::Int2(value) => Some(f64::from(*value)),
            Datum::Int4(value) => Some(f64::from(*value)),
            _ => None,
        }
    }
}

impl FromSql for String {
    const WHAT: &'static str = "String";

    fn from_sql(value: &Datum) -> Option<Self> {
        value.as_text().map(str::to_owned)
    }
}

impl FromSql for Vec<u8> {
    const WHAT: &'static str = "Vec<u8>";

    fn from_sql(value: &Datum) -> Option<Self> {
        if let Datum::Bytea(bytes) = value { Some(bytes.to_vec()) } else { None }
    }
}

impl FromSql for Datum {
    const WHAT: &'static str = "Datum";

    fn from_sql(value: &Datum) -> Option<Self> {
        Some(value.clone())
    }
}

impl<T: FromSql> FromSql for Option<T> {
    const WHAT: &'static str = T::WHAT;

    fn from_sql(value: &Datum) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::from_sql(value).map(Some) }
    }
}

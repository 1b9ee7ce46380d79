//! Unicode: the normal forms of texts.
//!
//! ```text
//!   NFC   é      one character where there is one       NFD   e + ´   taken apart
//!   NFKC, NFKD   the same, and ﬁ is fi
//! ```

use types::{Error, Result, SqlState};
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd, is_nfkc, is_nfkd};

use crate::function::{Default, Function, functions};

/// A normal form.
#[derive(Clone, Copy)]
enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Form {
    fn named(name: &str) -> Result<Self> {
        let forms =
            [("NFC", Form::Nfc), ("NFD", Form::Nfd), ("NFKC", Form::Nfkc), ("NFKD", Form::Nfkd)];
        let found = forms.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, form)| *form).ok_or_else(|| {
            Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid normalization form: {name}"),
            )
        })
    }

    fn of(self, text: &str) -> String {
        match self {
            Form::Nfc => text.nfc().collect(),
            Form::Nfd => text.nfd().collect(),
            Form::Nfkc => text.nfkc().collect(),
            Form::Nfkd => text.nfkd().collect(),
        }
    }

    fn is(self, text: &str) -> bool {
        match self {
            Form::Nfc => is_nfc(text),
            Form::Nfd => is_nfd(text),
            Form::Nfkc => is_nfkc(text),
            Form::Nfkd => is_nfkd(text),
        }
    }
}

const NFC: &[Default] = &[Default::Text("NFC")];

pub(crate) const TABLE: &[Function] = functions! {
    4350 normalize(TEXT, TEXT) -> TEXT [defaults = NFC] = (text: &str, form: &str)
        Form::named(form)?.of(text);
    4351 is_normalized(TEXT, TEXT) -> BOOL [defaults = NFC] = (text: &str, form: &str)
        Form::named(form)?.is(text);
};

//! Unicode: the normal forms of texts.
//!
//! ```text
//!   NFC   é      one character where there is one       NFD   e + ´   taken apart
//!   NFKC, NFKD   the same, and ﬁ is fi
//! ```

use types::bounded::TextBuilder;
use types::{Error, Result, SqlState};
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd, is_nfkc, is_nfkd};

use crate::function::{Default, Function, functions};
use crate::search;

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

    fn of(self, text: &str) -> Result<TextBuilder> {
        let mut out = TextBuilder::with_capacity(text.len());
        let mut put = |c| out.push_char(c);
        match self {
            Form::Nfc => text.nfc().try_for_each(&mut put)?,
            Form::Nfd => text.nfd().try_for_each(&mut put)?,
            Form::Nfkc => text.nfkc().try_for_each(&mut put)?,
            Form::Nfkd => text.nfkd().try_for_each(&mut put)?,
        }
        Ok(out)
    }

    /// Whether a text is in the form. It is where its pieces are: they are cut at plain letters and
    /// blanks, which begin and end a normal form.
    fn is(self, text: &str) -> Result<bool> {
        for piece in search::words(text) {
            interrupt::check()?;
            let is_in_form = match self {
                Form::Nfc => is_nfc(piece),
                Form::Nfd => is_nfd(piece),
                Form::Nfkc => is_nfkc(piece),
                Form::Nfkd => is_nfkd(piece),
            };
            if !is_in_form {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

const NFC: &[Default] = &[Default::Text("NFC")];

pub(crate) const TABLE: &[Function] = functions! {
    4350 normalize(TEXT, TEXT) -> TEXT [defaults = NFC] = (text: &str, form: &str)
        Form::named(form)?.of(text);
    4351 is_normalized(TEXT, TEXT) -> BOOL [defaults = NFC] = (text: &str, form: &str)
        Form::named(form)?.is(text);
};

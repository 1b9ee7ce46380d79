//! Progress of long work, on standard error, and on terminals only.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `total` steps, or a running count where the total is not known.
pub(crate) fn bar(what: &str, total: Option<u64>) -> ProgressBar {
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    let template = match total {
        Some(_) => "{msg} {wide_bar} {human_pos}/{human_len} {eta}",
        None => "{spinner} {msg} {human_pos} in {elapsed}",
    };
    // The templates above are constants: where one did not parse, the plain
    // style does.
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.set_message(crate::visible::visible(what).into_owned());
    bar
}

/// A bar over bytes, whose total comes later.
pub(crate) fn transfer(what: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.set_message(crate::visible::visible(what).into_owned());
    bar
}

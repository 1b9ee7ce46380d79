//! The arguments of `backup` and `restore`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::At;

#[derive(Args, Debug)]
pub(crate) struct BackupArgs {
    /// A folder that does not exist yet, or in which a copy was cut short
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Copy a running server: http://HOST:PORT or https://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    /// After the copy, also copy every later commit, until the command is stopped
    #[arg(long, requires = "from")]
    pub follow: bool,
    /// The highest speed of the copy, such as 50MB/s
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// The file with the token for the server [default: the variable ANYWHEN_TOKEN]
    #[arg(long, value_name = "FILE", requires = "from")]
    pub token_file: Option<PathBuf>,
    /// A file with the certificate authorities that are trusted for the server [default: the system's]
    #[arg(long, value_name = "FILE", requires = "from")]
    pub authorities: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// The backup
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Restore the commits up to this moment: a time, or csn:N [default: the last one]
    #[arg(long, value_name = "MOMENT")]
    pub to: Option<At>,
}

/// Bytes a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate(pub u64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not a rate: write for example 50MB/s, 800KiB/s or 1GB/s");
        let amount = text.trim().trim_end_matches("/s").trim_end();
        let digits =
            amount.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let (number, unit) = amount.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let factor = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "k" | "kb" => 1e3,
            "m" | "mb" => 1e6,
            "g" | "gb" => 1e9,
            "kib" => 1024.0,
            "mib" => 1024.0 * 1024.0,
            "gib" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        let bytes = number * factor;
        if bytes < 1.0 {
            return Err(wrong());
        }
        Ok(Rate(bytes as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        let read = |text: &str| text.parse::<Rate>().map(|rate| rate.0).ok();
        assert_eq!(read("50MB/s"), Some(50_000_000));
        assert_eq!(read("1.5 MiB/s"), Some(1_572_864));
        assert_eq!(read("800k"), Some(800_000));
        for bad in ["", "fast", "0", "5 MB/h", "-1MB/s"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}

//! Addresses of servers: `postgres://` URLs, and the variables that PostgreSQL's clients know.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::failure::{Failure, Outcome};

/// The encryption of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encryption {
    /// Never.
    Disable,
    /// Where the server offers it.
    Prefer,
    /// Always.
    Require,
    /// Always, and only to the server whose name the certificate has.
    VerifyFull,
}

/// A server, and the user that connects to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// A name, an address, or the folder of a Unix socket.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: Option<String>,
    pub(super) database: String,
    pub(super) encryption: Encryption,
    /// The certificate to trust.
    pub(super) root_certificate: Option<PathBuf>,
}

impl Url {
    /// Reads `postgres://[user[:password]@][host][:port][/database][?sslmode=...&sslrootcert=...&host=...]`.
    /// The parts that it leaves out come from `variable`: PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE,
    /// PGSSLMODE.
    pub(super) fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Outcome<Url> {
        let bad = |what: &str| {
            let hint = "for example: postgres://postgres@127.0.0.1:5433/postgres?sslmode=prefer";
            Err(Failure::refused(format!("{text:?} is not the URL of a server: {what}")).hint(hint))
        };
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        let Some(rest) = rest else { return bad("it does not begin with postgres://") };
        let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, place) = place.rsplit_once('@').unwrap_or(("", place));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(decoded(password))),
            None => (who, None),
        };
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
            None => place.rsplit_once(':').unwrap_or((place, "")),
        };
        let or_else = |given: String, name: &str, otherwise: &str| match given.is_empty() {
            true => variable(name).unwrap_or_else(|| otherwise.to_owned()),
            false => given,
        };
        let mut host = or_else(decoded(host), "PGHOST", "127.0.0.1");
        let (mut mode, mut root_certificate) = (String::new(), None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match name {
                "sslmode" => mode = decoded(value),
                "sslrootcert" => root_certificate = Some(PathBuf::from(decoded(value))),
                "host" => host = decoded(value),
                _ => return bad(&format!("{name:?} is not known")),
            }
        }
        let encryption = match or_else(mode, "PGSSLMODE", "prefer").as_str() {
            "disable" => Encryption::Disable,
            "allow" | "prefer" => Encryption::Prefer,
            "require" => Encryption::Require,
            "verify-ca" | "verify-full" => Encryption::VerifyFull,
            other => return bad(&format!("there is no sslmode {other:?}")),
        };
        let Ok(port) = or_else(port.to_owned(), "PGPORT", "5433").parse() else {
            return bad("the port is a number below 65536");
        };
        let user = or_else(decoded(user), "PGUSER", "postgres");
        Ok(Url {
            host,
            port,
            password: password.or_else(|| variable("PGPASSWORD")),
            database: or_else(decoded(database), "PGDATABASE", &user),
            user,
            encryption,
            root_certificate,
        })
    }

    /// The socket's file, where the host is a folder.
    pub(super) fn unix_socket(&self) -> Option<PathBuf> {
        let name = format!(".s.PGSQL.{}", self.port);
        self.host.starts_with('/').then(|| PathBuf::from(&self.host).join(name))
    }

    /// The name of the server in messages.
    pub(super) fn address(&self) -> String {
        match self.unix_socket() {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Url {
        let variable = |name: &str| (name == "PGPASSWORD").then(|| "from outside".to_owned());
        Url::parse(text, variable).expect("it is a URL")
    }

    /// Parts may be missing, hold what is written with percent signs, and be addresses with colons.
    #[test]
    fn urls_are_taken_apart() {
        let least = parse("postgres://");
        assert_eq!((least.address().as_str(), least.user.as_str()), ("127.0.0.1:5433", "postgres"));
        assert_eq!((least.database.as_str(), least.encryption), ("postgres", Encryption::Prefer));
        assert_eq!(least.password.as_deref(), Some("from outside"));
        let most = parse(
            "postgresql://ad%40a:s:e%2Fc@[::1]:5432/my%20db?sslmode=verify-full&sslrootcert=ca.pem",
        );
        assert_eq!((most.user.as_str(), most.password.as_deref()), ("ad@a", Some("s:e/c")));
        assert_eq!((most.host.as_str(), most.port, most.database.as_str()), ("::1", 5432, "my db"));
        assert_eq!(most.root_certificate, Some(PathBuf::from("ca.pem")));
        let socket = parse("postgres://ada@/work?host=/run/anywhen");
        assert_eq!(socket.unix_socket(), Some(PathBuf::from("/run/anywhen/.s.PGSQL.5433")));
        assert_eq!((socket.user.as_str(), socket.database.as_str()), ("ada", "work"));
    }

    /// A text that is no URL is refused with the reason.
    #[test]
    fn nonsense_is_refused() {
        for text in
            ["mysql://x", "postgres://h:99999", "postgres://h?sslmode=maybe", "postgres://h?x=1"]
        {
            assert!(Url::parse(text, |_| None).is_err(), "{text}");
        }
    }
}

//! Rules of access, in the manner of PostgreSQL's `pg_hba.conf`: the first that fits decides.
//!
//! ```text
//!   # TYPE   DATABASE   USER        ADDRESS           METHOD
//!   local    all        all                           scram-sha-256
//!   host     all        all         127.0.0.1/32      initial
//!   hostssl  app,log    ann,"Bob"   10.0.0.0/8        scram-sha-256
//!   host     all        all         all               reject
//! ```
//!
//! `initial` is ours: as `trust` for a role that has no password, as `scram-sha-256` for one that
//! has. A rule that PostgreSQL's file allows and this one does not (host names, `+groups`, included
//! files, other methods) is refused with its line, and never read as something else.

use std::fmt;
use std::net::IpAddr;

/// The rules, in their order.
#[derive(Clone, Debug)]
pub struct Rules(Vec<Rule>);

/// How a client proves who it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Not at all.
    Trust,
    /// Not at all as long as the role has no password; with it from then on.
    Initial,
    /// By SCRAM-SHA-256, which proves the password and never sends it.
    Scram,
    /// By sending the password. Works only over TLS.
    Password,
    /// It is not let in.
    Reject,
}

/// The facts about a client that asks for access.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// Where it is; none for a socket of this machine's file system.
    pub address: Option<IpAddr>,
    /// True if the connection is encrypted.
    pub is_tls: bool,
    /// The role.
    pub user: &'a str,
    /// The database.
    pub database: &'a str,
}

#[derive(Clone, Debug)]
struct Rule {
    kind: Kind,
    databases: Vec<Name>,
    users: Vec<Name>,
    /// None if any will do.
    address: Option<Network>,
    method: Method,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Local,
    Host,
    HostTls,
    HostPlain,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Name {
    All,
    SameUser,
    Is(String),
}

/// The addresses that begin with the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Network {
    address: IpAddr,
    bits: u32,
}

/// A line that is no rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleError {
    /// Its number, from 1.
    pub line: usize,
    /// The reason.
    pub message: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the rules of access: {}", self.line, self.message)
    }
}

impl std::error::Error for RuleError {}

impl Default for Rules {
    /// This machine alone comes in without a password, and only roles that have none; everybody
    /// else proves a password.
    fn default() -> Self {
        let text = "local all all initial\n\
                    host all all 127.0.0.0/8 initial\n\
                    host all all ::1/128 initial\n\
                    host all all all scram-sha-256";
        Self::parse(text).expect("these are rules")
    }
}

impl Rules {
    /// Reads rules, one a line; `#` begins a comment.
    ///
    /// # Errors
    /// The first line that is no rule.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let mut rules = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let fail = |message: String| RuleError { line: at + 1, message };
            let fields = fields(line).map_err(fail)?;
            if !fields.is_empty() {
                rules.push(rule(&fields).map_err(fail)?);
            }
        }
        Ok(Self(rules))
    }

    /// The method of the first rule that fits a client; none if no rule does.
    pub fn method(&self, client: Client<'_>) -> Option<Method> {
        self.0.iter().find(|rule| rule.fits(client)).map(|rule| rule.method)
    }

    /// True if a client might be admitted without a proof.
    pub fn trusts(&self) -> bool {
        self.0.iter().any(|rule| matches!(rule.method, Method::Trust | Method::Initial))
    }
}

impl Rule {
    fn fits(&self, client: Client<'_>) -> bool {
        let is_kind = match (self.kind, client.address) {
            (Kind::Local, None) => true,
            (Kind::Local, Some(_)) | (_, None) => false,
            (Kind::Host, Some(_)) => true,
            (Kind::HostTls, Some(_)) => client.is_tls,
            (Kind::HostPlain, Some(_)) => !client.is_tls,
        };
        let is_near = match (self.address, client.address) {
            (Some(network), Some(address)) => network.holds(address),
            _ => true,
        };
        let fits = |names: &[Name], name: &str| {
            names.iter().any(|known| match known {
                Name::All => true,
                Name::SameUser => client.user == client.database,
                Name::Is(known) => known == name,
            })
        };
        is_kind
            && is_near
            && fits(&self.databases, client.database)
            && fits(&self.users, client.user)
    }
}

impl Network {
    fn holds(self, address: IpAddr) -> bool {
        // A socket for both families shows old addresses inside new ones.
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - self.bits).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }

    fn parse(text: &str, mask: Option<&str>) -> Result<Self, String> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| {
            format!("\"{address}\" is not an address; host names are not supported")
        })?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = match (bits, mask) {
            (Some(bits), None) => bits
                .parse()
                .ok()
                .filter(|bits| *bits <= bits_max)
                .ok_or_else(|| format!("\"{text}\": bits are 0 to {bits_max}"))?,
            (None, Some(mask)) => bits_of(mask, address)
                .ok_or_else(|| format!("\"{mask}\" is not a mask for \"{text}\""))?,
            _ => return Err(format!("\"{text}\" needs a number of bits, as in {text}/{bits_max}")),
        };
        Ok(Self { address, bits })
    }
}

/// How many bits a mask like `255.0.0.0` keeps.
fn bits_of(mask: &str, address: IpAddr) -> Option<u32> {
    match (mask.parse().ok()?, address) {
        (IpAddr::V4(mask), IpAddr::V4(_)) => {
            let bits = mask.to_bits().leading_ones();
            (bits == mask.to_bits().count_ones()).then_some(bits)
        }
        (IpAddr::V6(mask), IpAddr::V6(_)) => {
            let bits = mask.to_bits().leading_ones();
            (bits == mask.to_bits().count_ones()).then_some(bits)
        }
        _ => None,
    }
}

/// A field: its values, which commas part, and whether each was quoted.
type Field = Vec<(String, bool)>;

/// The fields of a line.
fn fields(line: &str) -> Result<Vec<Field>, String> {
    let mut fields: Vec<Field> = Vec::new();
    let mut characters = line.chars().peekable();
    let mut goes_on = false;
    loop {
        while characters.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(&first) = characters.peek() else { break };
        if first == '#' {
            break;
        }
        let mut value = String::new();
        let mut is_quoted = false;
        while let Some(c) = characters.next_if(|c| !c.is_whitespace() && *c != ',' && *c != '#') {
            if c != '"' {
                value.push(c);
                continue;
            }
            is_quoted = true;
            loop {
                match characters.next() {
                    Some('"') if characters.next_if_eq(&'"').is_some() => value.push('"'),
                    Some('"') => break,
                    Some(c) => value.push(c),
                    None => return Err("a quoted name does not end".to_owned()),
                }
            }
        }
        if value.is_empty() && !is_quoted {
            return Err("a value is missing before a comma".to_owned());
        }
        match fields.last_mut() {
            Some(field) if goes_on => field.push((value, is_quoted)),
            _ => fields.push(vec![(value, is_quoted)]),
        }
        goes_on = characters.next_if_eq(&',').is_some();
    }
    if goes_on { Err("a value is missing after a comma".to_owned()) } else { Ok(fields) }
}

/// The one value of a field.
fn single<'a>(field: Option<&'a Field>, what: &str) -> Result<&'a str, String> {
    match field.map(Vec::as_slice) {
        Some([(value, _)]) => Ok(value),
        Some(_) => Err(format!("one {what} is expected, not a list")),
        None => Err(format!("the {what} is missing")),
    }
}

fn rule(fields: &[Field]) -> Result<Rule, String> {
    let mut fields = fields.iter();
    let kind = match single(fields.next(), "type")? {
        "local" => Kind::Local,
        "host" => Kind::Host,
        "hostssl" => Kind::HostTls,
        "hostnossl" => Kind::HostPlain,
        other => return Err(format!("type \"{other}\" is not local, host, hostssl or hostnossl")),
    };
    let databases = names(fields.next().ok_or("the database is missing")?, true)?;
    let users = names(fields.next().ok_or("the user is missing")?, false)?;
    let mut address = None;
    if kind != Kind::Local {
        let text = single(fields.next(), "address")?;
        address = match text {
            "all" => None,
            "samehost" | "samenet" => return Err(format!("address \"{text}\" is not supported")),
            text => {
                let mut mask = None;
                if !text.contains('/') && text.parse::<IpAddr>().is_ok() {
                    mask = Some(single(fields.next(), "mask")?);
                }
                Some(Network::parse(text, mask)?)
            }
        };
    }
    let method = match single(fields.next(), "method")? {
        "trust" => Method::Trust,
        "initial" => Method::Initial,
        // As in PostgreSQL, md5 asks for SCRAM where that is how the password is kept, which it
        // always is here.
        "scram-sha-256" | "md5" => Method::Scram,
        "password" => Method::Password,
        "reject" => Method::Reject,
        other => return Err(format!("method \"{other}\" is not supported")),
    };
    match fields.next() {
        None => Ok(Rule { kind, databases, users, address, method }),
        Some(_) => Err("options of a method are not supported".to_owned()),
    }
}

fn names(field: &Field, is_database: bool) -> Result<Vec<Name>, String> {
    field
        .iter()
        .map(|(name, is_quoted)| match name.as_str() {
            _ if *is_quoted => Ok(Name::Is(name.clone())),
            "all" => Ok(Name::All),
            "sameuser" if is_database => Ok(Name::SameUser),
            "samerole" | "samegroup" | "replication" if is_database => {
                Err(format!("database \"{name}\" is not supported"))
            }
            name if name.starts_with(['+', '@', '/']) => {
                Err(format!("\"{name}\": groups, files and patterns are not supported"))
            }
            name => Ok(Name::Is(name.to_owned())),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(
        rules: &Rules,
        address: &str,
        is_tls: bool,
        user: &str,
        database: &str,
    ) -> Option<Method> {
        let address = (address != "local").then(|| address.parse().unwrap());
        rules.method(Client { address, is_tls, user, database })
    }

    /// The first rule that fits decides, by type, database, user and address.
    #[test]
    fn the_first_that_fits() {
        let rules = Rules::parse(
            "# TYPE DATABASE USER ADDRESS METHOD\n\
             local all all trust\n\
             hostssl \"all\", app ann 10.0.0.0/8 password # by night\n\
             host sameuser all 10.1.0.0 255.255.0.0 scram-sha-256\n\
             hostnossl all bob ::1/128 md5\n\
             host all \"a\"\"b\" all reject\n",
        )
        .unwrap();
        assert_eq!(ask(&rules, "local", false, "x", "y"), Some(Method::Trust));
        assert_eq!(ask(&rules, "10.9.9.9", true, "ann", "app"), Some(Method::Password));
        assert_eq!(ask(&rules, "10.9.9.9", true, "ann", "all"), Some(Method::Password));
        assert_eq!(ask(&rules, "10.9.9.9", false, "ann", "app"), None);
        assert_eq!(ask(&rules, "::ffff:10.9.9.9", true, "ann", "app"), Some(Method::Password));
        assert_eq!(ask(&rules, "10.1.2.3", false, "ann", "ann"), Some(Method::Scram));
        assert_eq!(ask(&rules, "10.2.2.3", false, "ann", "ann"), None);
        assert_eq!(ask(&rules, "::1", false, "bob", "z"), Some(Method::Scram));
        assert_eq!(ask(&rules, "::1", true, "bob", "z"), None);
        assert_eq!(ask(&rules, "8.8.8.8", true, "a\"b", "z"), Some(Method::Reject));
    }

    /// By default no client from another machine is admitted without a password.
    #[test]
    fn the_default_is_safe() {
        let rules = Rules::default();
        assert_eq!(ask(&rules, "127.0.0.1", false, "ann", "ann"), Some(Method::Initial));
        assert_eq!(ask(&rules, "::1", false, "ann", "ann"), Some(Method::Initial));
        for address in ["10.0.0.1", "128.0.0.1", "::2", "fe80::1"] {
            assert_eq!(ask(&rules, address, true, "ann", "ann"), Some(Method::Scram));
        }
    }

    /// A line that cannot be understood is refused with its number.
    #[test]
    fn refused_lines() {
        for (text, message) in [
            ("\nhost all all", "line 2 of the rules of access: the address is missing"),
            ("host all all 1.2.3.4", "line 1 of the rules of access: the mask is missing"),
            (
                "host all all 1.2.3.4/33 trust",
                "line 1 of the rules of access: \"1.2.3.4/33\": bits are 0 to 32",
            ),
            (
                "host all all example.org trust",
                "line 1 of the rules of access: \"example.org\" is not an address; host names are not \
                 supported",
            ),
            (
                "local all +staff trust",
                "line 1 of the rules of access: \"+staff\": groups, files and patterns are not \
                 supported",
            ),
            (
                "local all all peer",
                "line 1 of the rules of access: method \"peer\" is not supported",
            ),
            (
                "local all all trust map=x",
                "line 1 of the rules of access: options of a method are not supported",
            ),
            (
                "host all all 1.2.3.4 255.0.255.0 trust",
                "line 1 of the rules of access: \"255.0.255.0\" is not a mask for \"1.2.3.4\"",
            ),
            (
                "local a, all trust x",
                "line 1 of the rules of access: method \"x\" is not supported",
            ),
        ] {
            assert_eq!(Rules::parse(text).unwrap_err().to_string(), message);
        }
    }
}

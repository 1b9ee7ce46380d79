//! Opaque tokens: made once, shown once, kept as hashes in a file beside the database.
//!
//! ```text
//!   http-tokens    # id  made  expires  sha-256  roles  name  [role of SQL]
//!                  9f2c41d0  1795262400000000  0  5b1e...  view,orders-modify  ada  reporting
//! ```
//!
//! A token is `aw_` and 32 random bytes, so that its hash needs no salt and no slowness. The file is no
//! part of the database: backups do not have it, and it may be kept elsewhere. Only its owner may read
//! it. It is replaced as a whole, and a running server reads a change within a second.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use super::{Caller, Rights, Watched};

/// The prefix of every token.
pub(super) const MARK: &str = "aw_";
const HEAD: &str = "# tokens of Anywhen: id, made, expires, sha-256, roles, name, role of SQL\n";

/// A token, as far as it is known once it was shown.
#[derive(Clone, Debug)]
pub struct Token {
    /// By which it is revoked.
    pub id: String,
    /// The user of the token: the author of everything written with it.
    pub name: String,
    /// The rights of the token.
    pub rights: Rights,
    /// The role of SQL that the token names.
    pub sql_role: Option<String>,
    /// When it was made, in microseconds since 1970 UTC.
    pub made_us: u64,
    /// When it ends to be one, in microseconds since 1970 UTC.
    pub expires_us: Option<u64>,
    hash: [u8; 32],
}

/// The file of tokens.
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    /// The file at a path; it is made with the first token.
    pub fn new(path: impl Into<PathBuf>) -> TokenFile {
        TokenFile { path: path.into() }
    }

    /// The tokens, oldest first.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not what it should be.
    pub fn list(&self) -> io::Result<Vec<Token>> {
        read(&self.path)
    }

    /// Makes a token that names no role of SQL; returns it with the text that is shown this once.
    ///
    /// # Errors
    /// As [`TokenFile::create_for_role`].
    pub fn create(
        &self,
        name: &str,
        rights: Rights,
        expires_us: Option<u64>,
    ) -> io::Result<(Token, String)> {
        self.create_for_role(name, rights, expires_us, None)
    }

    /// Makes a token that may name a role of SQL; returns it with the text that is shown this once.
    ///
    /// # Errors
    /// Fails if a name has control characters or is empty, or if the file cannot be written.
    pub fn create_for_role(
        &self,
        name: &str,
        rights: Rights,
        expires_us: Option<u64>,
        sql_role: Option<&str>,
    ) -> io::Result<(Token, String)> {
        let is_bad = |name: &str| name.is_empty() || name.chars().any(char::is_control);
        if is_bad(name) || sql_role.is_some_and(is_bad) {
            let text = "a token is made for somebody with a name, without control characters";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut secret = [0; 32];
        let mut id = [0; 4];
        let random = SystemRandom::new();
        let filled = random.fill(&mut secret).and_then(|()| random.fill(&mut id));
        filled.map_err(|_| io::Error::other("the system gives no random bytes"))?;
        let text = format!("{MARK}{}", URL_SAFE_NO_PAD.encode(secret));
        let token = Token {
            id: hex(&id),
            name: name.to_owned(),
            rights,
            sql_role: sql_role.map(str::to_owned),
            made_us: super::now_us(),
            expires_us,
            hash: hash(&text),
        };
        let mut all = self.list()?;
        all.push(token.clone());
        self.write(&all)?;
        Ok((token, text))
    }

    /// Takes a token away; false if there is none with this id.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written.
    pub fn revoke(&self, id: &str) -> io::Result<bool> {
        let mut all = self.list()?;
        let before = all.len();
        all.retain(|token| token.id != id);
        if all.len() == before {
            return Ok(false);
        }
        self.write(&all)?;
        Ok(true)
    }

    /// Puts a new file in the place of the old.
    fn write(&self, tokens: &[Token]) -> io::Result<()> {
        let mut text = String::from(HEAD);
        for token in tokens {
            let Token { id, name, rights, sql_role, made_us, expires_us, hash } = token;
            let (roles, expires) = (rights.roles().join(","), expires_us.unwrap_or(0));
            text += &format!("{id}\t{made_us}\t{expires}\t{}\t{roles}\t{name}", hex(hash));
            // The seventh field came later: lines without it are those of every release.
            if let Some(role) = sql_role {
                text += &format!("\t{role}");
            }
            text.push('\n');
        }
        let new = self.path.with_extension("new");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.path)
    }
}

fn hash(token: &str) -> [u8; 32] {
    digest(&SHA256, token.as_bytes()).as_ref().try_into().expect("32 bytes")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> io::Result<Vec<Token>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            token_of(line).ok_or_else(|| {
                let text = format!("{}: line {} is not a token", path.display(), number + 1);
                io::Error::new(io::ErrorKind::InvalidData, text)
            })
        })
        .collect()
}

fn token_of(line: &str) -> Option<Token> {
    let mut fields = line.split('\t');
    let (id, made, expires) = (fields.next()?, fields.next()?, fields.next()?);
    let (hash, roles, name) = (fields.next()?, fields.next()?, fields.next()?);
    let mut rights = Rights::default();
    for role in roles.split(',').filter(|role| !role.is_empty()) {
        rights.add(role).ok()?;
    }
    let bytes = (0..64).step_by(2).map(|at| u8::from_str_radix(hash.get(at..at + 2)?, 16).ok());
    let hash: Vec<u8> = bytes.collect::<Option<_>>()?;
    Some(Token {
        id: id.to_owned(),
        name: name.to_owned(),
        rights,
        sql_role: fields.next().map(str::to_owned),
        made_us: made.parse().ok()?,
        expires_us: Some(expires.parse().ok()?).filter(|us| *us > 0),
        hash: hash.try_into().ok()?,
    })
}

/// The tokens that a server knows.
pub(super) struct Known(Watched<HashMap<[u8; 32], Token>>);

impl Known {
    pub(super) fn new(path: PathBuf) -> io::Result<Self> {
        let by_hash =
            |path: &Path| Ok(read(path)?.into_iter().map(|token| (token.hash, token)).collect());
        Ok(Known(Watched::new(path, by_hash)?))
    }

    /// The caller of a token, if the text is one.
    pub(super) fn find(&self, text: &str, now_us: u64) -> Option<Caller> {
        // Found by its hash: what a comparison would take tells nothing of the token.
        let known = self.0.get();
        let token = known.get(&hash(text))?;
        let holds = token.expires_us.is_none_or(|end| now_us < end);
        let role = token.sql_role.as_deref();
        holds.then(|| Caller::with_token(&token.name, role, token.rights.clone()))
    }
}

//! `anywhen token`: the tokens of HTTP clients, and their rights.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use http::{Rights, Token, TokenFile};

use crate::args::{TokenArgs, TokenCommand};
use crate::failure::{Failure, Outcome};
use crate::json_out::{Object, array, quoted};
use crate::session::{Session, holds_data};
use crate::{render, screen};

/// Returns the file of the tokens: `given`, or by default one in the data folder.
pub(crate) fn file(data: &Path, given: Option<&PathBuf>) -> PathBuf {
    given.cloned().unwrap_or_else(|| data.join("http-tokens"))
}

pub(crate) fn token(session: &mut Session, args: &TokenArgs) -> Outcome {
    let path = file(&session.data, args.http_tokens.as_ref());
    let file = TokenFile::new(&path);
    let failed = |error: std::io::Error| Failure::file(&path, &error);
    match &args.what {
        TokenCommand::Create { name, roles, sql_role, days } => {
            // An existing database is not opened, because a server may have it open. If the folder has no
            // database yet, the command makes one: a folder with nothing but tokens could not become one.
            if args.http_tokens.is_none() && !holds_data(&session.data) {
                session.database_or_new()?;
            }
            let mut rights = Rights::default();
            for role in roles {
                rights.add(role).map_err(|error| Failure::refused(error.to_string()))?;
            }
            let expires_us = days.map(|days| now_us().saturating_add(days * 86_400_000_000));
            let made = file.create_for_role(name, rights, expires_us, sql_role.as_deref());
            let (token, text) = made.map_err(failed)?;
            match session.json {
                true => {
                    let object = Object::new().text("id", &token.id).text("token", &text);
                    screen::raw(object.end().as_bytes())
                }
                false => {
                    screen::note(&format!("token {} for {name}, shown this once:", token.id));
                    screen::raw(text.as_bytes())
                }
            }
        }
        TokenCommand::List => {
            let tokens = file.list().map_err(failed)?;
            match session.json {
                true => screen::raw(array(tokens.iter().map(described)).as_bytes()),
                false => screen::lines(&table(&tokens)),
            }
        }
        TokenCommand::Revoke { id } => match file.revoke(id).map_err(failed)? {
            true => screen::lines(&format!("token {id} revoked\n")),
            false => Err(Failure::refused(format!("there is no token {id}"))
                .hint("`anywhen token list` shows those that there are")),
        },
    }
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros().try_into().unwrap_or(u64::MAX)
}

fn described(token: &Token) -> String {
    let roles = array(token.rights.roles().iter().map(|role| quoted(role)));
    let expires = token.expires_us.map(anywhen::time::rfc3339);
    Object::new()
        .text("id", &token.id)
        .text("name", &token.name)
        .raw("roles", &roles)
        .text_or_null("sql_role", token.sql_role.as_deref())
        .text("made", &anywhen::time::rfc3339(token.made_us))
        .text_or_null("expires", expires.as_deref())
        .end()
}

fn table(tokens: &[Token]) -> String {
    let width = render::widest(tokens.iter().map(|token| token.name.clone()));
    let mut out = String::new();
    for token in tokens {
        let (name, roles) = (render::pad(&token.name, width), token.rights.roles().join(", "));
        let end = token
            .expires_us
            .map_or(String::new(), |us| format!("  until {}", anywhen::time::show(us)));
        let role = token.sql_role.as_ref().map_or(String::new(), |role| format!("  as {role}"));
        out += &format!(
            "{}  {name}  {}  {roles}{role}{end}\n",
            token.id,
            anywhen::time::show(token.made_us)
        );
    }
    out
}

//! [`Call`]: a request as handlers see it.
//!
//! The router has compared the parameters with those of the route: an unknown parameter is an error of the
//! caller, and a parameter that is given twice is one too.

use std::str::FromStr;
use std::sync::Arc;

use anywhen::sql::DocumentRights;
use anywhen::{
    Allowed, Collection, CollectionOptions, Committed, Csn, Document, DocumentError, Meta,
    Metadata, Moment, NodeKey, NodeRef, Revision,
};
use axum::extract::RawPathParams;
use axum::http::header::{ETAG, HeaderName, IF_MATCH};
use axum::http::{HeaderMap, StatusCode};

use crate::app::App;
use crate::auth::{Caller, Right, now_us};
use crate::body::Input;
use crate::cancel::CancelToken;
use crate::once;
use crate::problem::{Problem, Result, Stop};
use crate::query::Parameters;
use crate::route::Needs;

/// The header with the author of a change, if callers need no token.
const AUTHOR: HeaderName = HeaderName::from_static("anywhen-author");
/// The header with the message of a change.
const MESSAGE: HeaderName = HeaderName::from_static("anywhen-message");

/// A request.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
    /// The rights that the route needs.
    pub(crate) needs: Needs,
    pub(crate) headers: HeaderMap,
    /// The parts of the path that the route names.
    pub(crate) path: RawPathParams,
    /// The parameters.
    pub(crate) query: Parameters,
    pub(crate) body: Input,
    /// True if the handler must neither wait nor take long. It returns [`Stop::Later`] if it would.
    pub(crate) is_short: bool,
    /// Set once the client has gone; never on the thread of a connection.
    pub(crate) cancelled: CancelToken,
}

impl Call {
    /// A part of the path.
    pub(crate) fn part(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The text of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// A parameter, parsed.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        let wrong = |text| Problem::bad(format!("the parameter {name} cannot be {text:?}"));
        self.text(name).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
    }

    /// A required parameter, parsed.
    pub(crate) fn wanted<T: FromStr>(&self, name: &str) -> Result<T, Problem> {
        let missing = || Problem::bad(format!("the parameter {name} is missing"));
        self.parsed(name)?.ok_or_else(missing)
    }

    /// A parameter that is true or false; false if it is not there.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        Ok(self.parsed(name)?.unwrap_or(false))
    }

    /// A parameter that is a time, in microseconds since 1970.
    pub(crate) fn time(&self, name: &str) -> Result<Option<u64>, Problem> {
        let wrong = |text| {
            Problem::bad(format!(
                "the parameter {name} cannot be {text:?}: it must be a time such as 2026-11-21T10:30:00Z, or yesterday"
            ))
        };
        // A plus that the client did not encode arrives as a space.
        let read = |text: &str| {
            anywhen::time::parse_at(text, now_us()).or_else(|| {
                let (time, zone) = text.rsplit_once(' ')?;
                anywhen::time::parse(&format!("{time}+{zone}"))
            })
        };
        self.text(name).map(|text| read(text).ok_or_else(|| wrong(text))).transpose()
    }

    /// The moment that `revision`, `timestamp`, `authored` or `csn` names; `None` for now.
    pub(crate) fn moment(&self) -> Result<Option<Moment>, Problem> {
        let revision = self.parsed("revision")?.map(|number| Moment::Revision(Revision(number)));
        let time = self.time("timestamp")?.map(Moment::Time);
        let csn = self.parsed("csn")?.map(|number| Moment::Csn(Csn(number)));
        let authored = self.time("authored")?.map(Moment::Authored);
        let mut given = [revision, time, authored, csn].into_iter().flatten();
        match (given.next(), given.next()) {
            (_, Some(_)) => Err(Problem::bad(
                "only one of the parameters revision, timestamp, authored and csn can be given",
            )),
            (moment, None) => Ok(moment),
        }
    }

    /// The node that `path` or `node_key` names.
    pub(crate) fn node(&self) -> Result<Option<NodeRef>, Problem> {
        self.node_by("path", "node_key")
    }

    /// The node that one of two parameters names: a path, or a key.
    pub(crate) fn node_by(&self, path: &str, key: &str) -> Result<Option<NodeRef>, Problem> {
        match (self.text(path), self.parsed(key)?) {
            (Some(_), Some(_)) => Err(Problem::bad(format!(
                "only one of the parameters {path} and {key} can be given"
            ))),
            (Some(path), None) => Ok(Some(NodeRef::Path(path.to_owned()))),
            (None, key) => Ok(key.map(|key| NodeRef::Key(NodeKey(key)))),
        }
    }

    /// The node that `path` or `node_key` names, which must be given.
    pub(crate) fn wanted_node(&self) -> Result<NodeRef, Problem> {
        let missing = || Problem::bad("the parameter path or node_key must name a node");
        self.node()?.ok_or_else(missing)
    }

    /// The metadata of each node that the answer includes, by a parameter.
    pub(crate) fn metadata(&self, name: &str) -> Result<Metadata, Problem> {
        Ok(match self.text(name) {
            None | Some("false" | "none") => Metadata::None,
            Some("nodeKey") => Metadata::NodeKey,
            Some("nodeKeyAndChildCount") => Metadata::NodeKeyAndChildCount,
            Some("true" | "all") => Metadata::All,
            Some(text) => {
                return Err(Problem::bad(format!(
                    "the parameter {name} cannot be {text:?}: it can be true, false, nodeKey or nodeKeyAndChildCount"
                )));
            }
        })
    }

    /// The collection of the path, as of now. Fails if SQL does not allow the caller the operation of the route.
    pub(crate) fn collection(&self, part: &str) -> Result<Collection, Problem> {
        let found = self.any_collection(part)?;
        self.granted(part, &found)?;
        Ok(found)
    }

    /// The collection of the path, as of now, without a check of privileges.
    pub(crate) fn any_collection(&self, part: &str) -> Result<Collection, Problem> {
        let name = self.part(part);
        let missing = || Problem::missing(format!("there is no collection {name:?}"));
        self.app.database.find_collection(name).ok_or_else(missing)
    }

    /// Fails unless SQL allows the caller the operation of the route on the collection of the path. Routes that
    /// name no right check privileges themselves.
    fn granted(&self, part: &str, collection: &Collection) -> Result<(), Problem> {
        match self.needs {
            Needs::Right(right) => self.must_have(right, part, collection),
            Needs::Nothing | Needs::Somebody => Ok(()),
        }
    }

    /// Fails unless SQL allows the caller this right on the collection of the path.
    fn must_have(&self, right: Right, part: &str, found: &Collection) -> Result<(), Problem> {
        self.caller.must_have(right, &self.app.database, found.id(), self.part(part))
    }

    /// Fails unless the token and SQL allow the caller this right in the collection of the path.
    pub(crate) fn must_in(
        &self,
        right: Right,
        part: &str,
        found: &Collection,
    ) -> Result<(), Problem> {
        self.must(right, part)?;
        self.must_have(right, part, found)
    }

    /// Fails unless the caller may change the table of the collection of the path.
    pub(crate) fn must_own(&self, part: &str, found: &Collection) -> Result<(), Problem> {
        self.caller.must_own(&self.app.database, found.id(), self.part(part))
    }

    /// The collection of the path for a `PUT` of a document. A missing collection is made, with the given options,
    /// once the whole body has arrived and the document has passed all checks. So neither a refused request nor a
    /// client that breaks off makes a collection.
    pub(crate) fn collection_or(
        &mut self,
        part: &str,
        key: &str,
        options: Option<CollectionOptions>,
    ) -> Result<Collection> {
        if let Some(found) = self.app.database.find_collection(self.part(part)) {
            return Ok(found);
        }
        if self.parsed("create")? == Some(false) {
            return Ok(self.collection(part)?);
        }
        self.must(Right::Create, part)?;
        if self.flag("replace")? {
            self.must(Right::Delete, part)?;
        }
        self.meta()?;
        if key.len() > anywhen::KEY_BYTES_MAX {
            return Err(DocumentError::BadKey("is too long").into());
        }
        if self.headers.contains_key(IF_MATCH) || self.headers.contains_key(ETAG) {
            let text = "there is no such document";
            return Err(Problem::new(StatusCode::PRECONDITION_FAILED, text).into());
        }
        let body = std::mem::replace(&mut self.body, Input::None);
        self.body = body.gathered(&self.app.database)?;
        match &mut self.body {
            Input::Whole(body) => json::parse_slice(body, &anywhen::limits(), &mut Unseen)?,
            Input::Spooled(body) => {
                json::Parser::new(&mut *body).limits(anywhen::limits()).parse_into(&mut Unseen)?;
                body.rewind();
            }
            _ => {}
        }
        Ok(self.caller.make_collection(&self.app.database, self.part(part), options)?)
    }

    /// The collection of the path at a moment, also if it was dropped since.
    pub(crate) fn collection_at(
        &self,
        part: &str,
        moment: Option<Moment>,
    ) -> Result<Collection, Stop> {
        let csn = match moment {
            Some(Moment::Csn(csn)) => csn,
            Some(Moment::Time(_)) if self.is_short => return Err(Stop::Later),
            Some(Moment::Time(us)) => self.app.database.csn_at(us)?,
            _ => return Ok(self.collection(part)?),
        };
        if self.is_short {
            return Err(Stop::Later);
        }
        let found = self.app.database.find_collection_at(self.part(part), csn)?;
        let Some(found) = found else { return Ok(self.collection(part)?) };
        self.granted(part, &found)?;
        Ok(found)
    }

    /// The author and the message for the commit that a request makes.
    ///
    /// # Errors
    /// 403 where the author of the request is not the caller.
    pub(crate) fn meta(&self) -> Result<Meta, Problem> {
        let header = |name: HeaderName| -> Result<Option<String>, Problem> {
            let Some(value) = self.headers.get(&name) else { return Ok(None) };
            let text = std::str::from_utf8(value.as_bytes());
            let text = text.map_err(|_| Problem::bad(format!("{name} is not UTF-8")))?;
            Ok(Some(text.to_owned()))
        };
        let given = |parameters: &[&str], name| -> Result<Option<String>, Problem> {
            let parameter = parameters.iter().find_map(|parameter| self.text(parameter));
            parameter.map_or_else(|| header(name), |text| Ok(Some(text.to_owned())))
        };
        let author = given(&["author"], AUTHOR)?;
        let known = &self.caller.name;
        if author.as_ref().is_some_and(|author| !known.is_empty() && author != known) {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                format!("the token is {known:?}'s: the author can be no other"),
            ));
        }
        let time = self.time("authored")?;
        Ok(Meta {
            role: self.caller.role.as_str().into(),
            author: author.unwrap_or_else(|| known.clone()),
            message: given(&["message", "commitMessage"], MESSAGE)?.unwrap_or_default(),
            authored_us: time.map_or_else(|| self.time("commitTimestamp"), |us| Ok(Some(us)))?,
            ..Meta::default()
        })
    }

    /// Fails unless the caller has a right in the collection of the path.
    pub(crate) fn must(&self, right: Right, part: &str) -> Result<(), Problem> {
        self.caller.must(right, Some(self.part(part)))
    }

    /// The writes that the caller may make in the collection of the path, for [`Meta::allowed`]. The write checks
    /// it under the lock of the document, because only then it is known whether the document exists.
    ///
    /// # Errors
    /// 403 if it is clear already that the write is not allowed. `exists` says whether the document existed a
    /// moment ago.
    pub(crate) fn allowed(
        &self,
        part: &str,
        found: &Collection,
        exists: bool,
    ) -> Result<Allowed, Problem> {
        self.must_in(if exists { Right::Modify } else { Right::Create }, part, found)?;
        let grants = self.caller.grants(&self.app.database, found.id())?;
        let grants = grants.unwrap_or(DocumentRights::ALL);
        let may = |right| self.caller.rights.allow(right, Some(self.part(part)));
        Ok(Allowed {
            create: may(Right::Create) && grants.create,
            modify: may(Right::Modify) && grants.modify,
        })
    }

    /// The document of the path at a moment.
    pub(crate) fn document(
        &self,
        collection: &Collection,
        key: &str,
        moment: Option<Moment>,
    ) -> Result<Document, Stop> {
        let found = match moment {
            None if self.is_short => return collection.get_cached(key)?.ok_or(Stop::Later),
            Some(_) if self.is_short => return Err(Stop::Later),
            None => collection.get(key)?,
            Some(moment) => collection.get_at(key, moment)?,
        };
        match found {
            Some(document) => Ok(document),
            None => Err(absent(collection, key, moment)?.into()),
        }
    }

    /// Puts the body as a document: a new revision, or with `replace=true` the first one.
    ///
    /// # Errors
    /// 403 if its past is to be erased and the caller has no right to delete.
    pub(crate) fn store(
        &mut self,
        part: &str,
        collection: &Collection,
        key: &str,
        meta: &Meta,
    ) -> Result<Committed> {
        if !self.flag("replace")? {
            return Ok(collection.import(key, &mut self.body, meta)?);
        }
        self.must_in(Right::Delete, part, collection)?;
        let tape = json::Tape::read_with(&mut self.body, &anywhen::limits())?;
        Ok(collection.replace(key, &tape, meta)?)
    }

    /// The value of the body.
    pub(crate) fn json(&self) -> Result<json::Tape, Problem> {
        Ok(json::Tape::parse_with(self.body.bytes(), &self.limits())?)
    }

    /// The limits of bodies that are held in memory.
    fn limits(&self) -> json::Limits {
        json::Limits { nodes: self.app.options.limits.body_nodes_max, ..anywhen::limits() }
    }

    /// The commands of the body. Fails if a member occurs twice.
    pub(crate) fn told(&self, form: once::Form) -> Result<json::Tape, Problem> {
        once::read(self.body.bytes(), form, &self.limits())
    }

    /// A parameter that limits the number of results.
    ///
    /// # Errors
    /// 400 for 0, which is probably a mistake.
    pub(crate) fn limit(&self, name: &str) -> Result<Option<usize>, Problem> {
        match self.parsed(name)? {
            Some(0) => Err(Problem::bad(format!("the parameter {name} must be 1 or more"))),
            limit => Ok(limit),
        }
    }
}

/// Parses JSON and discards it.
struct Unseen;

impl json::Sink for Unseen {
    fn name(&mut self, _: &[u8]) -> Result<(), json::Stopped> {
        Ok(())
    }

    fn scalar(&mut self, _: json::Kind, _: &[u8]) -> Result<(), json::Stopped> {
        Ok(())
    }

    fn open(&mut self, _: json::Kind) -> Result<(), json::Stopped> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), json::Stopped> {
        Ok(())
    }
}

/// The problem for a document that does not exist: missing, or removed.
fn absent(
    collection: &Collection,
    key: &str,
    moment: Option<Moment>,
) -> Result<Problem, anywhen::DocumentError> {
    // Fails with the right error if there never was such a document.
    let newest = collection.history(key, 1)?.get(0).map(|newest| newest.to_owned());
    Ok(Problem::missing(match (newest, moment) {
        (Some(newest), None) if newest.deleted => {
            format!("document {key:?} was removed by its revision {}", newest.revision)
        }
        _ => format!("there was no document {key:?} at that moment"),
    }))
}

"""A server over HTTP: the routes below ``/v1``.

::

    HttpStore ── a free connection, or a new one ── request ── JSON ──> records
                     └── back among the free ones <──┘

A connection serves one request at a time; threads that ask at the same time have one each. A connection
that the server has closed meanwhile is found out about by the next request on it, which is sent again on a
new one only where it was not sent as a whole before.
"""

from __future__ import annotations

import http.client
import os
import selectors
import ssl
import threading
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from . import _native
from ._changes import Wanted
from ._http_changes import HttpFeed
from ._store import PAGE, At, Node, Numbers, Said
from .errors import (
    ConflictError,
    Error,
    InterfaceError,
    NotFoundError,
    NotSupportedError,
    OperationalError,
    StaleError,
    make,
)
from .records import (
    BlameLine,
    Change,
    CollectionOptions,
    Commit,
    NodeVersion,
    Version,
    change_of,
    moment_of,
)

JSON = "application/json"

# Connections that are kept for later.
_FREE_MAX = 8

# The meaning of a status, where the answer has no SQLSTATE: a kind of `errors.make`, and a SQLSTATE.
_STATUSES = {
    400: ("edit", "22023"),
    401: ("sql", "28000"),
    403: ("sql", "42501"),
    404: ("missing", "02000"),
    409: ("conflict", "40001"),
    410: ("forgotten", "22023"),
    412: ("stale", "40001"),
    413: ("value", "54000"),
    414: ("sql", "54000"),
    421: ("sql", "42501"),
    422: ("edit", "22023"),
    428: ("stale", "40001"),
    501: ("sql", "0A000"),
    503: ("sql", "53000"),
    504: ("sql", "57014"),
}


def _is_quiet(connection: http.client.HTTPConnection) -> bool:
    """Whether a connection that nothing was asked on is open, with nothing to be read."""
    if connection.sock is None:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return not selector.select(0)


class HttpStore:
    """Documents of a server, over HTTP."""

    def __init__(
        self,
        url: str,
        numbers: Numbers,
        token: str | None,
        timeout: float | None,
        context: ssl.SSLContext | None,
    ) -> None:
        parts = urlsplit(url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InterfaceError("an http:// URL is a scheme, a host, a port and a path; a token is token=")
        if not parts.hostname:
            raise InterfaceError(f"{url!r} names no host")
        self.numbers = numbers
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._is_encrypted = parts.scheme == "https"
        self._context = context
        self._timeout = timeout
        self._token = token
        self._free: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._is_open = True
        self._process = os.getpid()

    # --- requests ----------------------------------------------------------------------------------

    def _connect(self) -> http.client.HTTPConnection:
        if self._is_encrypted:
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=self._timeout, context=context
            )
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)

    def _take(self) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it was used before."""
        with self._lock:
            if not self._is_open:
                raise InterfaceError("the database is closed")
            if self._process != os.getpid():
                # Free connections belong to the parent, which goes on using them.
                self._free, self._process = [], os.getpid()
            while self._free:
                connection = self._free.pop()
                if _is_quiet(connection):
                    return connection, True
                # The server has closed what was idle for too long for it.
                connection.close()
        return self._connect(), False

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if self._is_open and len(self._free) < _FREE_MAX:
                self._free.append(connection)
                return
        connection.close()

    def _request(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | None = None,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        target = self._target(path, query)
        sent = {"Accept": JSON, **self._signed(), **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Type", JSON)
        while True:
            connection, is_used = self._take()
            try:
                connection.request(method, target, body, sent)
                answer = connection.getresponse()
                content = answer.read()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
                connection.close()
                # The server closes what is idle. Only a read may be asked twice for sure.
                if is_used and method == "GET":
                    continue
                raise self.lost(error) from error
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                raise self.lost(error) from error
            except BaseException:
                # Interrupted: what comes on this connection is the answer to nothing.
                connection.close()
                raise
            self._give_back(connection)
            if answer.status >= 400:
                raise self._error(answer, content, is_sql=path == "/v1/sql")
            return answer, content

    def _target(self, path: str, query: dict[str, Any] | None) -> str:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self._base + path + ("?" + urlencode(given, quote_via=quote) if given else "")

    def _signed(self) -> dict[str, str]:
        return {} if self._token is None else {"Authorization": f"Bearer {self._token}"}

    def open_stream(
        self, path: str, query: dict[str, Any], silence: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """An answer that comes piece by piece, on a connection of its own, which is silent for ``silence``
        seconds at most."""
        with self._lock:
            if not self._is_open:
                raise InterfaceError("the database is closed")
        connection = self._connect()
        try:
            connection.request("GET", self._target(path, query), headers=self._signed())
            answer = connection.getresponse()
            if answer.status >= 400:
                raise self._error(answer, answer.read())
            connection.sock.settimeout(silence)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self.lost(error) from error
        except BaseException:
            connection.close()
            raise
        return connection, answer

    def lost(self, error: Exception) -> OperationalError:
        """The failure of a connection."""
        place = f"{self._host}:{self._port or (443 if self._is_encrypted else 80)}"
        why = str(error) or type(error).__name__
        return OperationalError(f"no answer from {place}: {why}", "08006")

    @staticmethod
    def _error(
        answer: http.client.HTTPResponse, content: bytes, *, is_sql: bool = False
    ) -> Error:
        try:
            told = _native.loads(content, "exact")
            message = told.get("detail") or told.get("message") or answer.reason
        except (Error, AttributeError):
            told, message = {}, content.decode(errors="replace")[:200] or answer.reason
        kind, state = _STATUSES.get(
            answer.status, ("sql", "XX000" if answer.status >= 500 else "22023")
        )
        if "sqlstate" in told:
            # 422 with a SQLSTATE: the document has a value that no document can hold.
            is_value = answer.status == 422 and not is_sql
            kind, state = "value" if is_value else "sql", told["sqlstate"]
        return make(
            kind, state, message, told.get("detail_text"), told.get("hint"), told.get("position")
        )

    def _ask(self, method: str, path: str, query: dict[str, Any] | None = None, **rest: Any) -> Any:
        _, content = self._request(method, path, query, **rest)
        return _native.loads(content, self.numbers) if content else None

    # --- collections -------------------------------------------------------------------------------

    def collections(self) -> list[str]:
        return [told["name"] for told in self._ask("GET", "/v1/collections")["collections"]]

    def create_collection(
        self, name: str, history: str | None, hashes: bool | None, path_summary: bool | None
    ) -> CollectionOptions:
        wanted = {"history": history, "hashes": hashes, "path_summary": path_summary}
        wanted = {option: value for option, value in wanted.items() if value is not None}
        if not wanted:
            # A caller with the right to read alone has collections too.
            try:
                return self.collection_options(name)
            except NotFoundError:
                pass
        body = _native.dumps(wanted)
        try:
            return _options(self._ask("PUT", _collection(name), body=body))
        except ConflictError as error:
            raise make("sql", "42710", error.message) from error

    def collection_options(self, name: str) -> CollectionOptions:
        return _options(self._ask("GET", _collection(name)))

    def set_history(self, name: str, history: str) -> None:
        self._ask("PATCH", _collection(name), body=_native.dumps({"history": history}))

    def drop_collection(self, name: str, purge: bool) -> bool:
        try:
            self._ask("DELETE", _collection(name), {"purge": "true" if purge else None})
        except NotFoundError:
            return False
        return True

    def count(self, collection: str) -> int:
        count, after = 0, ""
        while True:
            page = self.keys(collection, "", after, 10 * PAGE)
            count += len(page)
            if len(page) < 10 * PAGE:
                return count
            after = page[-1]

    def keys(
        self, collection: str, prefix: str, after: str, limit: int, at: At = None
    ) -> list[str]:
        query = {"prefix": prefix or None, "after": after or None, "limit": limit, **_moment(at)}
        told = self._ask("GET", _collection(collection) + "/documents", query)
        return list(told["documents"])

    # --- documents ---------------------------------------------------------------------------------

    def get(self, collection: str, key: str, at: At = None) -> tuple[int, Any] | None:
        try:
            answer, content = self._request("GET", _document(collection, key), _moment(at))
        except NotFoundError:
            return None
        version = answer.headers["ETag"].strip('"').split(".")[0]
        return int(version), _native.loads(content, self.numbers)

    def get_node(self, collection: str, key: str, node: Node, at: At = None) -> Any:
        query = {**_node(node), **_moment(at)}
        return self._ask("GET", _document(collection, key) + "/node", query)["value"]

    def put(self, collection: str, key: str, value: Any, said: Said) -> Commit:
        query, headers = _said(said)
        # As in this process: who holds on to a collection that is gone does not make another.
        query["create"] = "false"
        body = _native.dumps(value)
        told = self._ask("PUT", _document(collection, key), query, body=body, headers=headers)
        return _commit(told)

    def edit(
        self,
        collection: str,
        key: str,
        said: Said,
        op: str,
        node: Node,
        json: bytes | None = None,
        to: Node | None = None,
        at: str | None = None,
        name: str | None = None,
    ) -> Commit:
        method, path = {
            "set": ("PUT", "/node"),
            "insert": ("POST", "/node"),
            "remove": ("DELETE", "/node"),
            "rename": ("POST", "/node/rename"),
            "move": ("POST", "/node/move"),
        }[op]
        query, headers = _said(said)
        query.update(_node(node), at=at, name=name)
        if to is not None:
            query.update({"to_" + parameter: value for parameter, value in _node(to).items()})
        target = _document(collection, key) + path
        try:
            return _commit(self._ask(method, target, query, body=json, headers=headers))
        except NotFoundError:
            self._must_be_at(collection, key, said.if_version)
            raise

    def remove(self, collection: str, key: str, said: Said) -> Commit | None:
        query, headers = _said(said)
        try:
            self._ask("DELETE", _document(collection, key), query, headers=headers)
        except NotFoundError:
            self._must_be_at(collection, key, said.if_version)
            return None
        # The answer has no body; the newest version is this one, unless somebody was very fast.
        newest = self.history(collection, key, 1)[0]
        return Commit(newest.version, newest.csn, newest.time, True)

    def _must_be_at(self, collection: str, key: str, expected: int | None) -> None:
        """Tells that a document which is not there was expected at a version: a server says only the first."""
        if not expected or key in self.keys(collection, key, "", 1):
            return
        try:
            newest = self.newest(collection, key)
        except NotFoundError:
            newest = 0
        if newest != expected:
            raise StaleError(f"document {key!r} does not exist: another revision was expected", "40001")

    def revert(self, collection: str, key: str, to: int, said: Said) -> Commit:
        query, headers = _said(said)
        query["revision"] = to
        return _commit(
            self._ask("POST", _document(collection, key) + "/revert", query, headers=headers)
        )

    # --- the past ----------------------------------------------------------------------------------

    def newest(self, collection: str, key: str) -> int:
        return self.history(collection, key, 1)[0].version

    def history(self, collection: str, key: str, limit: int | None) -> list[Version]:
        if limit == 0:
            # Nothing is asked for by no request, and yet a document that is not there is told.
            return self.history(collection, key, 1)[:0]
        told = self._ask("GET", _document(collection, key) + "/versions", {"limit": limit})
        return [
            Version(
                row["revision"],
                row["csn"],
                _time(row["time"]),
                row["author"],
                row["message"],
                None if row["authored"] is None else _time(row["authored"]),
                row["deleted"],
                row.get("kept", True),
                row.get("role") or "",
            )
            for row in told["versions"]
        ]

    def diff(self, collection: str, key: str, old: int, new: int) -> list[Change]:
        query = {"from": old, "to": new}
        told = self._ask("GET", _document(collection, key) + "/diff", query)
        return [change_of(change) for change in told["changes"]]

    def json_patch(self, collection: str, key: str, old: int, new: int) -> list[dict[str, Any]]:
        query = {"from": old, "to": new, "form": "rfc6902"}
        return list(self._ask("GET", _document(collection, key) + "/diff", query))

    def node_history(self, collection: str, key: str, node: Node) -> list[NodeVersion]:
        told = self._ask("GET", _document(collection, key) + "/node/history", _node(node))
        return [
            NodeVersion(
                run["value"],
                run["from_revision"],
                run["to_revision"],
                _time(run["from_time"]),
                None if run["to_time"] is None else _time(run["to_time"]),
                run["node_key"],
                None if run.get("authored") is None else _time(run["authored"]),
                run.get("author", ""),
                run.get("message", ""),
                run.get("role") or "",
            )
            for run in told["versions"]
        ]

    def history_page(self, collection: str, key: str) -> str:
        _, content = self._request("GET", _document(collection, key) + "/page")
        return content.decode()

    def blame(self, collection: str, key: str, version: int | None) -> list[BlameLine]:
        told = self._ask("GET", _document(collection, key) + "/blame", {"revision": version})
        return [
            BlameLine(
                line["path"],
                line["node_key"],
                line["revision"],
                _time(line["time"]),
                line["author"],
                line["message"],
                "value" not in line,
                line.get("value"),
                line.get("role") or "",
                None if line.get("authored") is None else _time(line["authored"]),
            )
            for line in told["nodes"]
        ]

    # --- commits -----------------------------------------------------------------------------------

    def changes(self, wanted: Wanted) -> HttpFeed:
        return HttpFeed(self, wanted)

    def newest_commit(self) -> int:
        return int(self._ask("GET", "/ready")["csn"])

    def commit(self, since: int, operations: list[dict[str, Any]], said: Said) -> int:
        """Makes all changes one commit, unless one of the documents was changed after ``since``."""
        query, _ = _said(said)
        body = _native.dumps({"since": since, "operations": operations})
        return int(self._ask("POST", "/v1/transactions", query, body=body)["csn"])

    # --- SQL ---------------------------------------------------------------------------------------

    def query(self, text: str, parameters: list[str | None]) -> _native.Answer:
        """Runs one statement, a transaction of its own."""
        body = _native.dumps({"sql": text, "parameters": parameters})
        _, content = self._request("POST", "/v1/sql", body=body)
        return _native.answer_from_http(content)

    def session(self) -> Any:
        raise NotSupportedError(
            "over HTTP each statement is a session of its own",
            "0A000",
            hint="for transactions in SQL connect with postgres://, or embed the database",
        )

    def refuse(self) -> None:
        with self._lock:
            self._is_open = False

    def close(self) -> None:
        with self._lock:
            self._is_open, free, self._free = False, self._free, []
        if self._process == os.getpid():
            for connection in free:
                connection.close()


def _collection(name: str) -> str:
    return "/v1/collections/" + quote(name, safe="")


def _document(collection: str, key: str) -> str:
    return f"{_collection(collection)}/documents/{quote(key, safe='')}"


def _moment(at: At) -> dict[str, Any]:
    if at is None:
        return {}
    kind, number = at
    if kind == "authored":
        return {"authored": _shown(number)}
    if kind == "time":
        return {"timestamp": _shown(number)}
    return {"revision" if kind == "version" else kind: number}


def _shown(us: int) -> str:
    return moment_of(us).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _node(node: Node) -> dict[str, Any]:
    return {"path": node} if isinstance(node, str) else {"node_key": node}


def _said(said: Said) -> tuple[dict[str, Any], dict[str, str]]:
    """The metadata of a write, as parameters and conditions."""
    query: dict[str, Any] = {"message": said.message or None, "author": said.author or None}
    if said.authored_us is not None:
        query["authored"] = _shown(said.authored_us)
    headers = {}
    if said.if_version == 0:
        headers["If-None-Match"] = "*"
    elif said.if_version is not None:
        headers["If-Match"] = f'"{said.if_version}"'
    return query, headers


def _commit(told: dict[str, Any]) -> Commit:
    return Commit(
        told["revision"], told["csn"], _time(told["time"]), told["changed"], told.get("node_key")
    )


def _options(told: dict[str, Any]) -> CollectionOptions:
    return CollectionOptions(told["history"], told["hashes"], told["path_summary"])

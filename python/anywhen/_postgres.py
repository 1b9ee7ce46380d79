"""A server over PostgreSQL's protocol: SQL with sessions and transactions.

::

    postgres://user:password@host:port/database?sslmode=require&sslrootcert=ca.pem
         │
         ├─ TLS?  ── startup ── password (SCRAM-SHA-256, MD5, clear text)
         └─ Parse Bind Describe Execute Sync ──> texts of values ──> the answer, as in this process

Values travel as texts, which the native module reads as the database itself does. (PostgreSQL
documentation, *Frontend/Backend Protocol*, version 3.0.)
"""

from __future__ import annotations

import os
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from . import _native, _scram
from ._store import Numbers
from .errors import Error, InterfaceError, OperationalError, make

T = TypeVar("T")

_PROTOCOL = 196_608
_SSL_REQUEST = 80_877_103
_CANCEL_REQUEST = 80_877_102
_PIECE_BYTES = 65_536
# How long a wait goes on before signals are looked at, in seconds.
_TICK_S = 0.02

# How long the end of a session waits for its statement to stop, in seconds.
_PATIENCE_S = 0.1
_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


class PostgresStore:
    """Where a server is, and who asks."""

    def __init__(self, url: str, numbers: Numbers, timeout: float | None) -> None:
        self.numbers: Numbers = numbers
        self.timeout = timeout
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        unknown = set(query) - {"sslmode", "sslrootcert", "host", "application_name"}
        if unknown:
            raise InterfaceError(f"{min(unknown)!r} is not known in a postgres:// URL")
        env = os.environ.get
        try:
            port = parts.port
        except ValueError as error:
            raise InterfaceError(f"the port of {parts.netloc!r} is no number below 65536") from error
        self.host = query.get("host") or unquote(parts.hostname or "") or env("PGHOST", "127.0.0.1")
        self.port = port if port is not None else int(env("PGPORT", "5433"))
        self.user = unquote(parts.username or "") or env("PGUSER", "postgres")
        self.password = unquote(parts.password) if parts.password else env("PGPASSWORD")
        self.database = unquote(parts.path.lstrip("/")) or env("PGDATABASE", self.user)
        self.application = query.get("application_name", "anywhen-python")
        self.mode = query.get("sslmode") or env("PGSSLMODE", "prefer")
        if self.mode not in _MODES:
            raise InterfaceError(f"sslmode={self.mode!r} is none of {', '.join(_MODES)}")
        self.root_certificate = query.get("sslrootcert") or env("PGSSLROOTCERT")
        if self.mode.startswith("verify") and self.root_certificate is None:
            raise InterfaceError(f"sslmode={self.mode} needs sslrootcert=FILE, or sslrootcert=system")
        # A password is not for logs.
        self.shown = f"postgres://{self.user}@{self.host}:{self.port}/{self.database}"
        self._is_open = True

    def session(self) -> Connection:
        """A new connection."""
        if not self._is_open:
            raise InterfaceError("the database is closed")
        return Connection(self)

    def socket(self) -> socket.socket:
        """A socket to the server, encrypted where that is asked for or offered."""
        try:
            if self.host.startswith("/"):
                plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                plain.settimeout(self.timeout)
                plain.connect(f"{self.host}/.s.PGSQL.{self.port}")
                return plain
            plain = socket.create_connection((self.host, self.port), self.timeout)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.mode in ("disable", "allow"):
                return plain
            plain.sendall(struct.pack("!II", 8, _SSL_REQUEST))
            if plain.recv(1) == b"S":
                return self._context().wrap_socket(plain, server_hostname=self.host)
        except OSError as error:
            raise OperationalError(f"no connection to {self.host}:{self.port}: {error}", "08001") from error
        if self.mode == "prefer":
            return plain
        plain.close()
        raise OperationalError(f"the server offers no encryption, and sslmode={self.mode}", "08001")

    def _context(self) -> ssl.SSLContext:
        if self.root_certificate == "system":
            context = ssl.create_default_context()
        elif self.root_certificate is not None:
            context = ssl.create_default_context(cafile=self.root_certificate)
        else:
            # As PostgreSQL's clients do it where they are not told whom to trust.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            return context
        context.check_hostname = self.mode == "verify-full"
        return context

    def refuse(self) -> None:
        self._is_open = False

    def close(self) -> None:
        self._is_open = False


class Connection:
    """A session on a server. One exchange at a time; another thread waits."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        # The thread that has it.
        self._user: int | None = None
        self._process = os.getpid()
        self._received = bytearray()
        self._notices: list[tuple[str, str]] = []
        self._status = b"I"
        self._key = b""
        # True where the copy that runs is to send no more.
        self._is_cancelled = False
        self._socket: socket.socket | None = store.socket()
        try:
            self._start()
            self._socket.settimeout(None)
        except BaseException:
            self._end()
            raise

    # --- what sessions do --------------------------------------------------------------------------

    def query(self, text: str, parameters: list[str | None]) -> _native.Answer:
        """Runs one statement."""
        return self._exchange(lambda: self._query(text, parameters))

    def _query(self, text: str, parameters: list[str | None]) -> _native.Answer:
        values = b"".join(
            struct.pack("!i", -1) if value is None else _counted(value.encode())
            for value in parameters
        )
        self._send(
            _message(b"P", b"\0" + _terminated(text) + b"\0\0"),
            _message(b"B", b"\0\0\0\0" + struct.pack("!H", len(parameters)) + values + b"\0\0"),
            _message(b"D", b"P\0"),
            _message(b"E", b"\0" + b"\0\0\0\0"),
            _message(b"S", b""),
        )
        columns: list[tuple[str, int, int]] = []
        rows: list[list[str | None]] = []
        tag, is_copy = "", False

        def take(kind: bytes, body: memoryview) -> None:
            nonlocal columns, tag, is_copy
            if kind == b"D":
                rows.append(_row(body))
            elif kind == b"T":
                columns = _columns(body)
            elif kind == b"C":
                tag = bytes(body[:-1]).decode()
            elif kind == b"G":
                # The Sync above was for the copy, which pays no heed to it.
                self._send(_message(b"f", _terminated("no data is at hand")), _message(b"S", b""))
            elif kind == b"H":
                is_copy = True

        self._until_ready(take)
        if is_copy:
            hint = "copy_in and copy_out take one"
            raise make("sql", "0A000", "COPY wants a stream", hint=hint)
        return _native.answer_from_texts(columns, rows, tag)

    def copy_in(self, text: str, data: bytes) -> int:
        """Runs ``COPY ... FROM STDIN``."""
        return self._exchange(lambda: self._copy(text, _cut(data))[0])

    def copy_arrow(self, text: str, data: _native.ArrowIn) -> int:
        """Runs ``COPY ... FROM STDIN (FORMAT arrow)``."""
        messages = iter(data.next, None)
        pieces = (piece for message in messages for piece in _cut(message))
        return self._exchange(lambda: self._copy(text, pieces)[0])

    def copy_out(self, text: str) -> bytes:
        """Runs ``COPY ... TO STDOUT``."""
        return self._exchange(lambda: self._copy(text, None)[1])

    def _copy(self, text: str, data: Iterator[bytes] | None) -> tuple[int, bytes]:
        count, out, is_copy = 0, bytearray(), False
        failed: list[Exception] = []

        def take(kind: bytes, body: memoryview) -> None:
            nonlocal count, is_copy
            if kind == b"G":
                is_copy = data is not None
                if data is None:
                    self._send(_message(b"f", _terminated("this is a COPY FROM")))
                    return
                failed.extend(self._give(data))
            elif kind == b"H":
                is_copy = data is None
            elif kind == b"d":
                out.extend(body)
            elif kind == b"C":
                last = bytes(body[:-1]).decode().rsplit(" ", 1)[-1]
                count = int(last) if last.isdigit() else 0

        self._is_cancelled = False
        self._send(_message(b"Q", _terminated(text)))
        try:
            self._until_ready(take)
        except Error as error:
            if failed:
                raise failed[0] from error
            raise
        if not is_copy:
            what = "gives no data" if data is None else "takes no data"
            raise make("sql", "42601", f"this statement {what}")
        return count, bytes(out)

    def _give(self, pieces: Iterator[bytes]) -> list[Exception]:
        """Sends data to their end; where their source fails, the server is told, and the failure given back."""
        while not self._is_cancelled:
            try:
                piece = next(pieces, None)
            except Exception as error:
                self._send(_message(b"f", _terminated("the source of the data failed")))
                return [error]
            if piece is None:
                self._send(_message(b"c", b""))
                return []
            self._send(_message(b"d", piece))
        self._send(_message(b"f", _terminated("it was cancelled")))
        return []

    def notices(self) -> list[tuple[str, str]]:
        """Severity and text of the notices since the last call."""
        told, self._notices = self._notices, []
        return told

    def is_in_transaction(self) -> bool:
        """True inside a transaction block."""
        self._must_be_open()
        return self._status != b"I"

    def cancel(self) -> None:
        """Asks the server to stop what runs."""
        self._is_cancelled = True
        try:
            with self._store.socket() as other:
                other.sendall(struct.pack("!II", 8 + len(self._key), _CANCEL_REQUEST) + self._key)
                # The server closes it once the request is taken in.
                other.recv(1)
        except (OSError, Error):
            pass  # The thread that waits for the statement gets its outcome.

    def close(self) -> None:
        """Ends the session, after the statement that runs if one does."""
        self._must_be_idle()
        with self._lock:
            self._farewell()

    def abort(self) -> None:
        """Ends the session, and the statement that runs if one does."""
        self._must_be_idle()
        while not self._lock.acquire(timeout=_PATIENCE_S):
            self.cancel()
        try:
            self._farewell()
        finally:
            self._lock.release()

    def _farewell(self) -> None:
        self._end(b"X\0\0\0\4" if self._process == os.getpid() else b"")

    def _must_be_idle(self) -> None:
        if self._user == threading.get_ident():
            raise InterfaceError(
                "the session: it is in use by this thread: this is the handler of a signal that came meanwhile"
            )

    def is_open(self) -> bool:
        """True until it is closed."""
        return self._socket is not None

    # --- exchanges ---------------------------------------------------------------------------------

    def _must_be_open(self) -> None:
        if self._socket is None:
            raise InterfaceError("the session is closed")
        if self._process != os.getpid():
            raise InterfaceError(
                "the session was opened before a fork: open it in the process that uses it"
            )

    def _exchange(self, work: Callable[[], T]) -> T:
        """Does `work`, a request and all of its answer.

        An exception of a signal can come between any two steps of the main thread, and would leave half an
        answer unread: there the work is done by another thread, and Ctrl-C cancels the statement.
        """
        with self._lock:
            self._user = threading.get_ident()
            try:
                return self._exchanged(work)
            finally:
                self._user = None

    def _exchanged(self, work: Callable[[], T]) -> T:
        self._must_be_open()
        if threading.current_thread() is not threading.main_thread():
            return work()
        done: list[T] = []
        failed: list[BaseException] = []
        # Not `Thread.join`, which takes a thread for ended where a signal ends the wait for it.
        finished = threading.Event()

        def run() -> None:
            try:
                done.append(work())
            except BaseException as error:
                failed.append(error)
            finally:
                finished.set()

        threading.Thread(target=run, name="anywhen-sql", daemon=True).start()
        try:
            # A signal may come to any thread of the process: this one has to look for itself.
            while not finished.wait(_TICK_S):
                pass
        except BaseException:
            self.cancel()
            try:
                while not finished.wait(_TICK_S):
                    pass
            except BaseException:
                # Interrupted again: nobody waits for the rest of the answer any more.
                self._end()
                raise
            raise
        if failed:
            raise failed[0]
        return done[0]

    def _start(self) -> None:
        store = self._store
        settings = {
            "user": store.user,
            "database": store.database,
            "client_encoding": "UTF8",
            "DateStyle": "ISO, MDY",
            "IntervalStyle": "postgres",
            "application_name": store.application,
        }
        pairs = b"".join(_terminated(name) + _terminated(value) for name, value in settings.items())
        body = struct.pack("!I", _PROTOCOL) + pairs + b"\0"
        self._send(struct.pack("!I", len(body) + 4) + body)
        scram: _scram.Client | None = None
        while True:
            kind, body_read = self._next()
            if kind == b"Z":
                return
            if kind == b"E":
                raise _error(body_read)
            if kind == b"K":
                self._key = bytes(body_read)
            if kind != b"R":
                continue
            (method,) = struct.unpack_from("!I", body_read)
            rest = bytes(body_read[4:])
            if method == 3:
                self._send(_message(b"p", _terminated(self._password())))
            elif method == 5:
                answer = _scram.md5(store.user, self._password(), rest)
                self._send(_message(b"p", _terminated(answer)))
            elif method == 10:
                scram = _scram.Client(self._password())
                if b"SCRAM-SHA-256" not in rest.split(b"\0"):
                    raise OperationalError("the server asks for a proof that is not known here", "28000")
                first = scram.first()
                self._send(_message(b"p", b"SCRAM-SHA-256\0" + _counted(first)))
            elif method == 11 and scram is not None:
                self._send(_message(b"p", scram.answer(rest)))
            elif method == 12 and scram is not None:
                scram.check(rest)
            elif method != 0:
                raise OperationalError("the server asks for a proof that is not known here", "28000")

    def _password(self) -> str:
        if self._store.password is None:
            raise OperationalError(
                "the server asks for a password",
                "28P01",
                hint="put it in the URL, or in the variable PGPASSWORD",
            )
        return self._store.password

    def _until_ready(self, take: Callable[[bytes, memoryview], None]) -> None:
        """Takes messages until the server waits for the next request; the first error is raised then."""
        failed: Error | None = None
        while True:
            kind, body = self._next()
            if kind == b"Z":
                self._status = bytes(body)
                if failed is not None:
                    raise failed
                return
            if kind == b"E":
                error = _error(body)
                if _fields(body).get("V") in ("FATAL", "PANIC"):
                    self._end()
                    raise error
                failed = failed or error
            else:
                take(kind, body)

    def _next(self) -> tuple[bytes, memoryview]:
        """The next message that is about the request."""
        while True:
            if len(self._received) >= 5:
                (length,) = struct.unpack_from("!I", self._received, 1)
                if len(self._received) > length:
                    kind = bytes(self._received[:1])
                    body = memoryview(bytes(self._received[5 : length + 1]))
                    del self._received[: length + 1]
                    if kind == b"N":
                        fields = _fields(body)
                        self._notices.append((fields.get("V", ""), fields.get("M", "")))
                    elif kind not in (b"S", b"A"):
                        return kind, body
                    continue
            try:
                piece = self._socket.recv(_PIECE_BYTES) if self._socket else b""
            except OSError as error:
                self._lost(error)
            if not piece:
                self._lost(None)
            self._received += piece

    def _send(self, *messages: bytes) -> None:
        try:
            if self._socket is None:
                raise OSError("it is closed")
            self._socket.sendall(b"".join(messages))
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError | None) -> NoReturn:
        self._end()
        why = "the server closed it" if error is None else str(error)
        raise OperationalError(f"the connection was lost: {why}", "08006") from error

    def _end(self, farewell: bytes = b"") -> None:
        ended, self._socket = self._socket, None
        if ended is not None:
            try:
                if farewell:
                    ended.sendall(farewell)
            except OSError:
                pass  # It is as good as gone.
            ended.close()

    def __del__(self) -> None:
        if getattr(self, "_socket", None) is not None:
            self._end()


def _cut(data: bytes) -> Iterator[bytes]:
    """Data in pieces for messages."""
    return (data[start : start + _PIECE_BYTES] for start in range(0, len(data), _PIECE_BYTES))


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _terminated(text: str) -> bytes:
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise make("sql", "22021", "half of a surrogate pair is no text") from error
    if b"\0" in encoded:
        raise make("sql", "22021", "a text of SQL cannot hold U+0000")
    return encoded + b"\0"


def _counted(value: bytes) -> bytes:
    return struct.pack("!i", len(value)) + value


def _row(body: memoryview) -> list[str | None]:
    (count,) = struct.unpack_from("!H", body)
    at = 2
    row: list[str | None] = []
    for _ in range(count):
        (length,) = struct.unpack_from("!i", body, at)
        at += 4
        if length < 0:
            row.append(None)
        else:
            row.append(str(body[at : at + length], "utf-8"))
            at += length
    return row


def _columns(body: memoryview) -> list[tuple[str, int, int]]:
    raw = bytes(body)
    (count,) = struct.unpack_from("!H", raw)
    at, columns = 2, []
    for _ in range(count):
        end = raw.index(b"\0", at)
        oid, _length, modifier = struct.unpack_from("!IhI", raw, end + 7)
        columns.append((raw[at:end].decode(), oid, modifier if modifier < 2**31 else -1))
        at = end + 19
    return columns


def _fields(body: memoryview) -> dict[str, str]:
    parts = bytes(body).decode(errors="replace").split("\0")
    fields = {part[0]: part[1:] for part in parts if part}
    fields.setdefault("V", fields.get("S", ""))
    return fields


def _error(body: memoryview) -> Error:
    fields: dict[str, Any] = _fields(body)
    position = int(fields["P"]) if "P" in fields else None
    return make("sql", fields.get("C"), fields.get("M", ""), fields.get("D"), fields.get("H"), position)

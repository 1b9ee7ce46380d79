"""A client of PostgreSQL's protocol that hides nothing: whoever uses it may also break the rules.

    Client(port) ── startup ── query       one message, text
                            ├─ extended    Parse, Bind, Execute, Sync; parameters in text or binary
                            ├─ copy        rows in pieces, which may be left off in the middle
                            └─ send        any bytes whatever

An answer is rows and tags, or `Refused` with its SQLSTATE. `Lost` is a connection that ended before
the answer, and `Silent` one on which none came in time: what had been asked for may have happened.
"""

import socket
import struct

HOST = "127.0.0.1"

# Type numbers of parameters: a whole number is sent as int8, bytes as bytea, and of text the server
# finds the type.
INT8, BYTEA = 20, 17


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, state, message):
        super().__init__(f"{state} {message[:200]}")
        self.state = state
        self.message = message

    @property
    def outcome_unknown(self):
        """The server says that it does not know itself whether the commit happened."""
        return "outcome of this transaction is unknown" in self.message


class Lost(Exception):
    """The connection ended before the answer came."""


class Silent(Lost):
    """No answer came in time."""


class Nonsense(Exception):
    """The server sent what the protocol does not have."""


def message(kind, body=b""):
    """A message with its right length."""
    return kind + struct.pack("!i", len(body) + 4) + body


def text(words):
    """A string of the protocol, which ends with a zero."""
    return words.encode() + b"\0"


def startup(user="postgres", database="postgres"):
    """The first message, of protocol 3.0."""
    body = struct.pack("!i", 3 << 16)
    body += text("user") + text(user) + text("database") + text(database) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def reach(port, patience_s):
    """A connection on which nothing was said."""
    try:
        line = socket.create_connection((HOST, port), timeout=patience_s)
    except OSError as error:
        raise Lost(f"not let in: {error}") from error
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def reset(line):
    """Ends a connection with RST, whatever is on its way."""
    try:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass  # The other side was faster.
    line.close()


class Client:
    """A session."""

    def __init__(self, port, patience_s=60):
        self.port = port
        self.line = reach(port, patience_s)
        self.incoming = self.line.makefile("rb", 1 << 16)
        self.secret = None
        self.send(startup())
        try:
            self.answers()
        except BaseException:
            self.drop()
            raise

    # ---- bytes -----------------------------------------------------------------------------------

    def send(self, data):
        """Sends bytes. Where the server has gone away its last words are read."""
        try:
            self.line.sendall(data)
        except TimeoutError as late:
            raise Silent("the server took no more bytes") from late
        except OSError as error:
            self.answers()
            raise Lost(f"the server took no more bytes: {error}") from error

    def receive(self):
        """The next message: its kind and its body."""
        head = self.exactly(5)
        kind, length = head[:1], struct.unpack("!i", head[1:])[0]
        if length < 4:
            raise Nonsense(f"a message {kind!r} with the length {length}")
        return kind, self.exactly(length - 4)

    def exactly(self, count):
        try:
            data = self.incoming.read(count)
        except TimeoutError as late:
            raise Silent(f"no answer within {self.line.gettimeout():.0f} s") from late
        except OSError as error:
            raise Lost(f"the connection ended: {error}") from error
        if len(data) < count:
            raise Lost("the connection ended")
        return data

    def answers(self, until=b"Z"):
        """Reads up to a message of the kind `until`; returns the last rows and the last tag."""
        rows, tag, error = [], "", None
        while True:
            try:
                kind, body = self.receive()
            except Lost:
                if error:
                    raise error  # The server said why, then closed.
                raise
            if kind == b"D":
                rows.append(row(body))
            elif kind == b"T":
                rows = []
            elif kind == b"C":
                tag = body[:-1].decode()
            elif kind == b"E":
                error = error or refusal(body)
            elif kind == b"K":
                self.secret = body
            elif kind == b"R":
                if body != b"\0\0\0\0":
                    raise Nonsense(f"a password is asked for: {body!r}")
            elif kind not in b"ZGSNA12n3stI":
                raise Nonsense(f"a message {kind!r}")
            if kind == b"Z" or kind == until:
                if error:
                    raise error
                return rows, tag

    # ---- what a client does ----------------------------------------------------------------------

    def query(self, sql):
        """A simple query; the rows of its last statement, as text."""
        return self.tagged(sql)[0]

    def tagged(self, sql):
        """A simple query; the last rows and the last tag."""
        self.send_query(sql)
        return self.answers()

    def extended(self, sql, parameters=()):
        """One statement with parameters: numbers and bytes go in binary, strings as text."""
        types = [INT8 if isinstance(value, int) else BYTEA if isinstance(value, bytes) else 0
                 for value in parameters]
        formats = [0 if isinstance(value, str) else 1 for value in parameters]
        count = struct.pack("!H", len(parameters))
        parse = [b"\0", text(sql), count, struct.pack(f"!{len(types)}I", *types)]
        bind = [b"\0\0", count, struct.pack(f"!{len(formats)}H", *formats), count]
        for value in parameters:
            data = (struct.pack("!q", value) if isinstance(value, int) else
                    value.encode() if isinstance(value, str) else value)
            bind += [struct.pack("!i", len(data)), data]
        bind.append(b"\0\0")
        self.send(message(b"P", b"".join(parse)))
        self.send(message(b"B", b"".join(bind)))
        self.send(message(b"E", b"\0" + struct.pack("!i", 0)) + message(b"S"))
        return self.answers()[0]

    def send_query(self, sql):
        """A simple query whose answer is not waited for."""
        self.send(message(b"Q", text(sql)))

    def begin_copy(self, sql):
        """Begins a COPY from here; pieces follow by `piece`, its end by `end_copy`."""
        self.send_query(sql)
        self.answers(until=b"G")

    def piece(self, data):
        self.send(message(b"d", data))

    def end_copy(self):
        """Ends a COPY; returns its tag."""
        self.leave_copy()
        return self.answers()[1]

    def leave_copy(self):
        """Says that a COPY has ended; the answer is not waited for."""
        self.send(message(b"c"))

    def fail_copy(self):
        """Says that the rows sent so far shall not count."""
        self.send(message(b"f", text("not this time")))
        return self.answers()

    def cancel(self):
        """Asks over another connection to cancel what this one runs."""
        line = reach(self.port, 10)
        line.sendall(struct.pack("!ii", 16, 80877102) + self.secret)
        line.close()

    def close(self):
        """Ends the session as one should."""
        try:
            self.line.sendall(message(b"X"))
        except OSError:
            pass  # It has ended already.
        self.incoming.close()
        self.line.close()

    def drop(self):
        """Ends it without a word."""
        self.incoming.close()
        reset(self.line)


def row(body):
    """The values of a row: None, or its bytes read as text."""
    values, at = [], 2
    for _ in range(struct.unpack_from("!H", body)[0]):
        length = struct.unpack_from("!i", body, at)[0]
        at += 4
        values.append(None if length < 0 else body[at:at + length].decode())
        at += max(length, 0)
    return tuple(values)


def refusal(body):
    """The error that a message tells of."""
    fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    state = fields.get(b"C", "")
    if len(state) != 5 or not fields.get(b"M"):
        raise Nonsense(f"an error without a state or words: {body!r}")
    return Refused(state, fields[b"M"])

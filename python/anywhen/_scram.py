"""Proofs of a password: SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding, and PostgreSQL's MD5."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import stringprep
import unicodedata

from .errors import OperationalError

# The most iterations that a server may ask for, so that none makes a client count for hours.
_ITERATIONS_MAX = 10_000_000


class Client:
    """One proof: ``first``, then ``answer`` to the challenge, then ``check`` of the server's own proof."""

    def __init__(self, password: str) -> None:
        self._password = _prepared(password).encode()
        self._nonce = base64.b64encode(secrets.token_bytes(18)).decode()
        self._bare = f"n=,r={self._nonce}"
        self._server_proof = b""

    def first(self) -> bytes:
        """The first message."""
        return ("n,," + self._bare).encode()

    def answer(self, challenge: bytes) -> bytes:
        """The proof."""
        parts = _parts(challenge)
        nonce, salt, iterations = parts.get("r", ""), parts.get("s", ""), parts.get("i", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce or not iterations.isdigit():
            raise OperationalError("the server's challenge is not as it should be", "28000")
        if not 0 < int(iterations) <= _ITERATIONS_MAX:
            raise OperationalError(f"the server asks for {iterations} iterations", "28000")
        salted = hashlib.pbkdf2_hmac(
            "sha256", self._password, base64.b64decode(salt), int(iterations)
        )
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        stored_key = hashlib.sha256(client_key).digest()
        # "biws" is what "n,," is in base 64.
        final = f"c=biws,r={nonce}"
        signed = ",".join([self._bare, challenge.decode(), final]).encode()
        signature = hmac.digest(stored_key, signed, "sha256")
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", "sha256")
        self._server_proof = hmac.digest(server_key, signed, "sha256")
        return f"{final},p={base64.b64encode(proof).decode()}".encode()

    def check(self, final: bytes) -> None:
        """Fails where the server does not know the password either."""
        proof = base64.b64decode(_parts(final).get("v", ""))
        if not self._server_proof or not hmac.compare_digest(proof, self._server_proof):
            raise OperationalError("the server could not prove that it knows the password", "28000")


def md5(user: str, password: str, salt: bytes) -> str:
    """The answer to PostgreSQL's MD5 challenge."""
    inner = hashlib.md5((password + user).encode(), usedforsecurity=False).hexdigest()
    return "md5" + hashlib.md5(inner.encode() + salt, usedforsecurity=False).hexdigest()


def _parts(message: bytes) -> dict[str, str]:
    pairs = (part.split("=", 1) for part in message.decode(errors="replace").split(","))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _prepared(password: str) -> str:
    """SASLprep (RFC 4013); a password that it forbids is taken as it is, as PostgreSQL does."""
    mapped = "".join(
        " " if stringprep.in_table_c12(c) else c for c in password if not stringprep.in_table_b1(c)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    forbidden = (
        stringprep.in_table_a1,
        stringprep.in_table_c12,
        stringprep.in_table_c21_c22,
        stringprep.in_table_c3,
        stringprep.in_table_c4,
        stringprep.in_table_c5,
        stringprep.in_table_c6,
        stringprep.in_table_c7,
        stringprep.in_table_c8,
        stringprep.in_table_c9,
    )
    if not prepared or any(table(c) for c in prepared for table in forbidden):
        return password
    return prepared

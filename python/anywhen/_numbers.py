"""Numbers that remember how they were written.

A float has one shortest text, and JSON many for the same number: ``1.10``, ``1.1``, ``11e-1``. What is stored
is the text. So what was read and is put back unchanged is no change, a number whose text is another than Python
would write is one of these classes, which are a float and a Decimal in all else: what is computed of them is a
plain ``float`` or ``Decimal``.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

__all__ = ["WrittenDecimal", "WrittenFloat"]


class WrittenFloat(float):
    """A float that is stored with other digits than Python would write, such as ``1.10``; ``written`` has
    them, and it is put back with them."""

    __slots__ = ("written",)

    #: The number as it is stored.
    written: str

    def __new__(cls, written: str) -> WrittenFloat:
        self = super().__new__(cls, written)
        self.written = written
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.written,)


class WrittenDecimal(Decimal):
    """A Decimal that is stored with another text than its own, such as ``1e400``; ``written`` has it, and it
    is put back with it."""

    __slots__ = ("written",)

    #: The number as it is stored.
    written: str

    def __new__(cls, written: str) -> WrittenDecimal:
        self = super().__new__(cls, written)
        self.written = written
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.written,)

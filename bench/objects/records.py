"""The objects that the suite objects stores: like a content object of Plone, about 400 bytes as a record."""

import random
import typing

from persistent import Persistent
from ZODB.serialize import ObjectWriter

_WORDS = (
    "agenda archive board budget calendar city committee contact council culture district document event "
    "garden history house library market meeting minutes museum news notice office park people plan press "
    "project report river school season service station street summary survey team theatre water window"
).split()


class Document(Persistent):
    """A content object. The same number always makes the same one."""

    def __init__(self, number: int) -> None:
        draw = random.Random(number)
        self.id = f"document-{number}"
        self.portal_type = "Document"
        self.title = " ".join(draw.choices(_WORDS, k=4)).capitalize()
        self.description = " ".join(draw.choices(_WORDS, k=12)).capitalize() + "."
        self.creators = ("editor",)
        self.subject = tuple(draw.sample(_WORDS, 2))
        self.created = 1_700_000_000.0 + number
        self.modified = self.created + draw.randrange(1_000_000)
        self.uid = f"{draw.getrandbits(128):032x}"
        self.count = 0


def record(content: typing.Any) -> bytes:
    """The record of an object that refers to no other."""
    return ObjectWriter().serialize(content)


def records(count: int) -> list[bytes]:
    """The records of so many different documents."""
    return [record(Document(number)) for number in range(count)]

"""The history of a document in a notebook cell, in a file, or in a browser. ::

    db.collection("articles").document("a1").explore()     # the last line of a cell shows it
    anywhen.explore(document).save("a1.html")

The page is the one that ``anywhen export --html`` writes: it has the whole history in it, and neither loads nor asks
anything. A cell shows it in a frame without an origin: its script can read nothing of the notebook.
"""

from __future__ import annotations

import html
import os
import pathlib
import tempfile
import webbrowser

from ._collection import Document
from ._store import number_of

__all__ = ["Explorer", "explore"]

#: The height of a cell, in pixels.
HEIGHT = 620
_HEIGHT_MAX = 10_000


class Explorer:
    """The history of one document as a page. It has the versions that there were when it was made."""

    __slots__ = ("height", "key", "page")

    def __init__(self, key: str, page: str, height: int) -> None:
        #: The document, as ``collection/key``.
        self.key = key
        #: The page, as HTML.
        self.page = page
        #: The height in a notebook, in pixels.
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the page into a file, and gives its path."""
        file = pathlib.Path(path)
        file.write_text(self.page, encoding="utf-8", newline="")
        return file

    def show(self) -> pathlib.Path:
        """Opens the page in the browser, from a temporary file that only the user can read; gives its path."""
        handle, name = tempfile.mkstemp(prefix="anywhen-", suffix=".html")
        os.close(handle)
        file = self.save(name)
        webbrowser.open(file.as_uri())
        return file

    def _repr_html_(self) -> str:
        """The page in a frame, as a notebook shows it."""
        page, title = html.escape(self.page, quote=True), html.escape(f"History of {self.key}", quote=True)
        return (
            f'<iframe title="{title}" sandbox="allow-scripts" srcdoc="{page}" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<anywhen.Explorer of {self.key!r}: {len(self.page.encode()):,} bytes; .save(path), .show()>"


def explore(document: Document, *, height: int = HEIGHT) -> Explorer:
    """The history of a document, for a cell of a notebook, a file, or a browser.

    ``height`` is that of the cell, in pixels. NotSupportedError where the package, or the server, was built without the
    explorer; NotFoundError where there is no such document.
    """
    if not isinstance(document, Document):
        raise TypeError(f"explore() takes a Document, not {type(document).__name__}")
    if not 1 <= number_of("height", height) <= _HEIGHT_MAX:
        raise ValueError(f"height={height} is not from 1 to {_HEIGHT_MAX} pixels")
    collection, key = document.collection, document.key
    page = collection._store.history_page(collection.name, key)
    return Explorer(f"{collection.name}/{key}", page, height)

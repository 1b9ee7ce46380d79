"""The history of a document in a cell of a notebook, in a file, in a browser."""

import html
import json
import re
import webbrowser
from html.parser import HTMLParser

import anywhen
import pytest


def explored(document, **how):
    """The document explored; skips where the build has no explorer."""
    try:
        return document.explore(**how)
    except anywhen.NotSupportedError:
        pytest.skip("the explorer was not built: scripts/web.sh")


def history(page):
    """The history that is in a page."""
    (text,) = re.findall(r'<script type="application/json" id="history">(.*?)</script>', page, re.S)
    return json.loads(text)


class Frames(HTMLParser):
    """The elements of a cell, with their attributes as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_a_cell_shows_the_history(articles):
    """A cell has one frame, without an origin, and in it the page with every version."""
    shown = explored(articles.document("a1"), height=400)
    ((tag, frame),) = Frames(shown._repr_html_()).found
    assert tag == "iframe" and frame["sandbox"] == "allow-scripts" and "height:400px" in frame["style"]
    assert frame["srcdoc"] == shown.page
    told = history(shown.page)
    assert (told["collection"], told["key"]) == (articles.name, "a1")
    assert [version["author"] for version in told["versions"]] == ["ada", "ada", "grace"]
    assert repr(shown).startswith(f"<anywhen.Explorer of '{articles.name}/a1': ")
    assert anywhen.explore(articles.document("a1")).page == shown.page


def test_hostile_content_stays_data(db, name):
    """Keys and values that look like markup end neither the frame nor the element that the history is in."""
    evil = "</script><script>alert(1)</script>\"'&lt;<!--"
    collection = db.collection(name)
    collection.put(evil, {evil: evil}, author=evil, message=evil)
    shown = explored(collection.document(evil))
    cell = shown._repr_html_()
    ((_, frame),) = Frames(cell).found
    assert frame["srcdoc"] == shown.page and evil in frame["title"]
    assert "<script" not in cell and html.escape(shown.page, quote=True) in cell
    assert shown.page.count("<script") == 2, "the history and the script of the page"
    told = history(shown.page)
    assert told["key"] == evil and told["versions"][0]["message"] == evil


def test_the_page_in_a_file_and_in_the_browser(articles, tmp_path, monkeypatch):
    """It is saved as it is, and opened from a file that only the user can read."""
    shown = explored(articles.document("a1"))
    file = shown.save(tmp_path / "a1.html")
    assert file.read_bytes().decode() == shown.page
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = shown.show()
    assert opened == [file.as_uri()] and file.read_bytes().decode() == shown.page
    assert file.stat().st_mode & 0o077 == 0


def test_what_cannot_be_explored(db, articles):
    """A document that never was, a height that is none, and what is no document are told."""
    with pytest.raises(TypeError, match="takes a Document, not str"):
        anywhen.explore("a1")
    for height, error in [(0, ValueError), (10_001, ValueError), (-1, anywhen.EditError), ("1", TypeError)]:
        with pytest.raises(error):
            articles.document("a1").explore(height=height)
    explored(articles.document("a1"))
    with pytest.raises(anywhen.NotFoundError):
        articles.document("none").explore()


def test_databases_and_views_are_tables_too(db, articles):
    """A database is a table of HTML with its collections, a collection as it was one with its documents; a view of a
    version lists no keys and has none."""
    shown = db._repr_html_()
    assert "<th>collection</th><th>documents</th>" in shown
    # A server that other tests use may have more collections than a table shows.
    assert f"<td>{articles.name}</td><td>1</td>" in shown or "50 of" in shown
    then = articles.at(csn=articles.history("a1")[0].csn)
    assert "<table>" in then._repr_html_() and "a1" in then._repr_html_()
    assert articles.at(version=1)._repr_html_() is None

"""A real browser, pages of three origins, and a server that asks nobody for a token.

    evil.test, 127.0.0.1 on another port    may not make a role, revert a document, or read anything
    rebound.test on the server's own port   a name that leads to the server (DNS rebinding): neither
    app.test                                named by --http-cors: may
    curl                                    as docs/guide/http.md shows it: may

That requests came, and were refused, is seen in the server's own counters.
"""

import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from checks import holds, part, same, tell
from chromium import Chromium

WORK = Path(os.environ["WORK"]) / "browser"
GUIDE = Path(__file__).resolve().parents[3] / "docs/guide/http.md"
AT = "/v1/collections/notes/documents/n1"

# What is tried by every page: an expression, and no page waits for it longer than this.
PATIENCE_MS = 3000


class Blank(http.server.BaseHTTPRequestHandler):
    """A page with nothing on it."""

    def do_GET(self):
        body = b"<!doctype html><title>a page</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def pages():
    """A server of pages; its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Blank)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


@contextmanager
def served(origin):
    """A server with a document, to which pages of one origin may come."""
    command = [os.environ["ANYWHEN"], "serve", "--json", "--data", WORK / "data",
               "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--http-cors", origin]
    with open(WORK / "server.log", "wb") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
    try:
        address = next(told["listening_http"] for told in map(json.loads, server.stdout)
                       if "listening_http" in told)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def ask(method, path, value=None):
    """What a program does: no browser."""
    connection = http.client.HTTPConnection(SERVER, timeout=30)
    headers = {} if value is None else {"Content-Type": "application/json"}
    connection.request(method, path, None if value is None else json.dumps(value), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    holds(answer.status < 300, f"{method} {path}: {answer.status} {text}")
    return text


def sql(text):
    return json.loads(ask("POST", "/v1/sql", {"sql": text}))["rows"]


def roles():
    return [name for [name] in sql("SELECT rolname FROM pg_roles WHERE rolname LIKE 'by\\_%'")]


def revision():
    return json.loads(ask("GET", f"{AT}/versions"))["versions"][0]["revision"]


def refusals(reason):
    found = re.search(rf'^anywhen_http_refused_total{{reason="{reason}"}} (\d+)$', ask("GET", "/metrics"), re.M)
    return int(found[1]) if found else 0


def attempts(server, name):
    """What a page can try to change: each a script that ends when the browser is done with it."""
    text = json.dumps(json.dumps({"sql": f"CREATE ROLE {name} SUPERUSER LOGIN"}))
    as_form = json.dumps(f'{{"sql":"CREATE ROLE {name} SUPERUSER LOGIN","parameters":["')
    sql_at, at = json.dumps(f"{server}/v1/sql"), f"{server}{AT}"
    post = "method: 'POST', mode: 'no-cors'"

    def posted(address, more=""):
        return f"await fetch({address}, {{{post}{more}}}).then(() => 'sent')"

    return {
        "a body without a type": posted(sql_at, f", body: new Blob([{text}])"),
        "a body of text": posted(sql_at, f", body: {text}"),
        "a referrer that is not told": posted(sql_at, f", referrerPolicy: 'no-referrer', body: new Blob([{text}])"),
        "JSON, if the browser may": f"await fetch({sql_at}, {{method: 'POST', body: {text}, "
                                    "headers: {'content-type': 'application/json'}}).then(a => a.text())",
        "a beacon": f"navigator.sendBeacon({sql_at}, new Blob([{text}]))",
        "a form": f"""await new Promise(done => {{
            const frame = document.body.appendChild(document.createElement('iframe'));
            frame.name = 'target' + Math.random();
            const form = document.body.appendChild(document.createElement('form'));
            Object.assign(form, {{action: {sql_at}, method: 'POST', enctype: 'text/plain', target: frame.name}});
            const field = form.appendChild(document.createElement('input'));
            Object.assign(field, {{name: {as_form}, value: '"]}}'}});
            frame.onload = () => done('sent');
            setTimeout(done, {PATIENCE_MS}, 'late');
            form.submit();
        }})""",
        "a revert without a body": posted(json.dumps(f"{at}/revert?revision=1")),
        "a beacon that reverts": f"navigator.sendBeacon({json.dumps(at + '/revert?revision=1')})",
        "a rename without a body": posted(json.dumps(f"{at}/node/rename?path=$.secret&name=told")),
    }


def readings(server):
    """What a page can try to read: each a script that gives what it has got."""
    table = json.dumps(json.dumps({"sql": "SELECT word FROM secrets"}))
    return {
        "a document": f"await fetch('{server}{AT}').then(a => a.text())",
        "a document, simply": f"await fetch('{server}{AT}', {{mode: 'no-cors'}}).then(a => a.text())",
        "a table": f"await fetch('{server}/v1/sql', {{method: 'POST', body: {table}, "
                   "headers: {'content-type': 'application/json'}}).then(a => a.text())",
        "changes": f"""await new Promise(done => {{
            const events = new EventSource('{server}/v1/changes?from=0&diff=true');
            events.addEventListener('change', event => (events.close(), done(event.data)));
            events.onerror = () => (events.close(), done('refused'));
            setTimeout(done, {PATIENCE_MS}, 'late');
        }})""",
        "a frame": f"""await new Promise(done => {{
            const frame = document.body.appendChild(document.createElement('iframe'));
            frame.src = '{server}{AT}';
            const told = () => {{
                try {{ return frame.contentDocument.body.innerText }} catch (error) {{ return String(error) }}
            }};
            frame.onload = () => done(told());
            setTimeout(done, {PATIENCE_MS}, 'late');
        }})""",
    }


def is_told(text):
    """Whether a page has got something that is none of its business."""
    return any(word in text for word in ("keep it", "hidden", '"notes"'))


def is_shut_out(address, server, reason):
    """A page of this address changes and reads nothing, though the server hears of it."""
    before, refused = revision(), refusals(reason)
    page = BROWSER.open(address)
    for what, script in attempts(server, "by_a_page").items():
        print(f"    {what}: {page.run(script)}")
        same(roles(), [])
        same(revision(), before)
    for what, script in readings(server).items():
        got = str(page.run(script))
        print(f"    {what}: {got[:100]}")
        holds(not is_told(got), f"{what}: {got}")
    more = refusals(reason) - refused
    holds(more >= 8, f"only {more} requests were refused: did they come at all?")


@part
def a_page_of_another_site():
    is_shut_out(f"http://evil.test:{PAGES}/", f"http://{SERVER}", "origin")


@part
def a_page_of_another_port():
    is_shut_out(f"http://127.0.0.1:{PAGES}/", f"http://{SERVER}", "origin")


@part
def a_page_whose_name_leads_here():
    # The page is of the very origin that it asks, so its browser lets it read every answer.
    port = SERVER.rsplit(":", 1)[1]
    is_shut_out(f"http://rebound.test:{port}/health", "", "host")


@part
def a_page_that_may():
    server = f"http://{SERVER}"
    page = BROWSER.open(f"http://app.test:{PAGES}/")
    made = attempts(server, "by_the_app")["JSON, if the browser may"]
    holds("CREATE ROLE" in page.run(made))
    same(roles(), ["by_the_app"])
    ask("POST", "/v1/sql", {"sql": "DROP ROLE by_the_app"})
    before = revision()
    reverted = page.run(f"await fetch('{server}{AT}/revert?revision=1', {{method: 'POST'}}).then(a => a.json())")
    same(reverted["revision"], before + 1)
    put = page.run(f"await fetch('{server}{AT}', {{method: 'PUT', body: '{{\"secret\": \"keep it\", \"by\": \"the app\"}}', "
                   "headers: {'content-type': 'application/json'}}).then(a => a.json())")
    same(put["revision"], before + 2)
    for what, script in readings(server).items():
        got = str(page.run(script))
        print(f"    {what}: {got[:100]}")
        same((what, is_told(got)), (what, what in ("a document", "a table", "changes")))
    # A body of text is no JSON, whoever sends it.
    page.run(attempts(server, "by_the_app")["a body of text"])
    same(roles(), [])


@part
def the_guide():
    block = re.search(r"^```sh\n(curl .*?)^```", GUIDE.read_text(), re.M | re.S)[1]
    commands = block.replace("\\\n", " ").strip().splitlines()
    holds(len(commands) >= 6, f"the guide has {len(commands)} commands")
    for command in commands:
        command = command.replace("127.0.0.1:8080", SERVER)
        told = subprocess.run(command.replace("curl ", "curl -sS --fail-with-body --max-time 3 ", 1),
                              shell=True, text=True, capture_output=True)
        # A stream has no end.
        wanted = [28] if "/v1/changes" in command else [0]
        holds(told.returncode in wanted and told.stdout, f"{command}\n{told.returncode} {told.stdout}{told.stderr}")
    told = subprocess.run(["curl", "-sS", "--fail-with-body", "-X", "POST",
                           f"{SERVER}/v1/collections/articles/documents/a1/revert?revision=1"],
                          text=True, capture_output=True)
    same((told.returncode, json.loads(told.stdout)["revision"]), (0, 3))


if __name__ == "__main__":
    WORK.mkdir()
    PAGES = pages()
    with served(f"http://app.test:{PAGES}") as SERVER, \
            Chromium(WORK / "profile", "MAP *.test 127.0.0.1") as BROWSER:
        sql("CREATE TABLE secrets (word text PRIMARY KEY)")
        sql("INSERT INTO secrets VALUES ('hidden')")
        ask("PUT", AT, {"secret": "keep it"})
        ask("PUT", AT, {"secret": "keep it", "more": 1})
        tell(BROWSER.version())

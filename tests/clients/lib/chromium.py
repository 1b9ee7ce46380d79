"""Chromium without a window, told what to do over the pipe of its DevTools protocol.

    with Chromium(folder, "MAP *.test 127.0.0.1") as browser:
        page = browser.open("http://a.test:8000/")
        page.run("await fetch('/x').then(answer => answer.status)")

A message is a JSON object that ends with a NUL, on descriptors 3 and 4 of the browser.
"""

import json
import os
import select
import subprocess
import time

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
]


class Chromium:
    """A browser with a profile of its own. `rules` say where names lead."""

    def __init__(self, profile, rules):
        its_in, self._out = os.pipe()
        self._in, its_out = os.pipe()
        command = ["chromium", *FLAGS, f"--user-data-dir={profile}", f"--host-resolver-rules={rules}"]
        shell = f'exec "$@" 3<&{its_in} 4>&{its_out}'
        self._process = subprocess.Popen(
            ["sh", "-c", shell, "sh", *command, "about:blank"], pass_fds=(its_in, its_out),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(its_in)
        os.close(its_out)
        self._held = b""
        self._number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def version(self):
        """What the browser calls itself."""
        return self.ask("Browser.getVersion")["product"]

    def open(self, address):
        """A page of its own, once it has loaded."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        went = self.ask("Page.navigate", session, url=address)
        if "errorText" in went:
            raise RuntimeError(f"{address}: {went['errorText']}")
        end = time.monotonic() + 20
        while page.run("location.href !== 'about:blank' && document.readyState") != "complete":
            if time.monotonic() > end:
                raise RuntimeError(f"{address} does not load")
            time.sleep(0.05)
        return page

    def ask(self, method, session=None, **parameters):
        """Sends a command, and waits for what comes of it."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") != self._number:
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def _next(self):
        """The next message; events are among them."""
        while b"\0" not in self._held:
            if not select.select([self._in], [], [], 30)[0]:
                raise RuntimeError("the browser says nothing")
            more = os.read(self._in, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self._held += more
        message, self._held = self._held.split(b"\0", 1)
        return json.loads(message)


class Page:
    """A page that a browser has open."""

    def __init__(self, browser, session):
        self._browser, self._session = browser, session

    def run(self, script):
        """The value of an expression, or of the promise that it is; what it throws is told as text."""
        script = f"(async () => {{ try {{ return {script} }} catch (error) {{ return String(error) }} }})()"
        done = self._browser.ask("Runtime.evaluate", self._session, expression=script,
                                 awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{script}: {done['exceptionDetails']['text']}")
        return done["result"].get("value")

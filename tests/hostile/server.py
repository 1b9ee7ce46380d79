"""The server under test: where it lies, how it is started, killed and watched, and what broke.

    Server ── start, stop (SIGTERM), kill (SIGKILL), ended by itself: that is a broken promise
    Disk   ── a small file system of its own (tmpfs) where one may be mounted, filled up at will
    Promises ── each is kept, or broken with what was expected and what was seen
"""

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter

from wire import HOST, Client, Lost, reach

GIB = 1 << 30

# How long a start may take, and how long an end after SIGTERM.
START_S = 60
STOP_S = 30

# What is taken at once of a disk that is being filled, and the least that it gives.
FILLER_BYTES = 16 << 20
PAGE_BYTES = 4096

# How many broken promises of one kind are told in full.
TOLD_MAX = 5


class Promises:
    """What must hold. A promise that nobody looked at is broken too."""

    def __init__(self, sentences):
        self.sentences = sentences
        self.kept = Counter()
        self.broken = Counter()
        self.left_out = set()
        self.lock = threading.Lock()

    def see(self, name, holds, expected, seen):
        """Notes one look at a promise."""
        with self.lock:
            (self.kept if holds else self.broken)[name] += 1
            if not holds and self.broken[name] <= TOLD_MAX:
                print(f"\nBROKEN: {self.sentences[name]}\n  expected {expected}\n  seen     {seen}",
                      flush=True)
        return holds

    def leave_out(self, name):
        self.left_out.add(name)

    def counts(self):
        """How many are kept, broken and left out."""
        looked_at = [name for name in self.sentences if name not in self.left_out]
        for name in looked_at:
            if not self.kept[name] and not self.broken[name]:
                self.see(name, False, "a look at it", "none in this run")
        passed = [name for name in looked_at if not self.broken[name]]
        return len(passed), len(looked_at) - len(passed), len(self.left_out)


class Disk:
    """The file system of the data: small, so that it can be filled."""

    def __init__(self, folder, bytes_max):
        self.folder = folder
        self.filler = folder / "filler"
        self.full = threading.Event()
        folder.mkdir()
        self.mounted = os.geteuid() == 0 and shutil.which("mount") is not None and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={bytes_max}", "anywhen-hostile", folder],
            stderr=subprocess.DEVNULL).returncode == 0

    def free(self):
        room = os.statvfs(self.folder)
        return room.f_bavail * room.f_frsize

    def used(self):
        room = os.statvfs(self.folder)
        return (room.f_blocks - room.f_bfree) * room.f_frsize

    def fill(self, seconds, most_s, enough):
        """Takes all room, and for so long what becomes free meanwhile; longer while it is not enough."""
        begun, length = None, 0

        def going_on():
            taken_s = time.monotonic() - begun
            return taken_s < seconds or (taken_s < most_s and not enough())

        with open(self.filler, "wb") as filler:
            while begun is None or going_on():
                free = self.free()
                # Where another is faster a piece as a whole is refused, so they are small.
                piece = min(free, FILLER_BYTES)
                while piece >= PAGE_BYTES:
                    try:
                        os.posix_fallocate(filler.fileno(), length, piece)
                        length += piece
                        break
                    except OSError:
                        piece //= 2
                if free < FILLER_BYTES:
                    begun = begun or time.monotonic()
                    time.sleep(0.002)

    def make_room(self):
        self.filler.unlink(missing_ok=True)

    def unmount(self):
        if self.mounted and subprocess.run(["umount", self.folder]).returncode != 0:
            subprocess.run(["umount", "--lazy", self.folder])


class Server:
    """The process, on ports that stay the same from start to start."""

    def __init__(self, anywhen, disk, log, promises):
        self.anywhen, self.disk, self.log = anywhen, disk, log
        self.data = disk.folder / "data"
        self.promises = promises
        self.port, self.web_port = free_ports(2)
        self.process = None
        self.up = False
        self.closed = False
        self.ends = 0
        self.rss_max = 0
        self.starts_s = []
        self.changing = threading.RLock()

    def start(self):
        """Starts it, and waits for its first answer."""
        with self.changing:
            if self.closed:
                return
            begun = time.monotonic()
            self.spawn()
            while True:
                try:
                    client = Client(self.port, START_S)
                    client.query("SELECT 1")
                    client.close()
                    reach(self.web_port, START_S).close()
                    break
                except Lost as lost:
                    late = time.monotonic() - begun > START_S
                    ended = self.process.poll() is not None
                    if ended and not late and self.disk.full.is_set():
                        self.spawn()  # It needs some room to start.
                    elif late or ended:
                        self.promises.see("start", False, f"an answer within {START_S} s",
                                          f"{lost}; exit code {self.process.poll()}\n{self.last()}")
                        raise SystemExit("hostile: the server does not start") from lost
                    time.sleep(0.02)
            self.starts_s.append(time.monotonic() - begun)
            self.promises.see("start", True, "", "")
            self.up = True

    def spawn(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.anywhen, "serve", "--json", "--data", self.data,
                 "--pg-listen", f"{HOST}:{self.port}", "--http-listen", f"{HOST}:{self.web_port}"],
                stdout=subprocess.DEVNULL, stderr=log)

    def kill(self):
        """SIGKILL, and a new start at once on the same folder."""
        with self.changing:
            if self.closed:
                return
            self.gone()
            self.process.kill()
            self.process.wait()
            self.start()

    def stop(self):
        """SIGTERM; it must end well."""
        with self.changing:
            if self.closed:
                return
            self.gone()
            begun = time.monotonic()
            self.process.terminate()
            try:
                code = self.process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                code = "none yet"
                self.process.kill()
                self.process.wait()
            took = time.monotonic() - begun
            self.promises.see("stop", code == 0, f"exit code 0 within {STOP_S} s",
                              f"{code} after {took:.1f} s\n{self.last()}")

    def end(self):
        """No process may stay behind, nor come again."""
        with self.changing:
            self.up, self.closed = False, True
            if self.process and self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    def gone(self):
        self.up = False
        self.ends += 1

    def look(self):
        """Whether it still runs, and how much memory it has."""
        with self.changing:
            if not self.up:
                return
            code = self.process.poll()
            self.promises.see("alive", code is None, "a server that runs",
                              f"exit code {code}\n{self.last()}")
            if code is None:
                self.rss_max = max(self.rss_max, rss(self.process.pid))
            else:
                self.gone()
                self.start()

    def excuses(self, ends):
        """True where a lost connection is no wonder: the server has ended since there were `ends`."""
        for _ in range(20):
            if self.ends != ends or not self.up:
                return True
            time.sleep(0.05)
        return False

    def last(self):
        """The last that it has to say."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"  | {line[:300]}" for line in lines[-8:])

    def panics(self):
        return [line for line in self.log.read_text(errors="replace").splitlines()
                if "panicked" in line]


def rss(pid, which="VmHWM"):
    """The most memory that a process ever had, in bytes; what it has now is `VmRSS`."""
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith(f"{which}:"):
                return int(line.split()[1]) << 10
    return 0


def free_ports(count):
    lines = [socket.create_server((HOST, 0)) for _ in range(count)]
    ports = [line.getsockname()[1] for line in lines]
    for line in lines:
        line.close()
    return ports


def end_on_signals():
    """SIGTERM ends this program as SIGINT does, so that nothing is left mounted or running."""
    def leave(number, _):
        raise SystemExit(128 + number)
    signal.signal(signal.SIGTERM, leave)

"""The commits of all clients of a server, in this process: the server pushes them. ::

    commits            t1        t2        t3        t4
    notifications      t1        t2        t3        t4     in the order of commits, on a connection that listens
    known, log         [t1 oids] [t2 oids]                  `last_tid` and `changes` answer from here
    queue                                  t3        t4     notified, and not known yet

A thread waits for notifications. A notification has only a tid, so the thread asks for the oids: one round
trip, for all tids that have come meanwhile. The oids of commits of this process are here already: such a tid
moves from the queue to the log when its ``tpc_finish`` has been acknowledged.

- ``known`` never moves back, and every transaction at or below it is visible and in the log, or below the log.
- A notification may come just before its commit is visible. So ``known`` comes from an answer of the server, or
  from an acknowledged commit that is the first one in the queue.
- The first move of ``known`` after the begin comes from an answer of the server. A commit that was notified
  just before the listener was there is in that answer.

Where the connection is lost, nothing is known to be current. The next call listens again, and what was loaded
before is dropped: :meth:`Feed.changes` answers None.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable

from .._pipeline import Pipeline, Pool, int8
from ..errors import Error, OperationalError

_log = logging.getLogger(__name__)

#: The transactions in a range, ascending, as (tid, oids).
Changes = list[tuple[bytes, list[bytes]]]

Z64 = bytes(8)
# Oids of commits that are remembered.
_OIDS_MAX = 100_000
# How long a commit waits for its notification before it asks the server, in seconds.
_PATIENCE_S = 1.0
# How often, and how long, a notification waits for its commit to be visible.
_TRIES, _TRY_S = 200, 0.001


class Feed:
    """The commits of all clients. Any thread may call it."""

    def __init__(
        self,
        pool: Pool,
        channel: str,
        newest: Callable[[], bytes],
        since: Callable[[bytes], tuple[bytes, Changes | None]],
    ) -> None:
        self._pool = pool
        self._channel = channel
        # The newest tid of the server.
        self._newest = newest
        # The newest tid of the server, and what was committed after a tid.
        self._since = since
        self._changed = threading.Condition()
        self._starting = threading.Lock()
        self._fetching = threading.Lock()
        self._listener: Pipeline | None = None
        #: True while notifications come.
        self.is_listening = False
        self._is_closed = False
        #: The newest tid up to which everything is visible here.
        self.known = Z64
        # The log has the commits in (floor, known]. What was loaded before `kept_from` is not current.
        self._floor = self._kept_from = Z64
        self._tids: list[bytes] = []
        self._oids: list[list[bytes]] = []
        self._logged = 0
        self._queue: deque[bytes] = deque()
        # Acknowledged commits of this process that are above `known`, by tid.
        self._own: dict[bytes, list[bytes]] = {}
        # Commits of this process that are on their way.
        self._finishing = 0
        # True once a notification was seen in an answer of the server.
        self._is_anchored = False

    # --- the connection ----------------------------------------------------------------------------

    def start(self) -> None:
        """Listens, where nobody does; everything acknowledged before is known afterwards."""
        with self._starting:
            if self.is_listening:
                return
            self._pool.check()
            listener = self._pool.new()
            try:
                listener.command(f'LISTEN "{self._channel}"')
                newest = self._newest()
                if newest < self.known:
                    raise OperationalError(
                        "the server lacks transactions that this process has seen",
                        "08006",
                        hint="it is another database, or an older copy: open the storage again",
                    )
            except BaseException:
                listener.close()
                raise
            with self._changed:
                if self.known != Z64:
                    self._kept_from = newest
                self._forget(newest)
                self._queue.clear()
                self._own.clear()
                self._is_anchored = False
                self._listener, self.is_listening = listener, True
            threading.Thread(
                target=self._listen, args=(listener,), name="anywhen-zodb", daemon=True
            ).start()

    def _listen(self, listener: Pipeline) -> None:
        # Signals are for other threads: a wait of theirs has to end.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.fetch()
            while True:
                payloads = listener.notifications()
                with self._changed:
                    for payload in payloads:
                        self._queue.append(int8(int(payload)))
                    self._settle()
                self._fetch_queued()
        except Exception as error:
            if not self._is_closed:
                _log.warning("the server's notifications have ended: %s", error)
        finally:
            listener.drop()
            with self._changed:
                if self._listener is listener:
                    self.is_listening = False
                self._changed.notify_all()

    def close(self) -> None:
        """Ends the listener; nothing where it is closed."""
        with self._starting:
            self._is_closed = True
            listener, self.is_listening = self._listener, False
        if listener is not None:
            listener.interrupt()

    # --- what is known -----------------------------------------------------------------------------

    def changes(self, after: bytes, upto: bytes) -> tuple[bool, Changes | None]:
        """The commits in (after, upto]; None where the caller must drop what it has. The first value is False
        where only the server can tell."""
        with self._changed:
            if after < self._kept_from:
                return True, None
            if after < self._floor or upto > self.known:
                return False, None
            first, last = bisect_right(self._tids, after), bisect_right(self._tids, upto)
            return True, list(zip(self._tids[first:last], self._oids[first:last], strict=True))

    def reach(self, tid: bytes) -> None:
        """Returns when a tid that the server has answered is known."""
        if self.known < tid:
            self.fetch(tid)

    def fetch(self, tid: bytes | None = None) -> None:
        """Asks the server what is new: one round trip; none where another thread has learned of ``tid``."""
        with self._fetching:
            known = self.known
            if tid is not None and known >= tid:
                return
            newest, changes = self._since(known)
            with self._changed:
                if changes is None:
                    # They are not kept so far back.
                    self._kept_from = newest
                    self._forget(newest)
                else:
                    for each, oids in changes:
                        self._publish(each, oids)
                    self.known = max(self.known, newest)
                self._settle()

    def _fetch_queued(self) -> None:
        """Asks for what was notified, until nothing is left that a commit of this process does not bring."""
        for _ in range(_TRIES):
            with self._changed:
                if not self._queue or self._finishing:
                    return
            self.fetch()
            if not self._queue:
                return
            # It will be visible in a moment.
            time.sleep(_TRY_S)
        with self._changed:
            self._queue.clear()
            self._is_anchored = False

    # --- commits of this process -------------------------------------------------------------------

    def finishing(self) -> None:
        """Notes that a commit is on its way; ``finished`` or ``failed`` follows."""
        with self._changed:
            self._finishing += 1

    def failed(self) -> None:
        """Notes that a commit has failed."""
        with self._changed:
            self._finishing -= 1
        self._catch_up()

    def finished(self, tid: bytes, oids: list[bytes]) -> None:
        """Notes a commit that was acknowledged; returns when it is known here."""
        with self._changed:
            self._finishing -= 1
            if self.known < tid:
                self._own[tid] = oids
                self._settle()
            end = time.monotonic() + _PATIENCE_S
            while self.known < tid and self.is_listening:
                # The first commit in the queue is not of this process, or not acknowledged yet.
                if self._queue or not self._changed.wait(end - time.monotonic()):
                    break
        self._catch_up(tid)

    def _catch_up(self, tid: bytes = Z64) -> None:
        """Asks the server where the queue waits for nobody, or ``tid`` is not known yet."""
        try:
            if self.is_listening and self.known < tid:
                self.fetch(tid)
            if self._queue and self.is_listening:
                self._fetch_queued()
        except Error as error:
            # The commit itself has succeeded. The next call listens again.
            _log.warning("the server's changes cannot be fetched: %s", error)
            self.lose()

    def lose(self) -> None:
        """Takes the listener for lost."""
        listener = self._listener
        with self._changed:
            self.is_listening = False
            self._changed.notify_all()
        if listener is not None:
            listener.interrupt()

    # --- under the lock ----------------------------------------------------------------------------

    def _settle(self) -> None:
        """Takes what is known from the queue, and makes known the commits of this process that come next."""
        queue, own = self._queue, self._own
        while queue:
            tid = queue[0]
            if tid <= self.known:
                self._is_anchored = True
            elif self._is_anchored and tid in own:
                self._publish(tid, own[tid])
            else:
                break
            queue.popleft()
            own.pop(tid, None)
        if own and min(own) <= self.known:
            for tid in [tid for tid in own if tid <= self.known]:
                del own[tid]
        self._changed.notify_all()

    def _publish(self, tid: bytes, oids: list[bytes]) -> None:
        if tid <= self.known:
            return
        self._tids.append(tid)
        self._oids.append(oids)
        self._logged += len(oids) + 1
        self.known = tid
        if self._logged > _OIDS_MAX:
            half = len(self._tids) // 2 + 1
            self._floor = self._tids[half - 1]
            del self._tids[:half], self._oids[:half]
            self._logged = sum(map(len, self._oids)) + len(self._oids)

    def _forget(self, newest: bytes) -> None:
        self._tids, self._oids, self._logged = [], [], 0
        self._floor = self.known = max(newest, self.known)

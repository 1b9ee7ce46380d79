"""Those who write, what they remember of it, and the comparison at the end.

    a row of the ledger ── versions that were acknowledged ─┐
                        └─ a change whose answer was lost ──┴─ one of these must be there
    a batch of bulk ── all (acknowledged), none (dropped, refused), or either (its answer was lost)

A row with a lost answer is left alone from then on, so that at the end it still tells what came of
the transaction.
"""

import threading
import time

from wire import Lost, Nonsense, Refused

TABLES = """
    CREATE TABLE ledger (id bigint PRIMARY KEY, writer int, n bigint, body text) USING heap;
    CREATE INDEX ledger_writer_n ON ledger (writer, n);
    CREATE TABLE hoard (number int PRIMARY KEY, body bytea) USING heap WITH (history = 'none');
    INSERT INTO ledger VALUES (0, 0, 0, 'sober');
"""

# The rows of a writer have numbers of their own.
ROWS_OF_ONE = 1_000_000_000

# How many updated rows are asked for their whole past.
PASTS = 200

# A table of bulk is looked at and dropped after so many batches, so that the disk holds them.
BATCHES_OF_ONE = 5
ROWS_OF_A_PIECE = 2000
FILLING = "b" * 20

# More than a few of these have no room in what the log has taken beforehand.
HOARD_BYTES = 4 << 20

# Differences that are told in full.
TOLD_MAX = 5


class Writer:
    """Inserts rows and changes them, in the ways in which clients do."""

    def __init__(self, world, number):
        self.world, self.number = world, number
        self.random = world.random(f"writer {number}")
        self.versions = {}  # of each row what was acknowledged, oldest first: (n, body)
        self.sure = []  # rows of which no answer was lost
        self.lost = []  # changes of which the answer was lost: {id: (n, body)}
        self.next = number * ROWS_OF_ONE
        self.committing = False  # whether what was sent may happen without another word

    def work(self):
        world, client = self.world, None
        while not world.over.is_set():
            client = client or world.connect()
            if client is None:
                return
            changes = self.choose()
            ends, was_full = world.server.ends, world.disk.full.is_set()
            try:
                self.ask(client, changes)
                self.keep(changes)
            except Refused as refused:
                self.lose(changes) if refused.outcome_unknown else self.undo(changes)
                world.refused(refused, was_full)
                client = back_out(client)
            except (Lost, Nonsense) as lost:
                self.lose(changes) if self.committing else self.undo(changes)
                if not isinstance(lost, Gone) and not world.excused(lost, ends):
                    world.promises.see("writers", False, "an answer", lost)
                client.drop()
                client = None
            world.over.wait(self.random.uniform(0.001, 0.01))
        if client:
            client.close()

    def choose(self):
        """What to change: new rows, and rows that are there."""
        changes = {}
        for _ in range(self.random.choice([1, 1, 1, 2, 5])):
            size = self.random.choice([0, 20, 100, 100, 3000])
            body = f"{self.number}-" + self.random.choice("abcdef") * size
            if self.sure and self.random.random() < 0.4:
                # The last one takes the place of the one that is taken out.
                place = self.random.randrange(len(self.sure))
                self.sure[place], self.sure[-1] = self.sure[-1], self.sure[place]
                row = self.sure.pop()
                changes[row] = (self.versions[row][-1][0] + 1, body)
            else:
                self.next += 1
                changes[self.next] = (self.random.randrange(1000), body)
        return changes

    def ask(self, client, changes):
        """Sends the changes as one transaction, in one of several ways."""
        self.committing = len(changes) == 1
        if self.random.random() < 0.003:
            # One who goes away before the answer.
            self.committing = True
            client.send_query("; ".join(self.statement(row, *new) for row, new in changes.items()))
            raise Gone
        if len(changes) > 1 and self.random.random() < 0.3:
            self.committing = True
            client.query("; ".join(self.statement(row, *new) for row, new in changes.items()))
            return
        if len(changes) > 1:
            client.query("BEGIN")
        for row, (n, body) in changes.items():
            if self.random.random() < 0.5:
                seen = client.query(self.statement(row, n, body))
            else:
                sql, parameters = self.prepared(row, n, body)
                seen = client.extended(sql, parameters)
            self.world.promises.see("writers", seen == [(str(n),)], f"row {row} with n {n}", seen)
        if len(changes) > 1:
            self.committing = True
            _, tag = client.tagged("COMMIT")
            self.world.promises.see("writers", tag == "COMMIT", "COMMIT", tag)

    def statement(self, row, n, body):
        if row in self.versions:
            return f"UPDATE ledger SET n = n + 1, body = '{body}' WHERE id = {row} RETURNING n"
        return f"INSERT INTO ledger VALUES ({row}, {self.number}, {n}, '{body}') RETURNING n"

    def prepared(self, row, n, body):
        if row in self.versions:
            return "UPDATE ledger SET n = n + 1, body = $1 WHERE id = $2 RETURNING n", [body, row]
        sql = f"INSERT INTO ledger VALUES ($1, {self.number}, $2, $3) RETURNING n"
        return sql, [row, n, body]

    def keep(self, changes):
        """The changes were acknowledged."""
        for row, new in changes.items():
            self.versions.setdefault(row, []).append(new)
            self.sure.append(row)
        self.world.count("transactions")

    def undo(self, changes):
        """Nothing of the changes may be there."""
        self.sure += [row for row in changes if row in self.versions]

    def lose(self, changes):
        """All of the changes may be there, or nothing."""
        self.lost.append(changes)


class Gone(Lost):
    """The writer himself went away."""


def back_out(client):
    """Ends what is left of a refused transaction; None where the session went with it."""
    try:
        client.query("ROLLBACK")
        return client
    except (Lost, Refused):
        client.drop()
        return None


class Copier:
    """Copies batches in: to the end, or not."""

    def __init__(self, world):
        self.world = world
        self.random = world.random("copier")
        self.table = 0
        self.looked_at = False  # whether the table may have been dropped
        self.fates = {}  # of each batch of the table: how many rows, and all, none or either

    def work(self):
        world, batch = self.world, 0
        while not world.over.is_set():
            self.table += 1
            self.fates, self.looked_at = {}, False
            if self.insist(f"CREATE TABLE IF NOT EXISTS bulk_{self.table} "
                           f"(batch int, n int, body text) USING {world.method} WITH (history = 'none')") is None:
                return
            for _ in range(BATCHES_OF_ONE):
                batch += 1
                self.fill(batch)
                world.over.wait(self.random.uniform(0.1, 1))
            seen = self.insist(self.sums())
            if seen is None:
                return
            self.hold_against(seen)
            self.looked_at = True
            self.insist(f"DROP TABLE IF EXISTS bulk_{self.table}")

    def insist(self, sql):
        """Asks until there is an answer; None once it is all over."""
        world = self.world
        while (client := world.connect()) is not None:
            ends, was_full = world.server.ends, world.disk.full.is_set()
            try:
                return client.query(sql)
            except Refused as refused:
                world.refused(refused, was_full)
            except Lost as lost:
                if not world.excused(lost, ends):
                    world.promises.see("copy", False, f"an answer to {sql}", lost)
            finally:
                client.drop()
            world.over.wait(0.1)
        return None

    def fill(self, batch):
        """One batch; what must be there of it is noted before each step."""
        world = self.world
        client = world.connect()
        if client is None:
            return
        count = self.random.randrange(100_000, 400_000)
        end = self.random.choice(["finish"] * 7 + ["drop", "fail", "leave"])
        stop = self.random.randrange(count) if end in ("drop", "fail") else count
        ends, was_full = world.server.ends, world.disk.full.is_set()
        self.fates[batch] = count, "none"
        try:
            client.begin_copy(f"COPY bulk_{self.table} FROM STDIN")
            for first in range(0, stop, ROWS_OF_A_PIECE):
                client.piece(piece(batch, first, min(first + ROWS_OF_A_PIECE, count)))
                world.copying.set()
            world.copying.clear()
            if end == "finish":
                self.fates[batch] = count, "either"
                tag = client.end_copy()
                self.fates[batch] = count, "all"
                world.promises.see("copy", tag == f"COPY {count}", f"COPY {count}", tag)
                world.count("copies")
            elif end == "fail":
                client.fail_copy()
            elif end == "leave":
                self.fates[batch] = count, "either"
                client.leave_copy()
        except Refused as refused:
            if not refused.outcome_unknown:
                self.fates[batch] = count, "none"
            if end != "fail" or refused.state != "57014":
                world.refused(refused, was_full)
        except (Lost, Nonsense) as lost:
            if not world.excused(lost, ends):
                world.promises.see("copy", False, "an answer", lost)
        finally:
            world.copying.clear()
            client.drop()
        if end != "finish":
            world.count("copies dropped")

    def sums(self):
        return ("SELECT batch, count(*), sum(n::bigint), "
                f"count(*) FILTER (WHERE body = batch || '-' || n || '-{FILLING}') "
                f"FROM bulk_{self.table} GROUP BY batch")

    def hold_against(self, seen):
        """Compares the sums of a table with the fates of its batches."""
        seen = {int(batch): tuple(map(int, sums)) for batch, *sums in seen}
        for batch in seen.keys() | self.fates.keys():
            count, fate = self.fates.get(batch, (0, "none"))
            whole = (count, count * (count - 1) // 2, count)
            wanted = {"all": [whole], "none": [None], "either": [whole, None]}[fate]
            self.world.promises.see("copy", seen.get(batch) in wanted,
                                    f"{fate} of batch {batch} of bulk_{self.table}: one of {wanted}",
                                    seen.get(batch))

    def compare(self, client):
        """Looks at the table that was filled last."""
        try:
            self.hold_against(client.query(self.sums()))
        except Refused as refused:
            # It may never have been made, or be gone.
            well = refused.state == "42P01" and (self.looked_at or not self.fates)
            self.world.promises.see("copy", well, "the sums of the last table", refused)


class Hoard:
    """Large values, written while the disk is full; each is there as a whole, or was refused."""

    def __init__(self, world):
        self.world = world
        self.random = world.random("hoard")
        self.there, self.maybe, self.next = set(), set(), 0
        self.one_by_one = threading.Lock()

    def put(self, client):
        """Writes one value. Whether it is there is not known before the answer."""
        with self.one_by_one:
            self.next += 1
            number, body = self.next, self.random.randbytes(HOARD_BYTES)
        self.maybe.add(number)
        try:
            client.extended("INSERT INTO hoard VALUES ($1, $2)", [number, body])
            self.there.add(number)
        except Refused as refused:
            if not refused.outcome_unknown:
                self.maybe.remove(number)
            raise

    def grow(self, going_on):
        """Writes whenever the disk is full."""
        world = self.world
        client = world.connect()
        while client is not None and going_on():
            if world.disk.free() > HOARD_BYTES:
                time.sleep(0.02)  # The disk is not full yet.
                continue
            ends = world.server.ends
            try:
                self.put(client)
            except Refused as refused:
                world.refused(refused, was_full=True)
                client = back_out(client) or world.connect()
                world.over.wait(0.1)
            except Lost as lost:
                if not world.excused(lost, ends):
                    world.promises.see("full", False, "an answer", lost)
                client.drop()
                client = world.connect()
        if client:
            client.drop()

    def compare(self, client):
        seen = {int(number): int(size) for number, size in
                client.query("SELECT number, octet_length(body) FROM hoard")}
        well = (self.there <= seen.keys() <= self.maybe
                and set(seen.values()) <= {HOARD_BYTES})
        self.world.promises.see("scan", well, f"{sorted(self.there)} of the hoard, perhaps also "
                                f"{sorted(self.maybe - self.there)}, of {HOARD_BYTES} bytes", seen)


def piece(batch, first, end):
    return "".join(f"{batch}\t{n}\t{batch}-{n}-{FILLING}\n" for n in range(first, end)).encode()


# ---- the end -------------------------------------------------------------------------------------

def compare(client, writers, promises, random, counts):
    """Holds the ledger against what the writers remember, by each way to its rows."""
    lost = {row: new for writer in writers for changes in writer.lost for row, new in changes.items()}
    sure = {row: versions[-1] for writer in writers for row, versions in writer.versions.items()}
    sure[0] = (0, "sober")

    def hold_against(name, found, rows):
        wrong = [f"row {row}: {short(found.get(row))}, acknowledged {short(sure.get(row))}, "
                 f"lost {short(lost.get(row))}"
                 for row in sorted(rows | found.keys())
                 if found.get(row) not in {sure.get(row)} | ({lost[row]} if row in lost else set())]
        promises.see(name, not wrong, "what was acknowledged last, or lost after it",
                     f"{len(wrong)} others\n  " + "\n  ".join(wrong[:TOLD_MAX]))

    everything = {row for row in sure} | {row for row in lost}
    found = rows_of(client, "SELECT id, n, body, writer FROM ledger")
    hold_against("scan", found, everything)
    for writer in writers:
        first = writer.number * ROWS_OF_ONE
        rows = {row for row in everything if first <= row < first + ROWS_OF_ONE}
        for name, index, where in [
            ("primary key", "ledger_pkey", f"id >= {first} AND id < {first + ROWS_OF_ONE}"),
            ("index", "ledger_writer_n", f"writer = {writer.number} AND n >= 0"),
        ]:
            sql = f"SELECT id, n, body, writer FROM ledger WHERE {where}"
            plan = "\n".join(line for line, in client.query(f"EXPLAIN {sql}"))
            promises.see(name, f"Index Scan using {index}" in plan, f"the index {index}", plan)
            hold_against(name, rows_of(client, sql), rows)
        for changes in writer.lost:
            came = {found.get(row) == new for row, new in changes.items()}
            promises.see("atomic", len(came) == 1, "all or nothing", {
                row: (short(found.get(row)), short(new)) for row, new in changes.items()})
        changed = [row for row, versions in writer.versions.items() if len(versions) > 1]
        for row in random.sample(changed, min(len(changed), PASTS // len(writers))):
            wanted = list(writer.versions[row])
            if row in lost and found.get(row) == lost[row]:
                wanted.append(lost[row])
            seen = client.query(f"SELECT n, body FROM ledger FOR SYSTEM_TIME ALL WHERE id = {row} "
                                "ORDER BY _version")
            seen = [(int(n), body) for n, body in seen]
            promises.see("history", seen == wanted, f"row {row}: {list(map(short, wanted))}",
                         list(map(short, seen)))
    counts["rows acknowledged"] = len(sure)
    counts["rows unknown"] = len(lost)
    counts["rows found"] = len(found)


def rows_of(client, sql):
    """Rows by their number. A row of which the writer is another's is none that anybody wrote."""
    return {int(row): (int(n), body) if int(writer) == int(row) // ROWS_OF_ONE else (writer, n, body)
            for row, n, body, writer in client.query(sql)}


def short(version):
    """A version, told in a few words."""
    return version and (version[0], f"{version[1][:8]}... of {len(version[1])}")

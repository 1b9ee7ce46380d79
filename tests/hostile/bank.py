"""Money that is moved, and documents that are put over HTTP, while the server is killed.

    teller ── BEGIN, two accounts, a line of the journal, COMMIT     the sum of all accounts never changes,
                                                                     now and at any commit of the past
    clerk ─── PUT of a document, counting up                         each acknowledged revision is there, with
                                                                     its author, and in the history of the node

Each remembers what was acknowledged, and what may have happened because the answer was lost.
"""

import json
from http.client import HTTPConnection, HTTPException

from ledger import back_out
from wire import HOST, Lost, Nonsense, Refused

ACCOUNTS = 16
EACH = 1000
TOTAL = ACCOUNTS * EACH

TABLES = f"""
    CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL) USING heap;
    CREATE TABLE journal (id bigint PRIMARY KEY, payer int NOT NULL REFERENCES account,
                          payee int NOT NULL REFERENCES account, amount bigint NOT NULL)
                          USING heap;
    INSERT INTO account SELECT n, {EACH} FROM generate_series(1, {ACCOUNTS}) n;
"""

# Accounts whose balance is not what the lines of the journal come to: there is none, at any moment.
ASTRAY = f"""
    SELECT count(*) FROM account LEFT JOIN (
        SELECT party, sum(change) AS change FROM (
            SELECT payer AS party, -amount AS change FROM journal
            UNION ALL SELECT payee, amount FROM journal) lines GROUP BY party) sums ON party = id
    WHERE balance <> {EACH} + coalesce(change, 0)
"""

# The lines of a teller's journal have numbers of their own.
LINES_OF_ONE = 1_000_000_000

# Commits of the past at which the sum is asked for.
PASTS = 40

# Documents of a clerk; how many have their whole history read at the end.
DOCUMENTS = 12

# Where a transfer may be refused although nothing is wrong.
CONTENTION = {"40001", "40P01"}


class Teller:
    """Moves money, in order of the accounts or not, and now and then takes a transfer back."""

    def __init__(self, world, number):
        self.world, self.number = world, number
        self.random = world.random(f"teller {number}")
        self.next = number * LINES_OF_ONE
        self.sure = {}  # lines that were acknowledged: {id: (payer, payee, amount)}
        self.maybe = {}  # lines whose answer was lost

    def work(self):
        world, client = self.world, None
        while not world.over.is_set():
            client = client or world.connect()
            if client is None:
                return
            self.next += 1
            payer, payee = self.random.sample(range(1, ACCOUNTS + 1), 2)
            line = (payer, payee, self.random.randrange(1, 50))
            ends, was_full = world.server.ends, world.disk.full.is_set()
            try:
                self.transfer(client, self.next, line)
            except Refused as refused:
                if refused.outcome_unknown:
                    self.maybe[self.next] = line
                if refused.state in CONTENTION:
                    world.count("transfers given way")
                else:
                    world.refused(refused, was_full)
                client = back_out(client)
            except (Lost, Nonsense) as lost:
                if not world.excused(lost, ends):
                    world.promises.see("bank", False, "an answer", lost)
                client.drop()
                client = None
            world.over.wait(self.random.uniform(0.001, 0.01))
        if client:
            client.close()

    def transfer(self, client, number, line):
        payer, payee, amount = line
        serializable = self.random.random() < 0.3
        client.query("BEGIN ISOLATION LEVEL SERIALIZABLE" if serializable else "BEGIN")
        for account, change in (payer, -amount), (payee, amount):
            client.query(f"UPDATE account SET balance = balance + {change} WHERE id = {account}")
        client.extended("INSERT INTO journal VALUES ($1, $2, $3, $4)", [number, payer, payee, amount])
        if self.random.random() < 0.1:
            client.query("ROLLBACK")
            return
        # From here on it may have happened.
        self.maybe[number] = line
        try:
            _, tag = client.tagged("COMMIT")
        except Refused as refused:
            if not refused.outcome_unknown:
                del self.maybe[number]
            raise
        del self.maybe[number]
        if self.world.promises.see("bank", tag == "COMMIT", "COMMIT", tag):
            self.sure[number] = line
            self.world.count("transfers")


def audit(world, number):
    """Adds up all accounts, and the journal for each, again and again: whatever is under way, the sum is the
    same, and each balance is what its lines come to."""
    chance = world.random(f"audit {number}")
    while not world.over.wait(chance.uniform(0.2, 0.6)):
        client = world.connect()
        if client is None:
            return
        ends = world.server.ends
        try:
            seen = client.query("SELECT sum(balance) FROM account")
            world.promises.see("bank", seen == [(str(TOTAL),)], f"{TOTAL} in all", seen)
            seen = client.query(ASTRAY)
            world.promises.see("bank", seen == [("0",)], "no account astray", seen)
            world.count("audits")
        except (Lost, Refused, Nonsense) as error:
            if not world.excused(error, ends):
                world.promises.see("bank", False, f"{TOTAL} in all", error)
        client.drop()


class Clerk:
    """Puts documents over HTTP; each counts up, so that none of its revisions can be missed."""

    def __init__(self, world, number):
        self.world, self.number = world, number
        self.random = world.random(f"clerk {number}")
        self.puts = {f"{number}-{n}": [] for n in range(DOCUMENTS)}  # what was acknowledged, in order
        self.maybe = {}  # the one whose answer was lost; the document is left alone from then on

    def work(self):
        world, line, ends = self.world, None, 0
        while not world.over.is_set():
            if not world.server.up:
                world.over.wait(0.02)
                continue
            if line is None or ends != world.server.ends:
                # A connection is one with a server that has not ended since.
                ends = world.server.ends
                line = HTTPConnection(HOST, world.server.web_port, timeout=60)
            free = [key for key in self.puts if key not in self.maybe]
            if len(free) < DOCUMENTS // 2:
                # Too many had an answer lost: others take their place.
                key = f"{self.number}-{len(self.puts)}"
                self.puts[key] = []
                free.append(key)
            key = self.random.choice(free)
            n = (self.puts[key] or [0])[-1] + 1
            was_full = world.disk.full.is_set()
            try:
                status, told = ask(line, "PUT", path_of(key), self.document(key, n))
                self.judge(key, n, status, told, was_full)
            except (OSError, HTTPException, ValueError) as error:
                self.maybe[key] = n
                if isinstance(error, TimeoutError) or not world.excused(error, ends):
                    world.promises.see("web", False, "an answer", repr(error))
                line = None
            world.over.wait(self.random.uniform(0.001, 0.02))

    def document(self, key, n):
        filling = self.random.choice("abcdef") * self.random.choice([0, 20, 300, 5000])
        rows = [{"at": i, "n": n} for i in range(self.random.choice([1, 3, 40]))]
        return {"key": key, "n": n, "by": {"clerk": self.number}, "rows": rows, "body": filling}

    def judge(self, key, n, status, told, was_full):
        world = self.world
        if status in (200, 201):
            self.puts[key].append(n)
            world.promises.see("web", told.get("revision") == n, f"revision {n} of {key}", told)
            world.count("documents put")
        elif status == 503 and (was_full or world.disk.full.is_set()):
            # It is not known whether it happened, as with a lost connection.
            self.maybe[key] = n
            world.count("documents refused")
        else:
            self.maybe[key] = n
            world.promises.see("web", False, "200, 201, or 503 while the disk is full", (status, told))


def path_of(key):
    return f"/v1/collections/shelf/documents/{key}"


def ask(line, method, path, body=None):
    """The status and the JSON of an answer."""
    body = None if body is None else json.dumps(body)
    headers = {"Content-Type": "application/json", "Anywhen-Author": "clerk"} if body else {}
    line.request(method, path, body=body, headers=headers)
    answer = line.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if text else {}


# ---- the end -------------------------------------------------------------------------------------

def compare(world, client, tellers, clerks):
    """Holds the accounts, the journal and the documents against what was acknowledged."""
    promises = world.promises
    sure = {number: line for teller in tellers for number, line in teller.sure.items()}
    maybe = {number: line for teller in tellers for number, line in teller.maybe.items()}
    found = {int(number): tuple(map(int, line))
             for number, *line in client.query("SELECT id, payer, payee, amount FROM journal")}
    missing = [number for number, line in sure.items() if found.get(number) != line]
    strange = [number for number, line in found.items()
               if sure.get(number, maybe.get(number)) != line]
    promises.see("bank", not missing and not strange, "every acknowledged transfer, and no other",
                 f"missing {missing[:5]}, nobody's {strange[:5]}")
    balances = dict.fromkeys(range(1, ACCOUNTS + 1), EACH)
    for payer, payee, amount in found.values():
        balances[payer] -= amount
        balances[payee] += amount
    seen = {int(account): int(balance) for account, balance in
            client.query("SELECT id, balance FROM account")}
    promises.see("bank", seen == balances, f"the balances of the journal {balances}", seen)
    promises.see("bank", sum(seen.values()) == TOTAL, f"{TOTAL} in all", sum(seen.values()))
    times = [time for time, in client.query("SELECT DISTINCT _system_from FROM account FOR SYSTEM_TIME ALL")]
    for time in world.random("past").sample(times, min(len(times), PASTS)):
        then = client.query(f"SELECT sum(balance) FROM account FOR SYSTEM_TIME AS OF TIMESTAMPTZ '{time}'")
        promises.see("bank", then == [(str(TOTAL),)], f"{TOTAL} in all as of {time}", then)
    line = HTTPConnection(HOST, world.server.web_port, timeout=60)
    for clerk in clerks:
        for key, puts in clerk.puts.items():
            compare_document(promises, line, clerk, key, puts)
    line.close()
    world.counts["journal"] = len(found)
    world.counts["transfers unknown"] = len(maybe)
    world.counts["documents"] = sum(len(clerk.puts) for clerk in clerks)


def compare_document(promises, line, clerk, key, puts):
    """The document is the one that was acknowledged last, or lost after it; so is the history of its node."""
    outcomes = [list(puts)]
    if key in clerk.maybe:
        outcomes.append(puts + [clerk.maybe[key]])
    status, told = ask(line, "GET", path_of(key))
    seen = told.get("n") if status == 200 else None
    promises.see("documents", seen in [(outcome or [None])[-1] for outcome in outcomes],
                 f"{key} with n of {outcomes}", (status, seen))
    if status != 200:
        return
    whole = told["key"] == key and all(row["n"] == told["n"] for row in told["rows"])
    promises.see("documents", whole, f"{key} as it was put", str(told)[:200])
    _, told = ask(line, "GET", path_of(key) + "/node/history?path=$.n")
    values = [version["value"] for version in told["versions"]]
    revisions = [version["from_revision"] for version in told["versions"]]
    promises.see("documents", values in outcomes and revisions == values, f"the values of {key}: {outcomes}",
                 (values, revisions))

"""The ZODB storages that the suite objects measures, each as it comes: durable commits, default caches. ::

    Storages.open(name) ──> a ZODB storage; where there is none of this name, an empty one
        Anywhen        an embedded database, one folder for each name
        FileStorage    one file for each name
        Served         one database of an Anywhen server for each name
        RelStorage     one database of the PostgreSQL server for each name; it keeps history, as those above
        PgJsonb        likewise; it keeps no history, because it is shipped so
"""

import dataclasses
import pathlib
import shutil
import typing


class Unavailable(Exception):
    """This kind of storage cannot be had here; the text says why."""


@dataclasses.dataclass(frozen=True)
class Servers:
    """The servers that there are, each in libpq's words, without a database."""

    postgres: str | None
    anywhen: str | None


class Storages(typing.Protocol):
    """Storages of one kind, by name."""

    def open(self, name: str) -> typing.Any:
        """Opens the storage of this name, and makes it where there is none."""

    def remove(self, name: str) -> None:
        """Removes a storage that is closed."""


class Anywhen:
    def __init__(self, folder: pathlib.Path, servers: Servers) -> None:
        import anywhen.zodb

        self._open = anywhen.zodb.open
        self._folder = folder

    def open(self, name: str) -> typing.Any:
        return self._open(self._folder / name)

    def remove(self, name: str) -> None:
        shutil.rmtree(self._folder / name)


class FileStorage:
    def __init__(self, folder: pathlib.Path, servers: Servers) -> None:
        from ZODB.FileStorage import FileStorage

        self._open = FileStorage
        self._folder = folder

    def open(self, name: str) -> typing.Any:
        (self._folder / name).mkdir(exist_ok=True)
        return self._open(str(self._folder / name / "Data.fs"))

    def remove(self, name: str) -> None:
        shutil.rmtree(self._folder / name)


class _OfServer:
    """What storages in a server have in common."""

    def __init__(self, server: str | None, prefix: str) -> None:
        if server is None:
            raise Unavailable("there is no server")
        import psycopg2

        self._connect = psycopg2.connect
        self._server = server
        self._prefix = prefix
        self._made: set[str] = set()

    def dsn(self, name: str) -> str:
        """Where the database of this name is; an empty one is made where there is none."""
        database = f"{self._prefix}_{name.replace('-', '_')}"
        if name not in self._made:
            self._execute(f"CREATE DATABASE {database}")
            self._made.add(name)
        return f"{self._server} dbname={database}"

    def remove(self, name: str) -> None:
        self._execute(f"DROP DATABASE {self._prefix}_{name.replace('-', '_')} WITH (FORCE)")
        self._made.remove(name)

    def _execute(self, sql: str) -> None:
        connection = self._connect(f"{self._server} dbname=postgres")
        connection.autocommit = True
        connection.cursor().execute(sql)
        connection.close()


class Served(_OfServer):
    def __init__(self, folder: pathlib.Path, servers: Servers) -> None:
        import anywhen.zodb

        super().__init__(servers.anywhen, "anywhen")
        self._open = anywhen.zodb.open

    def open(self, name: str) -> typing.Any:
        words = dict(word.split("=", 1) for word in self.dsn(name).split())
        return self._open("anywhen://{user}@{host}:{port}/{dbname}".format(**words))


class RelStorage(_OfServer):
    def __init__(self, folder: pathlib.Path, servers: Servers) -> None:
        from relstorage.adapters.postgresql import PostgreSQLAdapter
        from relstorage.options import Options
        from relstorage.storage import RelStorage

        super().__init__(servers.postgres, "relstorage")
        self._adapter, self._options, self._storage = PostgreSQLAdapter, Options, RelStorage

    def open(self, name: str) -> typing.Any:
        options = self._options(keep_history=True)
        return self._storage(self._adapter(dsn=self.dsn(name), options=options), options=options)


class PgJsonb(_OfServer):
    def __init__(self, folder: pathlib.Path, servers: Servers) -> None:
        try:
            from zodb_pgjsonb.storage import PGJsonbStorage
        except ImportError as error:
            raise Unavailable("it is not installed, and needs Python 3.12 or newer") from error
        super().__init__(servers.postgres, "pgjsonb")
        self._storage = PGJsonbStorage

    def open(self, name: str) -> typing.Any:
        # Its warmer begins 15 to 45 seconds after opening: in the middle of what another storage measures.
        return self._storage(self.dsn(name), cache_warm_pct=0)


#: Every kind, by the name under which its figures are published.
KINDS = {
    "anywhen": Anywhen,
    "filestorage": FileStorage,
    "anywhen-server": Served,
    "relstorage": RelStorage,
    "zodb-pgjsonb": PgJsonb,
}

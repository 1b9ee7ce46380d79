"""The suites: for each the programs that run it, part by part.

A part is one process over one server, with an environment of its own. What ends a part early (a
crash, a time limit) costs the tests of this part alone.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import sources

HERE = Path(__file__).resolve().parent.parent

# Django's labels that ask a database, each a part, so that one that cannot be prepared costs no other.
DJANGO = """
    postgres_tests backends schema introspection inspectdb migrations queries aggregation
    aggregation_regress expressions expressions_case expressions_window lookup model_fields
    constraints indexes annotations async basic bulk_create composite_pk contenttypes_tests
    custom_columns custom_lookups custom_managers custom_methods custom_migration_operations custom_pk
    datatypes dates datetimes db_functions db_typecasts db_utils defer defer_regress delete
    delete_regress distinct_on_fields empty extra_regress field_defaults field_subclassing
    filtered_relation fixtures fixtures_regress force_insert_update foreign_object from_db_value
    generic_relations generic_relations_regress get_earliest_or_latest get_object_or_404 get_or_create
    known_related_objects m2m_and_m2o m2m_intermediary m2m_multiple m2m_recursive m2m_regress
    m2m_signals m2m_through m2m_through_regress m2o_recursive managers_regress many_to_many many_to_one
    many_to_one_null max_lengths migrate_signals migration_test_data_persistence model_enums model_forms
    model_formsets model_formsets_regress model_indexes model_inheritance model_inheritance_regress
    model_options model_package model_regress multiple_database mutually_referential
    nested_foreign_keys null_fk null_fk_ordering null_queries one_to_one or_lookups
    order_with_respect_to ordering pagination prefetch_related properties proxy_model_inheritance
    proxy_models queryset_pickle raw_query reserved_names reverse_lookup save_delete_hooks
    select_for_update select_related select_related_onetoone select_related_regress serializers
    signals sites_framework string_lookup swappable_models timezones transaction_hooks transactions
    unmanaged_models update update_only_fields validation xor_lookups
    auth_tests admin_changelist admin_filters admin_views cache sessions_tests dbshell servers
    test_client test_runner test_utils
""".split()
# What `--quick` runs of each suite.
QUICK = {
    "sqlalchemy": ["suite"],
    "django": ["introspection", "inspectdb", "constraints", "indexes", "lookup", "aggregation"],
    "asyncpg": ["tests"],
    "pgx": ["pgtype"],
}
# pgx's packages, each a part.
PGX = [".", "pgconn", "pgtype", "pgtype/zeronull", "pgxpool", "stdlib", "tracelog", "multitracer"]


@dataclass
class Part:
    """One process of a suite."""

    suite: str
    name: str
    command: list
    folder: Path
    environment: dict = field(default_factory=dict)
    # Where the outcomes are: "notes" (a file, lib/notes.py) or "go" (the events on its output).
    says: str = "notes"
    patience_s: int = 900
    # How many words of the command stand before the names of tests, where tests that fail are run once
    # more by themselves, with nothing in the schema public of the database postgres: one that failed may
    # have left things behind for those after it.
    alone: int = 0


def parts(suite, address, folder):
    """The parts of a suite for the server at an address; `folder` is for what they write."""
    return {"sqlalchemy": sqlalchemy, "django": django, "asyncpg": asyncpg, "pgx": pgx}[suite](address, folder)


def setup(suite):
    """Statements that a superuser runs in the suite's database before."""
    return {
        # As SQLAlchemy's README.unittests.rst asks.
        "sqlalchemy": "CREATE SCHEMA test_schema; CREATE SCHEMA test_schema_2;\n"
                      "CREATE EXTENSION hstore; CREATE EXTENSION citext;\n"
                      "ALTER DATABASE sqlalchemy SET default_text_search_config = 'pg_catalog.english';",
        "pgx": "CREATE EXTENSION hstore;\nCREATE EXTENSION ltree;\n"
               "CREATE DOMAIN uint64 AS numeric(20,0);\n"
               "CREATE USER \" tricky, ' } \"\" \\ test user \" SUPERUSER PASSWORD 'secret';",
    }.get(suite, "")


def sqlalchemy(address, folder):
    source = sources.source("sqlalchemy")
    place = {"PYTHONPATH": f"{HERE / 'lib'}:{source / 'lib'}"}

    def part(name, driver, *tests):
        command = [sources.python(), "-m", "pytest", "-q", "-p", "notes", "-p", "no:cacheprovider",
                   "--maxfail=1000000", "--tb=short", "--dropfirst",
                   f"--dburi=postgresql+{driver}://postgres@{address}/sqlalchemy", *tests]
        return Part("sqlalchemy", name, command, source, place, patience_s=1800)

    return [
        part("suite", "psycopg", "test/dialect/test_suite.py"),
        part("postgresql", "psycopg", "test/dialect/postgresql"),
        part("suite-asyncpg", "asyncpg", "test/dialect/test_suite.py"),
        part("engine", "psycopg", "test/engine", "--backend-only"),
        part("sql", "psycopg", "test/sql", "--backend-only"),
        part("orm", "psycopg", "test/orm", "test/ext", "--backend-only"),
    ]


def django(address, folder):
    source = sources.source("django")
    place = {"PYTHONPATH": f"{HERE / 'lib'}:{HERE / 'django'}:{source}"}
    labels = [label for label in DJANGO if (source / "tests" / label).is_dir()]
    return [Part("django", label,
                 [sources.python(), "-W", "ignore", source / "tests/runtests.py", "--settings=settings",
                  "--parallel=1", "--noinput", "-v", "0", label],
                 source / "tests", place) for label in labels]


def asyncpg(address, folder):
    # The tests are put beside what is installed, so that they find its compiled half.
    source = sources.source("asyncpg")
    tests = folder / "asyncpg"
    tests.mkdir(exist_ok=True)
    if not (tests / "tests").exists():
        os.symlink(source / "tests", tests / "tests")
    return [Part("asyncpg", "tests",
                 [sources.python(), "-m", "pytest", "-q", "-p", "notes", "-p", "no:cacheprovider",
                  "--tb=short", "tests"],
                 tests, {"PYTHONPATH": str(HERE / "lib")}, alone=9)]


def pgx(address, folder):
    module = sources.module("pgx")
    host, port = address.rsplit(":", 1)
    place = {**sources.go_environment(),
             "PGX_TEST_DATABASE": f"host={host} port={port} user=postgres dbname=pgx",
             "PGX_TEST_TCP_CONN_STRING": f"host={host} port={port} user=postgres dbname=pgx"}
    return [Part("pgx", name.replace(".", "pgx"),
                 ["go", "test", "-json", "-count=1", "-timeout=600s", f"./{name}"],
                 module, place, says="go")
            for name in PGX if (module / name).is_dir()]

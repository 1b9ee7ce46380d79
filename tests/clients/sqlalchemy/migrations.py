"""Alembic: three revisions up, what autogenerate makes of it, and down again.

The first two revisions are written out below, the third is the one that autogenerate proposes
against the model; after it, nothing is left to propose.
"""

import os
from pathlib import Path

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.config import Config
from alembic import command
from checks import holds, same
from sqlalchemy.dialects import postgresql

metadata = sa.MetaData()
colour = postgresql.ENUM("red", "green", name="colour", create_type=False)
sa.Table(
    "shelf", metadata,
    sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
    sa.Column("label", sa.String(20), nullable=False, server_default="none", comment="On the front"),
    sa.Column("colour", colour, server_default="red"),
    sa.Column("places", sa.BigInteger, server_default=sa.text("10"), nullable=False),
    sa.Column("made", sa.DateTime(timezone=True), server_default=sa.func.now()),
    sa.UniqueConstraint("label", name="shelf_label"),
    sa.CheckConstraint("places > 0", name="shelf_places"),
    comment="Where things lie",
)
sa.Table(
    "thing", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("shelf_id", sa.ForeignKey("shelf.id", name="thing_shelf", ondelete="SET NULL")),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("data", postgresql.JSONB, server_default=sa.text("'{}'::jsonb")),
    sa.Column("sizes", postgresql.ARRAY(sa.Integer)),
    sa.Column("price", sa.Numeric(10, 2), server_default=sa.text("0.5")),
    sa.Column("half", sa.Numeric, sa.Computed("price / 2")),
    sa.Column("on", sa.Boolean, server_default=sa.true(), nullable=False),
    sa.Column("day", sa.Date, server_default=sa.text("CURRENT_DATE")),
    sa.Index("thing_name", "name", unique=True),
    sa.Index("thing_lower_name", sa.text("lower(name)")),
    sa.Index("thing_dear", "price", postgresql_where=sa.text("price > 100")),
)

REVISIONS = {
    "one": (None, '''
    op.execute("CREATE TYPE colour AS ENUM ('red')")
    op.create_table(
        "shelf",
        sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
        sa.Column("name", sa.String(10)),
        sa.Column("places", sa.Integer, server_default=sa.text("10"), nullable=False),
        sa.CheckConstraint("places > 1", name="shelf_places"))
    op.bulk_insert(sa.table("shelf", sa.column("name")), [{"name": "a"}, {"name": "b"}])
''', '''
    op.drop_table("shelf")
    op.execute("DROP TYPE colour")
'''),
    "two": ("one", '''
    with op.get_context().autocommit_block():
        op.execute("ALTER TYPE colour ADD VALUE 'green'")
    op.alter_column("shelf", "name", new_column_name="label", type_=sa.String(20),
                    nullable=False, server_default="none")
    op.drop_constraint("shelf_places", "shelf")
    op.create_check_constraint("shelf_places", "shelf", "places > 0")
    op.add_column("shelf", sa.Column("old", sa.Text, server_default="x"))
    op.create_index("shelf_old", "shelf", ["old"])
    op.create_unique_constraint("shelf_label", "shelf", ["label"])
    op.alter_column("shelf", "places", type_=sa.BigInteger)
''', '''
    op.alter_column("shelf", "places", type_=sa.Integer)
    op.drop_constraint("shelf_label", "shelf")
    op.drop_column("shelf", "old")
    op.alter_column("shelf", "label", new_column_name="name", type_=sa.String(10),
                    nullable=True, server_default=None)
'''),
}

ENVIRONMENT = '''
from alembic import context
engine = context.config.attributes["engine"]
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=context.config.attributes["metadata"],
                      compare_type=True, compare_server_default=True,
                      include_name=context.config.attributes["include_name"])
    with context.begin_transaction():
        context.run_migrations()
'''

TEMPLATE = '''"""${message}"""
from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}

def upgrade():
    ${upgrades if upgrades else "pass"}

def downgrade():
    ${downgrades if downgrades else "pass"}
'''


def written_out(folder):
    """The folder of a project that uses Alembic."""
    (folder / "versions").mkdir(parents=True, exist_ok=True)
    (folder / "env.py").write_text(ENVIRONMENT)
    (folder / "script.py.mako").write_text(TEMPLATE)
    for name, (before, up, down) in REVISIONS.items():
        (folder / f"versions/{name}.py").write_text(
            f"from alembic import op\nimport sqlalchemy as sa\n"
            f"revision = {name!r}\ndown_revision = {before!r}\n"
            f"def upgrade():{up}\ndef downgrade():{down}\n")


def ours(name, kind, _parents):
    """Other tables are in the schema too; these revisions know two."""
    return kind != "table" or name in ("shelf", "thing")


def differences(engine):
    with engine.connect() as db:
        context = MigrationContext.configure(db, opts={
            "compare_type": True, "compare_server_default": True, "include_name": ours})
        return compare_metadata(context, metadata)


def migrate(engine):
    folder = Path(os.environ["WORK"]) / "alembic"
    written_out(folder)
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.attributes.update(engine=engine, metadata=metadata, include_name=ours)

    def at():
        with engine.connect() as db:
            return MigrationContext.configure(db).get_current_revision()

    command.upgrade(config, "one")
    same(at(), "one")
    command.upgrade(config, "two")
    look = sa.inspect(engine)
    same([column["name"] for column in look.get_columns("shelf")], ["id", "label", "places", "old"])
    same(str(look.get_columns("shelf")[2]["type"]), "BIGINT")
    with engine.connect() as db:
        same(db.execute(sa.text("SELECT label, old FROM shelf ORDER BY id")).all(),
             [("a", "x"), ("b", "x")])
    holds(len(differences(engine)) > 5)
    command.revision(config, "the rest", autogenerate=True, rev_id="three")
    proposed = next((folder / "versions").glob("three*.py")).read_text()
    for words in ("op.create_table('thing'", "op.drop_index", "op.drop_column('shelf', 'old')",
                  "op.add_column('shelf', sa.Column('colour'", "op.create_table_comment"):
        holds(words in proposed, f"{words} is not in\n{proposed}")
    command.upgrade(config, "head")
    same(at(), "three")
    # The model and the database say the same.
    same(differences(engine), [])
    with engine.begin() as db:
        same(db.execute(sa.text("INSERT INTO thing (name, shelf_id) VALUES ('pen', 1)"
                                " RETURNING price, half, data, \"on\"")).one()[:2], (0.5, 0.25))
    command.downgrade(config, "two")
    same(sa.inspect(engine).has_table("thing"), False)
    command.downgrade(config, "base")
    same((at(), sa.inspect(engine).has_table("shelf")), (None, False))
    command.upgrade(config, "head")
    same(differences(engine), [])
    command.downgrade(config, "base")
    with engine.begin() as db:
        db.execute(sa.text("DROP TABLE alembic_version"))

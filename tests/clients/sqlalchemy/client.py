"""SQLAlchemy 2 with psycopg, and Alembic: a mapped model lived with, read back, and migrated."""

import datetime
import uuid
from decimal import Decimal

import alembic
import sqlalchemy as sa
from checks import KEEPS_THE_PAST, holds, part, refused, same, tell
from migrations import migrate
from models import Artist, Base, Format, Genre, Record, catalogue_number
from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by, array, insert
from sqlalchemy.orm import Session, joinedload, selectinload

engine = sa.create_engine("postgresql+psycopg://", pool_size=3)


@part
def the_model_is_made():
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)  # what is there is left alone
    same(engine.dialect.default_schema_name, "sqlalchemy")
    same(engine.dialect.server_version_info[0], 17)


@part
def the_model_is_read_back():
    look = sa.inspect(engine)
    same(sorted(look.get_table_names()), ["artist", "genre", "genre_of_record", "record"])
    same(look.get_view_names(), [])
    same(look.has_table("artist"), True)
    same(look.has_table("nobody"), False)
    holds("sqlalchemy" in look.get_schema_names())
    same([name for name in look.get_sequence_names() if name == "catalogue_number"],
         ["catalogue_number"])
    same(look.has_sequence("catalogue_number"), True)

    columns = {column["name"]: column for column in look.get_columns("record")}
    same({name: str(column["type"]) for name, column in columns.items()},
         {"id": "INTEGER", "artist_id": "INTEGER", "title": "TEXT", "format": "VARCHAR(5)",
          "price": "NUMERIC(8, 2)", "with_tax": "NUMERIC(8, 2)", "tags": "ARRAY",
          "notes": "JSONB", "code": "UUID"})
    same(columns["format"]["type"].enums, ["vinyl", "tape", "file"])
    same(columns["format"]["type"].name, "format")
    same(type(columns["tags"]["type"].item_type).__name__, "TEXT")
    same({name: column["default"] for name, column in columns.items()},
         {"id": "nextval('record_id_seq'::regclass)", "artist_id": None, "title": None,
          "format": "'file'::format", "price": "0", "with_tax": None,
          "tags": "'{}'::text[]", "notes": "'{}'::jsonb", "code": "gen_random_uuid()"})
    same(columns["id"]["autoincrement"], True)
    same(columns["with_tax"]["computed"]["persisted"], True)
    same([name for name, column in columns.items() if column["nullable"]], [])

    artist = {column["name"]: column for column in look.get_columns("artist")}
    same(artist["name"]["comment"], "As on the sleeve")
    same((artist["id"]["identity"]["always"], artist["id"]["identity"]["start"]), (True, 5))
    same(artist["born"]["nullable"], True)
    same(look.get_table_comment("artist"), {"text": "Who plays"})

    same(look.get_pk_constraint("genre_of_record"),
         {"constrained_columns": ["record_id", "genre_id"], "name": "pk_genre_of_record",
          "comment": None, "dialect_options": {"postgresql_include": []}})
    keys = look.get_foreign_keys("record")
    same([(key["name"], key["constrained_columns"], key["referred_table"], key["options"])
          for key in keys],
         [("fk_record_artist_id_artist", ["artist_id"], "artist",
           {"onupdate": "CASCADE", "ondelete": "CASCADE"})])
    same([key["referred_columns"] for key in look.get_foreign_keys("artist")], [["id"]])
    indexes = {index["name"]: index for index in look.get_indexes("record")}
    same(sorted(indexes), ["ix_record_cheap", "ix_record_lower_title", "ix_record_notes",
                           "uq_record_artist_id"])
    same(indexes["ix_record_lower_title"]["expressions"], ["lower(title)"])
    holds("price < " in indexes["ix_record_cheap"]["dialect_options"]["postgresql_where"])
    same(indexes["ix_record_notes"]["dialect_options"]["postgresql_using"], "gin")
    same(indexes["uq_record_artist_id"]["duplicates_constraint"], "uq_record_artist_id")
    same([(unique["name"], unique["column_names"]) for unique in
          look.get_unique_constraints("record")], [("uq_record_artist_id", ["artist_id", "title"])])
    same([(check["name"], check["sqltext"]) for check in look.get_check_constraints("artist")],
         [("ck_artist_after_1800", "born > 1800")])
    same([(kind["name"], kind["labels"]) for kind in look.get_enums()],
         [("format", ["vinyl", "tape", "file"])])
    same(set(name for (_, name) in look.get_multi_columns()),
         {"artist", "genre", "genre_of_record", "record"})
    with refused(None):
        look.get_columns("nobody")

    reflected = sa.MetaData()
    reflected.reflect(engine)
    same(sorted(reflected.tables), ["artist", "genre", "genre_of_record", "record"])
    same([fk.target_fullname for fk in reflected.tables["record"].c.artist_id.foreign_keys],
         ["artist.id"])
    same(sorted(table.name for table in reflected.sorted_tables)[0], "artist")
    with engine.connect() as db:
        rows = db.execute(select(reflected.tables["genre"])).all()
    same(rows, [])


@part
def objects_are_kept():
    with Session(engine) as session:
        jazz, folk = Genre(name="jazz"), Genre(name="folk")
        ella = Artist(name="Ella", born=1917)
        ella.records = [
            Record(title="Live", format=Format.vinyl, price=Decimal("12.50"), genres=[jazz],
                   tags=["live", "1960"], notes={"sold": 3, "where": {"city": "Berlin"}}),
            Record(title="Songs", price=Decimal("8.00"), genres=[jazz, folk], notes={"sold": 9}),
        ]
        nina = Artist(name="Nina", born=1933, boss=ella)
        nina.records = [Record(title=f"Nr {n}", price=n) for n in range(300)]
        session.add_all([ella, nina])
        session.commit()
        same((ella.id, nina.boss_id), (5, 5))
        same(ella.records[0].with_tax, Decimal("15.00"))
        same(type(ella.records[0].code), uuid.UUID)
        same(type(ella.since), datetime.datetime)
        # Many rows in one statement, and each gets its own key back.
        same(len({record.id for record in nina.records}), 300)
        first, last = (min(nina.records, key=lambda r: r.price), max(nina.records, key=lambda r: r.price))
        same((first.title, last.title), ("Nr 0", "Nr 299"))

    with Session(engine) as session:
        ella = session.scalars(select(Artist).where(Artist.name == "Ella").options(
            selectinload(Artist.records).selectinload(Record.genres))).one()
        same(sorted((r.title, sorted(g.name for g in r.genres)) for r in ella.records),
             [("Live", ["jazz"]), ("Songs", ["folk", "jazz"])])
        record = session.scalars(select(Record).options(joinedload(Record.artist))
                                 .where(Record.title == "Live")).one()
        same((record.artist.name, record.format), ("Ella", Format.vinyl))
        record.price += 1
        record.tags = record.tags + ["new"]
        session.flush()
        same((record.with_tax, record.tags), (Decimal("16.20"), ["live", "1960", "new"]))
        session.rollback()
        same(record.price, Decimal("12.50"))


@part
def questions_are_asked():
    with Session(engine) as session:
        per_artist = session.execute(
            select(Artist.name, func.count(Record.id), func.sum(Record.price))
            .join(Record).group_by(Artist.name).having(func.count() > 1).order_by(Artist.name)).all()
        same(per_artist, [("Ella", 2, Decimal("20.50")), ("Nina", 300, Decimal("44850.00"))])
        rank = func.rank().over(partition_by=Record.artist_id, order_by=Record.price.desc())
        top = select(Record.title, rank.label("place")).subquery()
        same(session.execute(select(top.c.title).where(top.c.place == 1).order_by(top.c.title)).all(),
             [("Live",), ("Nr 299",)])
        bosses = select(Artist.id, Artist.boss_id, sa.literal(0).label("depth")).where(
            Artist.boss_id.is_(None)).cte(recursive=True)
        bosses = bosses.union_all(select(Artist.id, Artist.boss_id, bosses.c.depth + 1)
                                  .join(bosses, Artist.boss_id == bosses.c.id))
        same(session.execute(select(func.max(bosses.c.depth))).scalar(), 1)
        same(session.scalars(select(Record.title).where(Record.notes["sold"].as_integer() > 2)
                             .order_by(Record.id)).all(), ["Live", "Songs"])
        same(session.scalars(select(Record.notes["where"]["city"].astext)
                             .where(Record.notes.has_key("where"))).all(), ["Berlin"])
        same(session.scalars(select(Record.title).where(
            Record.notes.contains({"where": {"city": "Berlin"}}))).all(), ["Live"])
        same(session.scalars(select(Record.notes[("where", "city")].astext).where(
            Record.notes.path_exists("$.where"))).all(), ["Berlin"])
        same(session.scalars(select(Record.title).where(Record.tags.contains(["live"]))).all(),
             ["Live"])
        same(session.scalars(select(Record.title).where(Record.tags.overlap(
            sa.cast(array(["1960"]), ARRAY(sa.Text))))).all(), ["Live"])
        same(session.scalars(select(Record.title).where(Record.tags.any("live"))).all(), ["Live"])
        same(session.scalar(select(func.array_agg(aggregate_order_by(Genre.name, Genre.name.desc())))),
             ["jazz", "folk"])
        same(session.scalar(select(func.count()).select_from(Record).where(
            Record.artist.has(name="Nina"), ~Record.genres.any())), 300)
        same(session.scalars(select(Record.title).where(Record.title.ilike("s%"))).all(), ["Songs"])
        same(session.scalars(select(Record.title).where(Record.title.regexp_match("^Nr 1[01]$"))
                             .order_by(Record.id)).all(), ["Nr 10", "Nr 11"])
        same(session.execute(select(Record.title).order_by(Record.price.desc().nulls_last(),
                                                           Record.id).offset(2).limit(2)).all(),
             [("Nr 297",), ("Nr 296",)])
        same(session.scalar(select(sa.extract("year", Artist.since) > 2000).limit(1)), True)
        same(session.scalar(select(sa.cast(Record.price, sa.Integer)).where(Record.title == "Live")),
             13)
        many = session.execute(select(Record.id).execution_options(yield_per=50))
        same(sum(1 for _ in many), 302)
        same(session.scalar(select(Record.id).with_for_update(skip_locked=True, of=Record)
                            .where(Record.title == "Live")) is not None, True)
        same([session.scalar(catalogue_number) for _ in range(2)], [100, 110])
        same(session.execute(select(func.json_build_object("a", 1))).scalar(), {"a": 1})


@part
def changes_of_many_rows():
    with engine.begin() as db:
        upsert = insert(Genre).values([{"name": "jazz"}, {"name": "rock"}])
        upsert = upsert.on_conflict_do_update(
            index_elements=[Genre.name], set_={"name": func.upper(upsert.excluded.name)})
        same(sorted(row.name for row in db.execute(upsert.returning(Genre.name))), ["JAZZ", "rock"])
        again = insert(Genre).values(name="rock").on_conflict_do_nothing().returning(Genre.id)
        same(db.execute(again).all(), [])
        rows = db.execute(sa.insert(Genre).returning(Genre.id, Genre.name, sort_by_parameter_order=True),
                          [{"name": f"g{n}"} for n in range(1500)]).all()
        same([row.name for row in rows[::500]], ["g0", "g500", "g1000"])
        same(db.execute(sa.update(Genre).where(Genre.name.like("g%")).values(
            name=Genre.name + "!")).rowcount, 1500)
        same(db.execute(sa.delete(Genre).where(Genre.name.like("g%!"))).rowcount, 1500)
        same(db.execute(sa.update(Record).where(Record.artist_id == Artist.id, Artist.name == "Ella")
                        .values(price=Record.price + 1).returning(Record.price)).scalars().all(),
             [Decimal("13.50"), Decimal("9.00")])
    with Session(engine) as session:
        session.execute(sa.update(Record), [
            {"id": record.id, "title": record.title.upper()}
            for record in session.scalars(select(Record).where(Record.title.in_(["Live", "Songs"])))])
        session.commit()
        same(session.scalars(select(Record.title).order_by(Record.id).limit(2)).all(),
             ["LIVE", "SONGS"])


@part
def blocks_within_blocks():
    with Session(engine) as session:
        session.add(Genre(name="pop"))
        try:
            with session.begin_nested():
                session.add(Genre(name="pop"))
                session.flush()
        except sa.exc.IntegrityError as error:
            same(error.orig.sqlstate, "23505")
        session.add(Genre(name="soul"))
        session.commit()
        same(session.scalar(select(func.count()).where(Genre.name.in_(["pop", "soul"]))), 2)
        with refused("23514"):
            session.add(Artist(name="Bach", born=1685))
            session.commit()
        session.rollback()
        with refused("23503"):
            session.execute(sa.delete(Genre).where(Genre.name == "folk"))
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as db:
        same(db.get_isolation_level(), "SERIALIZABLE")
        same(db.execute(sa.text("SHOW transaction_isolation")).scalar(), "serializable")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
        db.execute(sa.text("VACUUM genre"))
    with Session(engine) as session:
        ella = session.scalars(select(Artist).where(Artist.name == "Ella")).one()
        nina = session.scalars(select(Artist).where(Artist.name == "Nina")).one()
        nina.boss = None
        session.delete(ella)
        session.commit()
        same(session.scalar(select(func.count()).select_from(Record)), 300)
        same(session.execute(sa.text("SELECT count(*) FROM genre_of_record")).scalar(), 0)


@part
def the_past():
    if not KEEPS_THE_PAST:
        return
    with engine.begin() as db:
        then = db.execute(sa.text("SELECT clock_timestamp()")).scalar()
    with engine.begin() as db:
        db.execute(sa.update(Artist).where(Artist.name == "Nina").values(born=1934))
    with engine.connect() as db:
        same(db.execute(sa.text("SELECT born FROM artist FOR SYSTEM_TIME AS OF :then"
                                " WHERE name = 'Nina'"), {"then": then}).scalar(), 1933)


@part
def migrations():
    migrate(engine)


@part
def the_model_is_taken_away():
    Base.metadata.drop_all(engine)
    look = sa.inspect(engine)
    same(look.get_table_names(), [])
    same(look.get_enums(), [])
    same(look.get_sequence_names(), [])


tell(f"SQLAlchemy {sa.__version__}, Alembic {alembic.__version__}")

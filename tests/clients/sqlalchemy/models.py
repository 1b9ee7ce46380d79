"""The mapped classes of the SQLAlchemy client: a label of records, with what PostgreSQL alone has."""

import datetime
import enum
import uuid
from decimal import Decimal

from sqlalchemy import (
    CheckConstraint, Column, Computed, Enum, ForeignKey, Identity, Index, MetaData, Numeric,
    Sequence, String, Table, Text, UniqueConstraint, func, text)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    })


class Format(enum.Enum):
    vinyl = "vinyl"
    tape = "tape"
    file = "file"


genre_of_record = Table(
    "genre_of_record", Base.metadata,
    Column("record_id", ForeignKey("record.id", ondelete="CASCADE"), primary_key=True),
    Column("genre_id", ForeignKey("genre.id"), primary_key=True),
)

catalogue_number = Sequence("catalogue_number", start=100, increment=10, metadata=Base.metadata)


class Genre(Base):
    __tablename__ = "genre"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(30), unique=True)


class Artist(Base):
    __tablename__ = "artist"
    __table_args__ = (
        CheckConstraint("born > 1800", name="after_1800"),
        {"comment": "Who plays"},
    )
    id: Mapped[int] = mapped_column(Identity(always=True, start=5), primary_key=True)
    name: Mapped[str] = mapped_column(String(80), index=True, comment="As on the sleeve")
    born: Mapped[int | None]
    boss_id: Mapped[int | None] = mapped_column(ForeignKey("artist.id"))
    since: Mapped[datetime.datetime] = mapped_column(server_default=func.now())
    records: Mapped[list["Record"]] = relationship(back_populates="artist",
                                                   cascade="all, delete-orphan")
    boss: Mapped["Artist | None"] = relationship(remote_side=[id])


class Record(Base):
    __tablename__ = "record"
    __table_args__ = (
        UniqueConstraint("artist_id", "title"),
        CheckConstraint("price >= 0", name="price"),
        Index("ix_record_lower_title", text("lower(title)")),
        Index("ix_record_cheap", "price", postgresql_where=text("price < 10::numeric")),
        Index("ix_record_notes", "notes", postgresql_using="gin"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    artist_id: Mapped[int] = mapped_column(ForeignKey("artist.id", ondelete="CASCADE",
                                                      onupdate="CASCADE"))
    title: Mapped[str] = mapped_column(Text)
    format: Mapped[Format] = mapped_column(Enum(Format, name="format"), default=Format.file,
                                           server_default=text("'file'::format"))
    price: Mapped[Decimal] = mapped_column(Numeric(8, 2), server_default=text("0"))
    with_tax: Mapped[Decimal] = mapped_column(Numeric(8, 2), Computed("price * 1.2"))
    tags: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'::text[]"))
    notes: Mapped[dict] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    code: Mapped[uuid.UUID] = mapped_column(server_default=func.gen_random_uuid())
    artist: Mapped[Artist] = relationship(back_populates="records")
    genres: Mapped[list[Genre]] = relationship(secondary=genre_of_record)

"""The columns that tables are made of, and what the names of keys and indexes read."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, LargeBinary, MetaData, String, Text

Key = String().with_variant(String(collation="C"), "postgresql")
"""Ids and names, compared byte by byte: pages are cut at ids, and every database must agree on their order."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def name(
    name: str, refers: str | None = None, *, null: bool = False, primary: bool = False, default: str | None = None
) -> Column[str]:
    """`default`: what rows have that were there before the column was."""
    keys = [ForeignKey(refers)] if refers else []
    return Column(name, Key, *keys, nullable=null, primary_key=primary, server_default=default)


def number(name: str, *, null: bool = False, default: int | None = None) -> Column[int]:
    """64 bits. `default`: what rows have that were there before the column was."""
    return Column(name, BigInteger, nullable=null, server_default=None if default is None else str(default))


def text(name: str, *, null: bool = False) -> Column[str]:
    return Column(name, Text, nullable=null)


def flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False)


def secret(name: str, *, unique: bool = False) -> Column[bytes]:
    """Bytes: a key, or the hash of a token."""
    return Column(name, LargeBinary, nullable=False, unique=unique)

"""Tables on the disk: SQLite in a named folder, so that games survive a restart.

A table that nobody has touched for `KEEP_DAYS` is cleared when the server starts and once a day.
"""

import sqlite3
import time
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
from msgspec import Struct

from asynccfr.errors import AsyncCFRError

KEEP_DAYS = 30
FILE = "tables.sqlite3"
SCHEMA = """
create table if not exists tables (id integer primary key, record blob, touched real);
create index if not exists touched_tables on tables (touched);
create table if not exists chairs (
    token text primary key, id integer references tables on delete cascade, chair integer);
create index if not exists chairs_of_tables on chairs (id);
"""
INVITATION = -1  # the chair of a token with which a friend may sit down


class Round(Struct, kw_only=True):
    """A round: the seed of its deal, the chair that begins, the actions of both."""

    seed: int
    starter: int
    actions: list[int] = msgspec.field(default_factory=list)


class Record(Struct, kw_only=True):
    """All there is to know about a table; `opponent` is None while chair 1 is a friend's."""

    game: str
    opponent: str | None
    rounds: int
    played: list[Round]
    practice: bool = False


class Chair(NamedTuple):
    """What a token names."""

    table: int
    number: int


class Store:
    """The tables in `folder`, which is made if it is missing; a context manager.

    Raises AsyncCFRError if the folder holds something else under the file's name.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE
        self.database = sqlite3.connect(path, isolation_level=None)
        try:
            self.database.executescript("pragma journal_mode=wal; pragma synchronous=normal;")
            self.database.executescript("pragma foreign_keys=on;" + SCHEMA)
        except sqlite3.DatabaseError as error:
            self.database.close()
            raise AsyncCFRError(
                f"{path}: no file of tables ({error}); move it away, or name another --data folder"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.database.close()

    def add(self, record: Record, tokens: dict[str, int]) -> int:
        """Keep a new table, with its tokens and the chairs they name; returns its number."""
        with self.database:
            self.database.execute("begin")
            cursor = self.database.execute(
                "insert into tables (record, touched) values (?, ?)",
                (msgspec.json.encode(record), time.time()),
            )
            number = cursor.lastrowid
            assert number is not None
            self.database.executemany(
                "insert into chairs values (?, ?, ?)",
                [(token, number, chair) for token, chair in tokens.items()],
            )
        return number

    def save(self, table: int, record: Record) -> None:
        self.database.execute(
            "update tables set record = ?, touched = ? where id = ?",
            (msgspec.json.encode(record), time.time(), table),
        )

    def load(self, table: int) -> Record | None:
        row = self.database.execute("select record from tables where id = ?", (table,)).fetchone()
        return msgspec.json.decode(row[0], type=Record) if row else None

    def chair(self, token: str) -> Chair | None:
        """The chair that a token names."""
        row = self.database.execute(
            "select id, chair from chairs where token = ?", (token,)
        ).fetchone()
        return Chair(*row) if row else None

    def invitation(self, table: int) -> str | None:
        """The token with which a friend may still sit down at a table."""
        row = self.database.execute(
            "select token from chairs where id = ? and chair = ?", (table, INVITATION)
        ).fetchone()
        return row[0] if row else None

    def accept(self, invitation: str, token: str) -> bool:
        """Turn an invitation into chair 1's token; False if there is none, or no longer."""
        done = self.database.execute(
            "update chairs set token = ?, chair = 1 where token = ? and chair = ?",
            (token, invitation, INVITATION),
        )
        return done.rowcount == 1

    def count(self) -> int:
        return int(self.database.execute("select count(*) from tables").fetchone()[0])

    def clear(self, before: float) -> int:
        """Forget the tables not touched since a time, seconds since the epoch; how many."""
        return self.database.execute("delete from tables where touched < ?", (before,)).rowcount

"""What the benchmarks share: options, tables and records; see `asynccfr.profiling.measuring`."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click
import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from asynccfr.profiling.measuring import Machine as Machine
from asynccfr.profiling.measuring import Spread as Spread
from asynccfr.profiling.measuring import alternate as alternate
from asynccfr.profiling.measuring import machine as machine
from asynccfr.profiling.measuring import spread as spread


def options(command: Callable[..., None]) -> click.Command:
    """A command of `quick: bool` and `json: Path | None`, described by its docstring."""
    for option in (
        click.option("--quick", is_flag=True, help="A small version that ends within a minute."),
        click.option("--json", type=click.Path(path_type=Path), help="Write the record here."),
    ):
        command = option(command)
    return click.command()(command)


def report(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    record: Struct,
    json: Path | None,
) -> None:
    """Print a table and write the record, if a path was given for it."""
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*map(str, row))
    console = Console()
    if not console.is_terminal:
        console.width = 140
    console.print(table)
    if isinstance(where := getattr(record, "machine", None), Machine):
        console.print(str(where))
    write(record, json)


def write(record: Struct, path: Path | None) -> None:
    """Write a record, if a path was given for it; benchmarks that take long do so in between."""
    if path is not None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(record)))

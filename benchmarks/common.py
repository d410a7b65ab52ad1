"""What the benchmarks share: options, the machine, repetitions, tables and records."""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import quantiles

import click
import msgspec
import torch
from msgspec import Struct
from rich.console import Console
from rich.table import Table


class Machine(Struct, frozen=True, kw_only=True):
    """Where and with what a benchmark ran; `load` is the mean of runnable processes of a minute."""

    system: str
    processor: str
    cores: int
    load: float
    accelerator: str | None
    python: str
    torch: str
    torch_threads: int


class Spread(Struct, frozen=True, kw_only=True):
    """Repeated measurements of one figure, whose unit the field that holds this names."""

    p05: float
    median: float
    p95: float
    repetitions: int

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.p05:.3g} to {self.p95:.3g})"


def options(command: Callable[..., None]) -> click.Command:
    """A command of `quick: bool` and `json: Path | None`, described by its docstring."""
    for option in (
        click.option("--quick", is_flag=True, help="A small version that ends within a minute."),
        click.option("--json", type=click.Path(path_type=Path), help="Write the record here."),
    ):
        command = option(command)
    return click.command()(command)


def machine() -> Machine:
    return Machine(
        system=platform.platform(),
        processor=processor(),
        cores=os.cpu_count() or 1,
        load=os.getloadavg()[0],
        accelerator=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        python=platform.python_version(),
        torch=str(torch.__version__),
        torch_threads=torch.get_num_threads(),
    )


def processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def spread(values: Sequence[float]) -> Spread:
    """The spread of two or more measurements."""
    cuts = quantiles(values, n=20, method="inclusive")
    return Spread(p05=cuts[0], median=cuts[9], p95=cuts[18], repetitions=len(values))


def alternate(arms: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, Spread]:
    """Measure the arms in turns, so that a slow spell of the machine hits all of them.

    Each arm returns one measurement; a first one of each is thrown away.
    """
    for arm in arms.values():
        arm()
    measured: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(repetitions):
        for name, arm in arms.items():
            measured[name].append(arm())
    return {name: spread(values) for name, values in measured.items()}


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
    Console().print(table)
    if json is not None:
        json.write_bytes(msgspec.json.format(msgspec.json.encode(record)))

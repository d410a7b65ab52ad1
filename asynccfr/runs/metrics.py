"""The metrics file: one IterationReport a line, in JSON, appended as the run goes."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from asynccfr.errors import RunError
from asynccfr.reports import IterationReport
from asynccfr.storage.durable import replace_file, write_all
from asynccfr.storage.opening import open_regular

_decoder = msgspec.json.Decoder(IterationReport)


def append(path: Path, report: IterationReport) -> None:
    """Add a line and wait until it is on the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        write_all(descriptor, msgspec.json.encode(report) + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_last(path: Path, report: IterationReport) -> None:
    """Put a report in the place of the last one, in one atomic step."""
    lines = path.read_bytes().splitlines(keepends=True)
    replace_file(path, [*lines[:-1], msgspec.json.encode(report) + b"\n"])


def read(path: Path) -> list[IterationReport]:
    """Every report; a last line that a crash left unfinished is ignored.

    Raises RunError for a damaged line.
    """
    return [report for report, _ in _lines(path)]


def truncate(path: Path, iteration: int) -> None:
    """Drop whatever follows an iteration's line, so that a resumed run repeats no record."""
    if not path.exists():
        return
    end = 0
    for report, line_end in _lines(path) if iteration else ():
        if report.iteration <= iteration:
            end = line_end
        if report.iteration >= iteration:
            break
    with open(path, "r+b") as file:
        file.truncate(end)
        os.fsync(file.fileno())


def _lines(path: Path) -> Iterator[tuple[IterationReport, int]]:
    """The reports, each with the offset of its line's end."""
    if not path.exists():
        return
    with open_regular(path) as file:
        lines = file.readlines()
    end = 0
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            return
        end += len(line)
        try:
            report = _decoder.decode(line)
        except msgspec.DecodeError as error:
            raise RunError(
                f"{path}: line {number} is damaged: {error}; delete that line to go on"
            ) from error
        yield report, end

"""Fitting text to the width of the terminal, and colours to what it shows."""

import os
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence

WIDEST = 80


def width() -> int:
    """Columns to write in."""
    return max(20, min(WIDEST, shutil.get_terminal_size().columns))


def is_colorless() -> bool:
    """Whether the person (no-color.org) or the terminal asks for no colours."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def in_columns(cells: Sequence[str]) -> str:
    """The cells, row by row, as many in a row as fit on a line."""
    each = max(map(len, cells)) + 2
    in_row = max(1, width() // each)
    rows = [cells[first : first + in_row] for first in range(0, len(cells), in_row)]
    return "\n".join("".join(cell.ljust(each) for cell in row).rstrip() for row in rows)


def narrowed(lines: Sequence[str]) -> Iterator[str]:
    """The lines, none wider than the terminal.

    A table that is too wide (its heading begins with a blank) becomes a line for each cell, other
    lines are folded.
    """
    heading: list[tuple[int, str]] = []
    wide = max(map(len, lines), default=0) > width()
    for line in lines:
        if wide and line.startswith(" "):
            heading = [(found.start(), found[0]) for found in re.finditer(r"\S+", line)]
        elif heading and len(line) <= heading[0][0]:
            yield line
        elif heading and line[: heading[0][0]].endswith("  "):
            yield line[: heading[0][0]].rstrip()
            ends = [start for start, _ in heading[1:]] + [len(line)]
            for (start, name), end in zip(heading, ends, strict=True):
                if cell := line[start:end].strip():
                    yield f"  {name}: {cell}"
        else:
            heading = []
            yield from textwrap.wrap(line, width(), subsequent_indent="  ") or [""]

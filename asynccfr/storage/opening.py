"""Opening files that a stranger may have put there: regular ones, no larger than they should be.

A FIFO would wait for a writer, a device may never end.
"""

import errno
import io
import os
import stat
from contextlib import suppress
from pathlib import Path


def open_regular(path: str | Path) -> io.BufferedReader:
    """Open a file to read its bytes. Raises OSError for anything but a regular file."""
    _check(os.stat(path), path)
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    try:
        _check(os.fstat(file.fileno()), path)
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: str | Path, limit: int) -> bytes:
    """The bytes of a file. Raises OSError if it has more than `limit`, and as `open_regular`."""
    with open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"more than {limit:,} bytes, as no such file has", str(path))
    return data


def strange_entry(folder: Path) -> Path | None:
    """The first thing below a folder that is neither a regular file nor a folder, if there is one.

    Links count: what is written through one lands somewhere else.
    """
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            with suppress(FileNotFoundError):  # a temporary file of who writes there now
                if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
                    return path
    return None


def _check(status: os.stat_result, path: str | Path) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))

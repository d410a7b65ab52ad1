"""What a command line came to, and the type of the fixture that runs one."""

from collections.abc import Callable
from typing import NamedTuple


class Result(NamedTuple):
    status: int
    stdout: str
    stderr: str


Run = Callable[..., Result]

"""What a command line came to, and the type of the fixture that runs one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Result(NamedTuple):
    status: int
    stdout: str
    stderr: str


Run = Callable[..., Result]

# For processes that start elsewhere: asynccfr need not be installed.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

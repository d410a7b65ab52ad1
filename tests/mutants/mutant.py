"""A known mistake, and the test that is meant to catch it."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A mistake: in `file`, `before` becomes `after`; pytest finds what catches it at `test`."""

    name: str
    file: str
    before: str
    after: str
    test: str

"""What a game's parameters are: one table per game, for validation, listings and tests."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from asynccfr.errors import GameError

Value = int | float | bool | str


class Parameter(NamedTuple):
    """One parameter: an int, float or bool, as its bounds are, or one of a few words.

    `default` is None where it follows from the other parameters; the description says how.
    """

    name: str
    default: Value | None
    low: int | float | bool
    high: int | float | bool
    description: str
    words: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """The values it takes, in words."""
        if self.words:
            return " or ".join(self.words)
        if isinstance(self.low, bool):
            return "true or false"
        kind = "an integer" if isinstance(self.low, int) else "a number"
        return f"{kind} from {self.low} to {self.high}"

    def accepts(self, value: object) -> bool:
        """Whether it is one of the words, or of the bounds' type and between them."""
        if self.words:
            return value in self.words
        if isinstance(self.low, bool) or isinstance(value, bool):
            return isinstance(self.low, bool) and isinstance(value, bool)
        if isinstance(value, int) or (isinstance(value, float) and isinstance(self.low, float)):
            return self.low <= value <= self.high
        return False


def choice(name: str, words: Sequence[str], description: str) -> Parameter:
    """A parameter that is one of the words, the first by default."""
    return Parameter(name, words[0], 0, 0, description, tuple(words))


def nearest(name: str, known: Sequence[str]) -> str:
    """`; did you mean …?`, or nothing if no known name is near."""
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_parameters(
    game: str, table: Sequence[Parameter], given: Mapping[str, Value]
) -> dict[str, Value | None]:
    """Every parameter of the table in its order, given or default.

    Raises GameError, naming the parameter, its value and its range.
    """
    names = [parameter.name for parameter in table]
    for name in given:
        if name not in names:
            expected = f"expected one of {', '.join(names)}" if names else "it has no parameters"
            raise GameError(
                f"{game}: unknown parameter {name!r}{nearest(name, names)} ({expected})"
            )
    for parameter in table:
        if parameter.name in given and not parameter.accepts(given[parameter.name]):
            raise GameError(
                f"{game}: {parameter.name}={given[parameter.name]!r}: "
                f"expected {parameter.range} ({parameter.description})"
            )
    return {parameter.name: given.get(parameter.name, parameter.default) for parameter in table}

"""What an exact evaluation finds, NashConv above all."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NashConv:
    """How far a profile is from equilibrium, in the game's units of utility.

    Attributes:
        best_response_values: what each player gets by a best response to the other.
        values: what each player gets when both follow the profile.
    """

    best_response_values: tuple[float, float]
    values: tuple[float, float]

    @property
    def nash_conv(self) -> float:
        """The sum of the players' gains by a best response."""
        return sum(self.best_response_values) - sum(self.values)

    @property
    def exploitability(self) -> float:
        """NashConv / 2: the mean of the players' gains."""
        return self.nash_conv / 2

    @property
    def value_bounds(self) -> tuple[float, float]:
        """Between these lies the value of the game to player 0; they are NashConv apart."""
        return -self.best_response_values[1], self.best_response_values[0]

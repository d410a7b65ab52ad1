"""Typed records of what happened, as written to metrics files and printed by the command line."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class GameStatistic(Struct, frozen=True, kw_only=True):
    """What a game counts of itself, over all rounds of a match.

    Fields:
        name, description: a column's heading, and what it says.
        unit: "points" are shown with a sign, a "share" in per cent.
        digits: after the decimal point.
        a, b: of each player; None where there was nothing to count. What is of the game as a whole
            is in `a`, with `common` set.
    """

    name: str
    description: str
    unit: Literal["number", "points", "share"]
    digits: Annotated[int, Meta(ge=0, le=9)]
    common: bool
    a: float | None
    b: float | None


class MatchReport(Struct, frozen=True, kw_only=True):
    """How player `a` did against player `b`; every `_low` and `_high` bound a 95% interval.

    A game is one round, or three where `rounds` is 3; every deal is played twice, seats swapped.

    Fields:
        score: mean return of `a` a game.
        win_rate: share of games that `a` won, a draw counting half.
        wins, draws, losses: shares of games, seen from `a`.
        mean_length: decisions a round, of both players together.
        statistics: what the game counts of itself.
    """

    game: str
    a: str
    b: str
    deals: int
    rounds: int
    seed: int
    score: float
    score_low: float
    score_high: float
    win_rate: float
    win_rate_low: float
    win_rate_high: float
    wins: float
    draws: float
    losses: float
    mean_length: float
    statistics: tuple[GameStatistic, ...] = ()

    def statistic(self, name: str) -> GameStatistic:
        """The statistic of that name; KeyError if the game has none."""
        return {each.name: each for each in self.statistics}[name]


class FitReport(Struct, frozen=True, kw_only=True):
    """A network that learned from samples.

    Fields:
        network: what it stands for: "advantage", "average strategy".
        player: whose it is; None if it serves everybody.
        samples: how many there were to learn from.
        steps: gradient steps taken; fewer than configured if it was stopped.
        loss_first, loss_last: means over the first and last tenth of the steps; `LOSSES` says of
            what.
        seconds: wall-clock time.
    """

    network: str
    player: int | None = None
    samples: int
    steps: int
    loss_first: float
    loss_last: float
    seconds: float

    @property
    def label(self) -> str:
        return self.network if self.player is None else f"{self.network}, player {self.player}"


LOSSES = {
    "policy": "minus what it expects to gain on the policy just played, and minus a bonus for "
    "entropy: says nothing about strength",
    "critic": "mean squared error of predicted results, in units of the first games' mean square",
    "advantage": "mean squared error of the regrets it predicts; always predicting 0 costs about "
    "1, and where regrets are sampled from a large game, near 1 is normal",
    "baseline": "mean squared error of the values it predicts; always predicting 0 costs about 1",
    "average strategy": "cross-entropy with the policies of all iterations, in nats",
}


class InferenceReport(Struct, frozen=True, kw_only=True):
    """The forwards of an iteration's traversals; a batch here has rows of one network only.

    Fields:
        groups_mean: batches that what was collected at once, for any network, was split into.
        answered: decisions that needed no row, because a cache knew the answer or another row of
            the batch was equal.
    """

    rows: int
    batches: int
    batch_mean: float
    batch_p50: float
    batch_p95: float
    batch_max: int
    groups_mean: float = 1.0
    forward_seconds: float
    answered: int = 0

    @property
    def hit_rate(self) -> float:
        """Share of the decisions that needed no row."""
        asked = self.rows + self.answered
        return self.answered / asked if asked else 0.0


class WorkerReport(Struct, frozen=True, kw_only=True):
    """What a worker of a cluster did in an iteration.

    Fields:
        worker: its machine and process.
        processor: what it computes with; where that differs from another's, digests may, too.
        parts: of the iteration that it played.
        seconds: that these took.
        nbytes: of samples that it sent.
    """

    worker: str
    processor: str = ""
    parts: int = 0
    seconds: float = 0.0
    nbytes: int = 0


class IterationReport(Struct, frozen=True, kw_only=True):
    """One iteration of a solver; times are wall seconds, a node is a decision of any player.

    Fields:
        seconds: of sampling and learning, not of evaluations and what is fitted for them; less than
            the parts where networks learn side by side.
        fits: every network that learned, in order.
        memory: samples held, by the name of the memory.
        nash_conv: exact evaluations, by policy, in the game's units of utility.
        sample_digest: a hash of every sample of the iteration, in order.
        version: of the asynccfr that made it; early ones did not say.
        workers: of a cluster, those that played.
    """

    iteration: int
    iterations: int
    nodes: int
    nodes_total: int
    traversal_seconds: float
    seconds: float = 0.0
    elapsed_seconds: float
    inference: InferenceReport
    fits: tuple[FitReport, ...]
    memory: dict[str, int]
    sample_digest: str
    evaluation: tuple[MatchReport, ...] = ()
    nash_conv: dict[str, float] = {}
    version: str = "unknown"
    workers: tuple[WorkerReport, ...] = ()

    @property
    def nodes_per_second(self) -> float:
        return self.nodes / self.traversal_seconds if self.traversal_seconds else 0.0

    @property
    def nodes_per_second_with_learning(self) -> float:
        return self.nodes / self.seconds if self.seconds else 0.0

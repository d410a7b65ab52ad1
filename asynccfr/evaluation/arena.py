"""Matches between two players: thousands of games at once, mirrored deals, honest intervals.

Every deal is played twice with the same chance draws, seats swapped, so that the luck of the cards
cancels. The two games of a deal depend on each other; the deals do not. Every interval is therefore
computed over deals, each counted with the mean of its two games, and each mean is unbiased.

The games of a match are coroutines: while some wait for a network, others go on and fill its
batch. Every game draws from streams named by (seed, deal, round, seat), so no result depends on
scheduling.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from asynccfr.errors import ConfigError, GameError, PlayerError, first_failure
from asynccfr.evaluation.intervals import mean_interval, share_interval
from asynccfr.games.contract import Game, State
from asynccfr.players.protocol import Player, take_turn
from asynccfr.reports import GameStatistic, MatchReport
from asynccfr.seeding import EVALUATION, Rng, stream

CHECKS_OF_PATIENCE = 10


class PlayedMatch(NamedTuple):
    """A match: its report, and what `a` made of each deal, the mean of its two games, [deals]."""

    report: MatchReport
    deals: npt.NDArray[np.float64]


class MatchPlan(Struct, frozen=True, kw_only=True):
    """How a match is played. Raises ConfigError for a field out of range.

    Fields:
        deals: deals, at least 2; each is played twice, seats swapped.
        rounds: rounds of a game, 1 or 3; see `play_match`.
        seed: of the deals, and of the players' random choices.
        concurrency: games at once, where a player's `act` is a coroutine function; else one.
        patience: seconds without any answer after which a match is given up.
    """

    deals: int = 1000
    rounds: Literal[1, 3] = 1
    seed: int = 0
    concurrency: int = 1024
    patience: float = 300.0

    def __post_init__(self) -> None:
        for name, holds, expected in (
            ("deals", self.deals >= 2, "at least 2, for an interval"),
            ("rounds", self.rounds in (1, 3), "1 or 3"),
            ("concurrency", self.concurrency >= 1, "at least 1"),
            ("patience", self.patience > 0, "more than 0 seconds"),
        ):
            if not holds:
                raise ConfigError(f"MatchPlan.{name}={getattr(self, name)}: expected {expected}")


async def play_match(
    game: Game,
    a: Player,
    b: Player,
    plan: MatchPlan = MatchPlan(),  # noqa: B008 (frozen)
    on_game: Callable[[int], None] = lambda played: None,
) -> MatchReport:
    """The report of `played_match`."""
    return (await played_match(game, a, b, plan, on_game)).report


async def played_match(
    game: Game,
    a: Player,
    b: Player,
    plan: MatchPlan = MatchPlan(),  # noqa: B008 (frozen)
    on_game: Callable[[int], None] = lambda played: None,
) -> PlayedMatch:
    """Play mirrored deals between `a` and `b`, at most `plan.concurrency` games at once.

    With `rounds=3` a game is a match of three rounds whose returns add up; whoever is ahead starts
    the next round, and after a tie whoever started the last. `on_game` is told the number of games
    played so far, out of twice the deals.

    Raises PlayerError, with every other game cancelled, if a player raises, answers with an illegal
    action, or if nobody has answered for `plan.patience` seconds; GameError if the game is not for
    two players.
    """
    if game.num_players != 2:
        raise GameError(f"{game}: a match needs a game for 2 players, not {game.num_players}")
    match = _Match(game, (a, b), plan, on_game)
    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(match.watch())
            async with asyncio.TaskGroup() as workers:
                for _ in range(match.concurrency()):
                    workers.create_task(match.work())
            watch.cancel()
    except BaseExceptionGroup as failures:
        failure = first_failure(failures)
        raise failure from failure.__cause__
    return PlayedMatch(match.report(), match.scores.mean(axis=1))


async def play_matches(
    game: Game,
    pairs: Sequence[tuple[Player, Player]],
    plan: MatchPlan = MatchPlan(),  # noqa: B008 (frozen)
    on_game: Callable[[int], None] = lambda played: None,
) -> list[PlayedMatch]:
    """One match for each pair, all on the same deals; `on_game` counts the games of all."""
    matches: list[PlayedMatch] = []
    for a, b in pairs:

        def count_on(played: int, before: int = 2 * plan.deals * len(matches)) -> None:
            on_game(before + played)

        matches.append(await played_match(game, a, b, plan, count_on))
    return matches


class _Match:
    """The games of one match: those to come, those in play and the sums over those played."""

    def __init__(
        self,
        game: Game,
        players: tuple[Player, Player],
        plan: MatchPlan,
        on_game: Callable[[int], None],
    ) -> None:
        self.game = game
        self.players = players
        self.plan = plan
        self.on_game = on_game
        self.to_come = product(range(plan.deals), (0, 1))
        self.scores = np.zeros((plan.deals, 2))
        self.played = 0
        self.decisions = 0
        self.awaited: Counter[str] = Counter()
        self.counted = np.zeros((2, len(game.STATISTICS), 2))  # [side, statistic, amount and count]

    def concurrency(self) -> int:
        """Games at once: one, if no player ever waits, so that the event loop keeps turning."""
        waits = any(inspect.iscoroutinefunction(player.act) for player in self.players)
        return min(self.plan.concurrency, 2 * self.plan.deals) if waits else 1

    async def work(self) -> None:
        """Play games to come, one after the other, until none is left."""
        for deal, mirrored in self.to_come:
            self.scores[deal, mirrored] = await self.play_game(deal, seat_of_a=mirrored)
            self.played += 1
            self.on_game(self.played)
            await asyncio.sleep(0)

    async def play_game(self, deal: int, seat_of_a: int) -> float:
        """Play the rounds of one game; return what `a` made of them."""
        total = 0.0
        for number in range(self.plan.rounds):
            chance, *seats = (
                stream(self.plan.seed, (EVALUATION, deal, number, part)) for part in range(3)
            )
            state = self.game.new_state(chance)
            await self.play_round(state, seat_of_a, seats)
            self.note(state, seat_of_a)
            total += state.returns()[seat_of_a]
            if total != 0:
                seat_of_a = 0 if total > 0 else 1
        return total

    async def play_round(self, state: State, seat_of_a: int, rngs: Sequence[Rng]) -> None:
        players = self.players if seat_of_a == 0 else self.players[::-1]
        while not state.is_terminal:
            seat = state.current_player
            player = players[seat]
            self.awaited[player.name] += 1
            await take_turn(player, state, rngs[seat])
            self.awaited[player.name] -= 1
            self.decisions += 1

    async def watch(self) -> None:
        """Raise PlayerError when nobody has answered for the plan's patience.

        Looks often, so that an event loop that was blocked for long is not taken for a player.
        """
        decisions, looks = -1, 0
        while looks < CHECKS_OF_PATIENCE:
            if self.decisions != decisions:
                decisions, looks = self.decisions, 0
            await asyncio.sleep(self.plan.patience / CHECKS_OF_PATIENCE)
            looks += 1
        names = " and ".join(repr(name) for name in +self.awaited)
        raise PlayerError(
            f"player {names}: no answer for {self.plan.patience:g} s; the match was given up"
        )

    def note(self, state: State, seat_of_a: int) -> None:
        """Add what the game counts of a round just over to the sums."""
        for side, seat in enumerate((seat_of_a, 1 - seat_of_a)):
            counted = state.statistics(seat)
            if len(counted) != len(self.game.STATISTICS):
                raise GameError(
                    f"{self.game}.statistics: {len(counted)} pairs, expected one for each of its "
                    f"{len(self.game.STATISTICS)} STATISTICS"
                )
            self.counted[side] += np.reshape(counted, (-1, 2))

    def statistics(self) -> tuple[GameStatistic, ...]:
        """What the game counted of itself, over all rounds."""
        amounts, counts = np.moveaxis(self.counted, 2, 0)
        values = [
            [float(a / c) if c else None for a, c in zip(*side, strict=True)]
            for side in zip(amounts, counts, strict=True)
        ]
        return tuple(
            GameStatistic(**each._asdict(), a=a, b=b)
            for each, a, b in zip(self.game.STATISTICS, *values, strict=True)
        )

    def report(self) -> MatchReport:
        deals = self.scores.mean(axis=1)
        wins, losses = self.scores > 0, self.scores < 0
        score = mean_interval(deals)
        win_rate = share_interval((0.5 + (wins * 0.5) - (losses * 0.5)).mean(axis=1))
        rounds = 2 * self.plan.deals * self.plan.rounds
        a, b = self.players
        return MatchReport(
            game=str(self.game),
            a=a.name,
            b=b.name,
            deals=self.plan.deals,
            rounds=self.plan.rounds,
            seed=self.plan.seed,
            score=score.estimate,
            score_low=score.low,
            score_high=score.high,
            win_rate=win_rate.estimate,
            win_rate_low=win_rate.low,
            win_rate_high=win_rate.high,
            wins=float(wins.mean()),
            draws=float((self.scores == 0).mean()),
            losses=float(losses.mean()),
            mean_length=self.decisions / rounds,
            statistics=self.statistics(),
        )

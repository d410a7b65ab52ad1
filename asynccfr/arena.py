"""Matches between two players: thousands of games at once, mirrored deals, honest intervals.

Every deal is played twice with the same chance draws, seats swapped, so that the luck of the cards
cancels. The two games of a deal depend on each other; the deals do not. Every interval is therefore
computed over deals, each counted with the mean of its two games, and each mean is unbiased.

The games of a match are coroutines: while some wait for a network, others go on and fill its batch.
Every game draws from streams named by (seed, deal, round, seat), so no result depends on scheduling.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Annotated, Literal

from msgspec import Meta, Struct

from asynccfr.errors import GameError
from asynccfr.games.contract import Game
from asynccfr.players.protocol import Player
from asynccfr.reports import MatchReport


class MatchPlan(Struct, frozen=True, kw_only=True):
    """How a match is played."""

    deals: Annotated[int, Meta(ge=2)] = 1000
    rounds: Literal[1, 3] = 1
    seed: int = 0
    concurrency: Annotated[int, Meta(ge=1)] = 1024
    patience: Annotated[float, Meta(gt=0)] = 300.0


async def play_match(
    game: Game,
    a: Player,
    b: Player,
    plan: MatchPlan = MatchPlan(),
    on_game: Callable[[int], None] = lambda played: None,
) -> MatchReport:
    """Play `plan.deals` mirrored deals between `a` and `b`, at most `plan.concurrency` games at once.

    With `rounds=3` a game is a match of three rounds whose returns add up; whoever is ahead starts
    the next round, and after a tie whoever started the last. `on_game` is told the number of games
    played so far, out of twice the deals.

    Raises PlayerError, with every other game cancelled, if a player raises, answers with an illegal
    action, or if no player has answered for `plan.patience` seconds; GameError if the game is not for
    two players.
    """
    if game.num_players != 2:
        raise GameError(f"{game}: a match needs a game for 2 players, not {game.num_players}")
    match = _Match(game, a, b, plan, on_game)
    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(match.watch())
            async with asyncio.TaskGroup() as workers:
                for _ in range(match.concurrency()):
                    workers.create_task(match.work())
            watch.cancel()
    except BaseExceptionGroup as failures:
        raise _first_leaf(failures) from None
    return match.report()


async def play_matrix(
    game: Game,
    players: Sequence[Player],
    plan: MatchPlan = MatchPlan(),
    on_match: Callable[[MatchReport], None] = lambda report: None,
) -> list[MatchReport]:
    """Every player against every later one, all on the same deals; `on_match` is told each result."""
    reports = []
    for a, b in combinations(players, 2):
        reports.append(await play_match(game, a, b, plan))
        on_match(reports[-1])
    return reports

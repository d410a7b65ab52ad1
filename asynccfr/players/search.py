"""Search at decision time, on top of any agent: rollouts of its own policy from where it stands.

The cards that the player cannot see are dealt anew, many times, cards known from the piles kept;
each deal is played out once for every candidate by the agent's policy in both seats, with the same
draws to come. Candidates are thus compared deal by deal. The agent's policy is the prior: it
proposes one action and the candidates, and another replaces the proposal only where the paired
differences leave no doubt. All rollouts, of all games at once, share the agent's batches.
"""

import asyncio
import time

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from asynccfr.agents import Agent
from asynccfr.cfr.query import Query
from asynccfr.errors import ConfigError
from asynccfr.games import State
from asynccfr.players.network import NetworkPlayer
from asynccfr.seeding import Rng

WAVE = 8  # deals between looks at the clock
DOUBT = 2.5  # standard errors that a difference must exceed


class SearchPlan(Struct, frozen=True, kw_only=True):
    """How much a move is searched. Raises ConfigError for a field out of range.

    Fields:
        milliseconds: wall time a move, if `deals` is 0; games at once share it.
        deals: hidden cards dealt anew a move, whatever time that takes: reproducible.
        candidates: the most actions compared.
        least: the least probability under the agent's policy that makes a candidate.
    """

    milliseconds: float = 200.0
    deals: int = 0
    candidates: int = 5
    least: float = 0.02

    def __post_init__(self) -> None:
        for name, holds, expected in (
            ("milliseconds", self.milliseconds > 0, "more than 0"),
            ("deals", self.deals == 0 or self.deals >= 2, "0 or at least 2"),
            ("candidates", self.candidates >= 1, "at least 1"),
            ("least", 0 <= self.least <= 1, "from 0 to 1"),
        ):
            if not holds:
                raise ConfigError(f"search: {name}={getattr(self, name)}: expected {expected}")


class SearchPlayer(NetworkPlayer):
    """Plays an agent's policy, but for better actions that rollouts find; an async context manager.

    Attributes:
        moves, changed: decisions searched so far, and how many of them became another action.
    """

    def __init__(self, agent: Agent, name: str, plan: SearchPlan = SearchPlan()) -> None:  # noqa: B008
        super().__init__(agent, name)
        self.plan = plan
        self.moves = self.changed = 0

    async def act(self, state: State, rng: Rng) -> int:
        query = Query(state)
        await self.batcher(query)
        proposed = query.sample(self.rule, rng)
        others = self.others(query, proposed)
        if not others:
            return proposed
        returns = await self.returns(state, [proposed, *others], rng)
        better = surely_better(returns)
        self.moves += 1
        self.changed += better > 0
        return [proposed, *others][better]

    def others(self, query: Query, proposed: int) -> list[int]:
        """What to compare the proposed action with, the likeliest first."""
        likely = sorted(query.probabilities(self.prior), key=lambda pair: -pair[1])
        wanted = [a for a, p in likely if p >= self.plan.least and a != proposed]
        return wanted[: self.plan.candidates - 1]

    async def returns(
        self, state: State, candidates: list[int], rng: Rng
    ) -> npt.NDArray[np.float64]:
        """What each candidate [deals, candidates] came to on the same deals."""
        player = state.current_player
        started = time.perf_counter()
        rows: list[list[float]] = []
        while len(rows) < self.plan.deals or not (self.plan.deals or self.is_over(started, rows)):
            wave = min(WAVE, self.plan.deals - len(rows)) if self.plan.deals else WAVE
            deals = [state.determinised(player, rng.bits()) for _ in range(wave)]
            seeds = [rng.bits() for _ in deals]
            rollouts = [
                self.rollout(deal.clone(), action, player, Rng(seed))
                for deal, seed in zip(deals, seeds, strict=True)
                for action in candidates
            ]
            results = np.reshape(await asyncio.gather(*rollouts), (wave, len(candidates)))
            rows += results.tolist()
        return np.array(rows)

    def is_over(self, started: float, rows: list[list[float]]) -> bool:
        return bool(rows) and time.perf_counter() - started > self.plan.milliseconds / 1000

    async def rollout(self, state: State, action: int, player: int, rng: Rng) -> float:
        """Play an action, then the agent's policy in every seat; the player's return."""
        state.apply(action)
        return await self.play_out(state, player, rng)


def surely_better(returns: npt.NDArray[np.float64]) -> int:
    """Of the columns that are surely better than the first one, the best; 0 if there is none."""
    differences = returns[:, 1:] - returns[:, :1]
    gains = differences.mean(axis=0)
    errors = differences.std(axis=0, ddof=1) / np.sqrt(len(returns))
    gains[gains <= DOUBT * errors] = 0
    best = int(gains.argmax())
    return best + 1 if gains[best] > 0 else 0

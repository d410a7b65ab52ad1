"""A trained agent as a player: its decisions, of all games at once, share batches."""

from types import TracebackType
from typing import Generic, Self, TypeVar

import torch

from asynccfr.agents import Agent
from asynccfr.batcher import Batcher
from asynccfr.cfr.query import Query
from asynccfr.games import State
from asynccfr.inference.evaluator import Evaluator
from asynccfr.networks import InferenceCopy
from asynccfr.seeding import Rng

CPU = torch.device("cpu")

Asked = TypeVar("Asked", bound=Query)


class BatchedPlayer(Generic[Asked]):
    """A player with a batcher of its own, which is open inside `async with`."""

    name: str
    batcher: Batcher[Asked, Asked]

    async def __aenter__(self) -> Self:
        await self.batcher.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.batcher.__aexit__(kind, error, traceback)


class NetworkPlayer(BatchedPlayer[Query]):
    """Plays an agent's policy; use it as an async context manager.

    Args:
        agent: whose policy to play.
        name: what to call it in reports.
        device: where to run the network.
        max_batch: the most decisions that share a forward.
    """

    def __init__(
        self, agent: Agent, name: str, *, device: torch.device = CPU, max_batch: int = 512
    ) -> None:
        self.name = name
        self.rule = agent.rule
        self.prior = agent.prior
        forward = InferenceCopy(agent.network, device=device)
        self.evaluator = Evaluator(
            [forward] * agent.game.num_players, agent.game, device=device, max_batch=max_batch
        )
        self.batcher = Batcher(self.evaluator, max_batch=max_batch, inline=device.type == "cpu")

    async def act(self, state: State, rng: Rng) -> int:
        return await self.act_by_policy(state, rng)

    async def play_out(self, state: State, player: int, rng: Rng) -> float:
        """Play the agent's policy in every seat from here to the end; the player's return."""
        while not state.is_terminal:
            legal = state.legal_actions()
            state.apply(legal[0] if len(legal) == 1 else await self.act_by_policy(state, rng))
        return state.returns()[player]

    async def act_by_policy(self, state: State, rng: Rng) -> int:
        query = Query(state)
        await self.batcher(query)
        return query.sample(self.rule, rng)

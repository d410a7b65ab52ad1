"""A mixture of networks as a player: one of them, drawn anew for every game, plays that game."""

from weakref import WeakKeyDictionary

import torch

from asynccfr.agents import Agent, MixtureAgent
from asynccfr.batcher import Batcher
from asynccfr.cfr.query import Query
from asynccfr.games import State
from asynccfr.inference.evaluator import Evaluator
from asynccfr.networks import InferenceCopy
from asynccfr.players.network import CPU, BatchedPlayer, NetworkPlayer
from asynccfr.seeding import Rng


class DrawnQuery(Query):
    """A decision of the networks of one iteration."""

    iteration: int


class MixturePlayer(BatchedPlayer[DrawnQuery]):
    """Plays a mixture; use it as an async context manager.

    A game is known by its random generator, of which every game and seat has its own. Decisions of
    one player and iteration share a forward.

    Args:
        agent: whose mixture to play.
        name: what to call it in reports.
        device: where to run the networks.
        max_batch: the most decisions that share a forward.
    """

    def __init__(
        self,
        agent: MixtureAgent,
        name: str,
        *,
        device: torch.device = CPU,
        max_batch: int = 512,
    ) -> None:
        self.agent = agent
        self.device = device
        self.name = name
        self.max_batch = max_batch
        self.drawn: WeakKeyDictionary[Rng, int] = WeakKeyDictionary()
        self.batcher = Batcher(self.evaluate, max_batch=max_batch, inline=True)

    async def act(self, state: State, rng: Rng) -> int:
        if rng not in self.drawn:
            self.drawn[rng] = self.agent.draw(rng)
        query = DrawnQuery(state)
        query.iteration = self.drawn[rng]
        await self.batcher.submit(query, (query.iteration, query.player))
        return query.sample(self.agent.rule, rng)

    def evaluate(self, queries: list[DrawnQuery]) -> list[DrawnQuery]:
        """Answer decisions of one player and iteration, in place; returns them."""
        networks = self.agent.networks(queries[0].iteration)
        forwards = [InferenceCopy(each, device=self.device) for each in networks]
        evaluate = Evaluator(forwards, self.agent.game, device=self.device, max_batch=len(queries))
        evaluate(list(queries))
        return queries


def player_of(
    agent: Agent | MixtureAgent, name: str, device: torch.device = CPU
) -> NetworkPlayer | MixturePlayer:
    """Whoever plays that agent, under that name; its networks run on the device."""
    if isinstance(agent, MixtureAgent):
        return MixturePlayer(agent, name, device=device)
    return NetworkPlayer(agent, name, device=device)

"""Self-play with a critic that sees both hands: regret matching on its values, or PPO.

Each iteration plays whole games with the policy network in both seats and lets two networks learn
from them side by side: the critic q(h, .), a function of the full history that is used in training
only, by multi-step targets; and the policy network, by the `Improvement` in use. Advantages come
from the critic as it was before it learned from these games, so that it does not flatter itself.

Regret matching belongs to the family of ARMAC (Gruslys et al. 2020) and ESCHER (McAleer et al.
2023): the advantage of *every* legal action is q(h, a) - v(h), without importance weights; to that
of the chosen action is added what the critic had wrong about it, at most `correction` times. Its
mean over the histories of an information state, as self-play meets them, is the counterfactual
regret over the others' reach.

What is guaranteed: under the rule `escher` information states are sampled as regrets and averages
need, if `exploration` is 0. With exact critics and fits its advantages are the regrets of linear
CFR, up to a positive factor for each information state, and the *average* strategy converges to a
Nash equilibrium of a two-player zero-sum game. Nothing is guaranteed for its last iterate, nor for
networks: measure.
Under the other rules, reach probabilities change between iterations, actions that are no longer
played are no longer judged, and one network both keeps the average of advantages and forgets it:
neither their average nor their last iterate is guaranteed anything.

One network serves both seats: information-state tensors must tell them apart where it matters.
"""

import copy
import math
import threading
from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor

from asynccfr import __version__
from asynccfr.agents import Agent, AgentCard, MixtureAgent, RuleName
from asynccfr.cfr.episode import Decisions
from asynccfr.config import PPO, AverageStrategy, Inference, LastIterate, RegretActorCritic
from asynccfr.exact.policy import Policy
from asynccfr.games import Game
from asynccfr.games.symmetry import repeated
from asynccfr.inference.devices import resolve_device
from asynccfr.learning.fitting import fit_average_strategy
from asynccfr.learning.reservoir import Reservoir
from asynccfr.networks import InferenceCopy, Network, build_network
from asynccfr.reports import FitReport
from asynccfr.seeding import RESERVOIR, TRAINING, stream
from asynccfr.solvers import parts
from asynccfr.solvers.advantages import Array, Lesson
from asynccfr.solvers.background import in_thread, in_threads
from asynccfr.solvers.experience import Experience
from asynccfr.solvers.improvement import make_improvement
from asynccfr.solvers.learner import Learner, Objective, Session
from asynccfr.solvers.pool import Harvest, Part, Pool, Weights
from asynccfr.solvers.protocol import Columns, Iteration, Progress
from asynccfr.solvers.self_play import Challenges, SelfPlay

# Purposes that keep apart the random streams of an iteration.
WEIGHTS, MINIBATCHES = 0, 1
POLICY, CRITIC, AVERAGE = 0, 1, 2

LAST_RATE = 0.1  # of the learning rates, once they have been annealed


class ActorCriticSolver:
    """The state of a run between two iterations.

    Attributes:
        policy: the network that plays; it outputs 0 at first, so play is uniform.
        critic: action values of the full history, in units of its network's `scale`.
        memory: the policies played, for the average strategy; None if it is not asked for.
    """

    def __init__(
        self,
        config: RegretActorCritic | PPO,
        inference: Inference,
        game: Game,
        seed: int,
        rival: Agent | MixtureAgent | None = None,
        schedule: Callable[[int], float] | None = None,
        pool: Pool | None = None,
    ) -> None:
        """`rival` is an agent to play against instead, to find out how to beat it.

        `schedule` tells how much of the annealing is over when an iteration begins; by default it
        ends after `config.anneal` iterations. `pool` plays the games elsewhere.

        Raises GameError if the game is not for two players, ConfigError for a server driver or a
        strategy that does not go with the rest.
        """
        self.config = config
        self.game = game
        self.seed = seed
        self.pool = pool
        self.schedule = schedule or (lambda iteration: (iteration - 1) / config.anneal)
        self.device = resolve_device(inference.device)
        self.dtype: torch.dtype = getattr(torch, inference.dtype)
        self.improvement = make_improvement(config, game)
        self.memory: Reservoir | None = None
        if isinstance(config.agent, AverageStrategy):
            self.memory = Reservoir.for_game(game, config.agent.memory)
        self.self_play = SelfPlay(game, config.games, inference, self.device, seed, pool)
        if rival is not None:
            self.self_play = Challenges(game, config.games, inference, self.device, seed, rival)
        self.policy = Learner(
            self.improvement.name, self.fresh_network(0, POLICY), config.policy_learning
        )
        self.critic = Learner("critic", self.fresh_network(0, CRITIC), config.critic_learning)

    def fresh_network(self, iteration: int, purpose: int) -> Network:
        rng = stream(self.seed, (TRAINING, iteration, purpose, WEIGHTS))
        game = self.game
        tensors = game.num_players if purpose == CRITIC else 1
        size, symmetry = game.information_state_tensor_size, game.symmetry
        if symmetry is not None:
            symmetry = repeated(symmetry, tensors, size)
        network = build_network(
            self.config.network, tensors * size, game.num_actions, rng, symmetry
        )
        return network.to(self.device)

    async def iterate(self, iteration: int, progress: Progress) -> Iteration:
        """Play, then let both networks learn, each in a thread."""
        played = await self.self_play.play(
            self.policy.network, self.improvement.behaviour, iteration, progress
        )
        experience = self.experience(played.decisions)
        fits = await self.learn(experience, iteration, progress) if len(experience) else ()
        return Iteration(
            nodes=len(experience),
            traversal_seconds=played.seconds,
            inference=played.tally.report(),
            fits=fits,
            memory={name: len(memory) for name, memory in self.memories().items()},
            digest=f"{played.digest:016x}",
            workers=() if self.pool is None else self.pool.take_reports(),
        )

    def take(self, weights: Weights) -> None:
        parts.restore({"policy": self.policy.network}, weights.columns)

    async def sample(self, part: Part) -> Harvest:
        return await self.self_play.sample(self.policy.network, self.improvement.behaviour, part)

    def experience(self, decisions: Decisions) -> Experience:
        return Experience(decisions, self.game.tensor_quantum, self.device, self.dtype)

    async def learn(
        self, experience: Experience, iteration: int, progress: Progress
    ) -> tuple[FitReport, ...]:
        """Let the critic and the policy network learn side by side, each in a thread."""
        values = await self.values(experience, iteration)
        done = min(1.0, self.schedule(iteration))
        lesson = Lesson(
            experience, values, self.improvement.targets(experience, values), iteration, done
        )
        rules = ((self.policy, self.improvement.learn), (self.critic, self.learn_values))

        def study(purpose: int, stop: threading.Event) -> FitReport:
            learner, learn = rules[purpose]
            session = Session(
                stream(self.seed, (TRAINING, iteration, purpose, MINIBATCHES)),
                1 - (1 - LAST_RATE) * done,
                partial(progress, f"{learner.name} network"),
                stop,
            )
            return learn(learner, lesson, session)

        fits = await in_threads(partial(study, purpose) for purpose in (POLICY, CRITIC))
        self.remember(experience, iteration)
        return tuple(fits)

    async def values(self, experience: Experience, iteration: int) -> Array:
        """What the critic makes of every legal action, before it learns from these decisions.

        Two threads answer a half each: two networks will learn side by side, too.
        """
        network = self.critic.network
        if iteration == 1:
            outcomes = experience.decisions.outcomes[experience.decisions.last == 1]
            network.scale.fill_(math.sqrt(np.square(outcomes).mean()) or 1.0)
        middle = len(experience) // 2

        def answers(part: slice, stop: threading.Event) -> Array:
            forward = InferenceCopy(network, dtype=self.dtype, device=self.device)
            return experience.answers(forward, experience.seen, experience.hidden, part=part)

        halves = [partial(answers, part) for part in (slice(0, middle), slice(middle, None))]
        return np.concatenate(await in_threads(halves)) * np.float32(network.scale.item())

    @staticmethod
    def learn_values(critic: Learner, lesson: Lesson, session: Session) -> FitReport:
        """Let the critic learn the targets of the chosen actions: squared error."""
        experience, network = lesson.experience, critic.network
        targets = experience.tensor(lesson.targets)[:, None] / network.scale
        taken = experience.actions.gather(1, experience.chosen[:, None])

        def losses(seen: Tensor, hidden: Tensor, taken: Tensor, targets: Tensor) -> Tensor:
            values = experience.outputs(network, experience.rows(seen, hidden), taken)
            return (values - targets).square()[:, 0]

        columns = (experience.seen, experience.hidden, taken, targets)
        return critic.learn(Objective(columns, np.abs(lesson.errors()), losses), session)

    def remember(self, experience: Experience, iteration: int) -> None:
        """Add the policies just played to the memory of the average strategy.

        They were met in proportion to both players' reach; weights of 1 / the opponent's leave the
        player's own, as an average strategy needs. An explorer did not play its policy.
        """
        wanted = self.config.agent
        if self.memory is None or not isinstance(wanted, AverageStrategy):
            return
        played = experience.decisions
        weights = played.weights.clip(max=wanted.max_weight)
        samples = experience.samples(np.flatnonzero(played.explores == 0), played.policy, weights)
        rng = stream(self.seed, (RESERVOIR, iteration))
        self.memory.extend(samples, iteration, np.random.default_rng(rng.bits()))

    async def make_agent(
        self, iteration: int, nodes: int, progress: Progress
    ) -> tuple[Agent, tuple[FitReport, ...]]:
        """The average strategy where it is asked for, else the network that plays."""
        memory, wanted = self.memory, self.config.agent
        if memory is None or not isinstance(wanted, AverageStrategy):
            return self.last_iterate(iteration, nodes), ()
        network = self.fresh_network(iteration, AVERAGE)
        report = await in_thread(
            lambda stop: fit_average_strategy(
                network,
                memory,
                wanted,
                stream(self.seed, (TRAINING, iteration, AVERAGE, MINIBATCHES)),
                dtype=self.dtype,
                device=self.device,
                stop=stop,
                on_step=lambda step, loss: progress("average-strategy network", step, wanted.steps),
            )
        )
        return self.agent(network, "softmax", iteration, nodes), (report,)

    def last_iterate(self, iteration: int, nodes: int) -> Agent:
        """The network that plays, as an agent, without exploration."""
        wanted = self.config.agent
        return self.agent(
            copy.deepcopy(self.policy.network),
            cast(RuleName, self.improvement.behaviour.rule.name.lower()),
            iteration,
            nodes,
            greedy=isinstance(wanted, LastIterate) and wanted.greedy,
        )

    def agent(
        self, network: Network, rule: RuleName, iterations: int, nodes: int, *, greedy: bool = False
    ) -> Agent:
        card = AgentCard(
            game=str(self.game),
            rule=rule,
            network=self.config.network,
            seed=self.seed,
            iterations=iterations,
            nodes=nodes,
            greedy=greedy,
            version=__version__,
        )
        return Agent(card, network.cpu(), self.game)

    def policies(self) -> dict[str, Policy]:
        """The last iterate, where the agent is another."""
        if self.memory is None:
            return {}
        return {"last iterate": self.last_iterate(0, 0).policy}

    def columns(self) -> Columns:
        return parts.to_columns(self.named_parts())

    def restore(self, columns: Columns) -> None:
        parts.restore(self.named_parts(), columns)

    def named_parts(self) -> parts.Parts:
        """Everything that the next iteration depends on, by name."""
        memories = {f"{name} memory": memory for name, memory in self.memories().items()}
        return {"policy": self.policy, "critic": self.critic, **memories}

    def memories(self) -> dict[str, Reservoir]:
        """The reservoirs that there are, by what they hold."""
        found = {"advantage": self.improvement.memory, "average strategy": self.memory}
        return {name: memory for name, memory in found.items() if memory is not None}

"""Deep CFR (Brown et al. 2019): traverse, fill reservoirs, fit networks, repeat.

Each iteration, for every player in turn, samples traversals against the current advantage networks,
adds them to that player's reservoir, and fits a new advantage network to everything the reservoir
holds. The networks regret-match the current profile; the agent is the average-strategy network, or
(Single Deep CFR) the mixture of every iteration's advantage networks.
"""

import copy
import time
from collections.abc import Callable
from typing import NamedTuple, Self

import torch
from msgspec.structs import replace

from asynccfr import __version__
from asynccfr.agents import Agent, AgentCard, MixtureAgent
from asynccfr.agents.network_history import NetworkHistory, from_row, to_row
from asynccfr.agents.profiles import AverageProfile, NetworkProfile
from asynccfr.cfr.finished import Bundle, FinishedWalk, Packer
from asynccfr.cfr.plan import RULES, TraversalPlan
from asynccfr.cfr.walk import Walk
from asynccfr.config import AsyncDriver, DeepCFR, Fit, Inference, LearnedBaseline, ServerDriver
from asynccfr.errors import ConfigError
from asynccfr.exact.policy import Policy
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.games import Game
from asynccfr.inference.baseline import BaselineEvaluator
from asynccfr.inference.devices import resolve_device
from asynccfr.inference.drivers import traverse
from asynccfr.inference.evaluator import Evaluator, EvaluatorOptions
from asynccfr.inference.policy_cache import PolicyCache
from asynccfr.inference.server import TraversalProcesses
from asynccfr.inference.tally import Tally
from asynccfr.learning.fitting import fit_advantage, fit_average_strategy
from asynccfr.learning.reservoir import Reservoir
from asynccfr.networks import InferenceCopy, Network, build_network
from asynccfr.reports import FitReport
from asynccfr.seeding import TRAINING, Rng, stream
from asynccfr.solvers import parts
from asynccfr.solvers.background import in_thread
from asynccfr.solvers.collector import Collector
from asynccfr.solvers.pool import Harvest, Part, Pool, Weights
from asynccfr.solvers.protocol import Columns, Iteration, Progress

# Purposes that keep apart the random streams of one iteration and player.
WEIGHTS, MINIBATCHES = 0, 1


class Traversals(NamedTuple):
    """One player's traversals of an iteration; the digest covers every sample, in order.

    `seconds` is all of it, forwards and `reservoir_seconds` included.
    """

    nodes: int
    seconds: float
    inference: Tally
    reservoir_seconds: float
    digest: int

    @classmethod
    def made(cls, collector: Collector, tally: Tally, seconds: float) -> Self:
        """What went through the collector, answered by these forwards, in so much time."""
        return cls(
            nodes=collector.nodes,
            seconds=seconds,
            inference=tally,
            reservoir_seconds=collector.seconds,
            digest=collector.digest,
        )


class DeepCFRSolver:
    """The state of a Deep CFR run between two iterations.

    Attributes:
        advantage_networks: one a player; they output 0 until first fitted, so play is uniform.
        advantage_memory: one reservoir a player, of sampled regrets.
        strategy_memory: everybody's policies, for the average strategy; None for a mixture.
        history: the advantage networks of every iteration, where they are kept.
        baseline: values histories in outcome sampling, where that is wanted; at first all at 0.
        history_memory: what this iteration has shown of them.
        caches: what each advantage network has answered in its life; empty if that is not wanted.
    """

    def __init__(
        self,
        config: DeepCFR,
        inference: Inference,
        game: Game,
        seed: int,
        keep_history: bool = False,
        pool: Pool | None = None,
    ) -> None:
        """`pool` makes the traversals elsewhere."""
        self.config = config
        self.pool = pool
        self.inference = inference
        self.game = game
        self.seed = seed
        self.rule = RULES[config.all_negative]
        self.device = resolve_device(inference.device)
        self.dtype: torch.dtype = getattr(torch, inference.dtype)
        players = range(game.num_players)
        self.advantage_networks = [self.fresh_network(0, player) for player in players]
        self.advantage_memory = [Reservoir.for_game(game, config.advantage.memory) for _ in players]
        self.strategy_memory: Reservoir | None = None
        self.processes: TraversalProcesses | None = None
        if isinstance(inference.driver, ServerDriver):
            self.processes = TraversalProcesses(inference.driver, game)
        self.history: NetworkHistory | None = None
        self.average: AverageProfile | None = None
        if keep_history or config.average == "sd_cfr":
            self.history = NetworkHistory(len(to_row(self.advantage_networks)))
        if config.average == "network":
            self.strategy_memory = Reservoir.for_game(game, config.average_strategy.memory)
        baseline = getattr(config.sampling, "baseline", None)
        self.learned = baseline if isinstance(baseline, LearnedBaseline) else None
        if self.learned and isinstance(inference.driver, ServerDriver):
            raise ConfigError(
                "solver.sampling.baseline: learned, with inference.driver: server, whose processes "
                "cannot ask it; use the async driver, or no baseline"
            )
        self.baseline = self.fresh_baseline()
        self.history_memory: Reservoir | None = None
        self.caches = [self.fresh_cache() for _ in players] if inference.cache else []

    def fresh_baseline(self) -> Network | None:
        if self.learned is None:
            return None
        rng = stream(self.seed, (TRAINING, 0, self.game.num_players + 1, WEIGHTS))
        size = self.game.num_players * self.game.information_state_tensor_size
        network = build_network(self.learned.network, size, self.game.num_actions, rng)
        return network.to(self.device)

    def fresh_cache(self) -> PolicyCache:
        return PolicyCache(self.game, self.inference.cache)

    def fresh_network(self, iteration: int, which: int) -> Network:
        """A network with random weights of its own; `which` is a player, or num_players."""
        rng = stream(self.seed, (TRAINING, iteration, which, WEIGHTS))
        size = self.game.information_state_tensor_size
        network = build_network(
            self.config.network, size, self.game.num_actions, rng, self.game.symmetry
        )
        return network.to(self.device)

    async def iterate(self, iteration: int, progress: Progress) -> Iteration:
        """Traverse and fit for every player in turn."""
        traversals, fits = [], []
        if self.learned:
            self.history_memory = Reservoir.for_histories(self.game, self.learned.fit.memory)
        for player in range(self.game.num_players):
            traversals.append(await self.traverse(iteration, player, progress))
            fits.append(await self.fit_advantage(iteration, player, progress))
        if self.learned:
            fits.append(await self.fit_baseline(self.learned.fit, iteration, progress))
        if self.history is not None:
            self.history.append(to_row(self.advantage_networks))
        memory = {f"advantage {p}": len(m) for p, m in enumerate(self.advantage_memory)}
        if self.strategy_memory is not None:
            memory["average strategy"] = len(self.strategy_memory)
        return Iteration(
            nodes=sum(part.nodes for part in traversals),
            traversal_seconds=sum(part.seconds for part in traversals),
            inference=Tally.total(part.inference for part in traversals).report(),
            fits=tuple(fits),
            memory=memory,
            digest="".join(f"{part.digest:016x}" for part in traversals),
            workers=() if self.pool is None else self.pool.take_reports(),
        )

    async def traverse(self, iteration: int, traverser: int, progress: Progress) -> Traversals:
        """Sample this iteration's traversals of one player into the reservoirs."""
        collector = self.collector(iteration, traverser, progress)
        started = time.perf_counter()
        part = Part(iteration, range(self.config.traversals), traverser)
        if self.pool is None:
            tally = await self.make(part, collector.add, collector.finished)
        else:
            tally = await self.have_made(self.pool, part, collector)
        collector.flush()
        return Traversals.made(collector, tally, time.perf_counter() - started)

    async def make(
        self, part: Part, collect: Callable[[Walk | FinishedWalk], None], emptied: list[Walk]
    ) -> Tally:
        """Make some traversals here and hand them to `collect`, in order.

        New ones inherit the memory of those in `emptied`.
        """
        assert part.traverser is not None
        evaluator = self.make_evaluator()
        driver = self.inference.driver
        if isinstance(driver, AsyncDriver) and driver.concurrency > len(part.numbers):
            driver = replace(driver, concurrency=len(part.numbers))
        plan = self.plan(part.iteration, part.traverser)
        if isinstance(driver, ServerDriver):
            assert self.processes is not None
            await self.processes.traverse(plan, evaluator, collect)
        else:
            walks = plan.walks(self.game, part.numbers, emptied)
            await traverse(driver, plan.scheme, walks, evaluator, collect)
        return evaluator.tally

    async def sample(self, part: Part) -> Harvest:
        packer = Packer(self.game, histories=self.learned is not None)
        tally = await self.make(part, packer.add, packer.emptied)
        return Harvest(packer.take(), tally)

    async def have_made(self, pool: Pool, part: Part, collector: Collector) -> Tally:
        """Have the pool make the traversals."""
        tallies: list[Tally] = []

        def collect(harvest: Harvest) -> None:
            assert isinstance(harvest.samples, Bundle)
            tallies.append(harvest.tally)
            for walk in harvest.samples.walks(self.game):
                collector.add(walk)

        assert part.traverser is not None
        version = part.iteration * self.game.num_players + part.traverser
        weights = Weights(version, parts.to_columns(self.playing()))
        await pool.compute(part.cut(pool.parts), weights, collect)
        return Tally.total(tallies)

    def playing(self) -> parts.Parts:
        """The networks that traversals ask."""
        networks = {f"advantage_network_{p}": n for p, n in enumerate(self.advantage_networks)}
        return networks | ({} if self.baseline is None else {"baseline": self.baseline})

    def take(self, weights: Weights) -> None:
        parts.restore(self.playing(), weights.columns)
        self.caches = [self.fresh_cache() if cache.pays else cache for cache in self.caches]

    def plan(self, iteration: int, traverser: int) -> TraversalPlan:
        """Which traversals of one player an iteration makes."""
        return TraversalPlan(
            seed=self.seed,
            iteration=iteration,
            traverser=traverser,
            traversals=self.config.traversals,
            sampling=self.config.sampling,
            all_negative=self.config.all_negative,
        )

    def collector(self, iteration: int, traverser: int, progress: Progress) -> Collector:
        """What takes the samples of one player's traversals into the reservoirs."""
        memories = {
            "advantages": self.advantage_memory[traverser],
            "strategies": self.strategy_memory,
            "histories": self.history_memory,
        }
        traversals = self.config.traversals
        return Collector(self.game, self.seed, iteration, traverser, traversals, memories, progress)

    def make_evaluator(self) -> Evaluator:
        """What answers the decisions of one player's traversals."""
        networks = [self.inference_copy(network) for network in self.advantage_networks]
        options: EvaluatorOptions = {
            "device": self.device,
            "max_batch": self.inference.driver.max_batch,
            "deterministic": self.inference.deterministic,
            "caches": self.caches,
        }
        if self.baseline is None:
            return Evaluator(networks, self.game, **options)
        baseline = self.inference_copy(self.baseline)
        return BaselineEvaluator(networks, baseline, self.game, **options)

    def inference_copy(self, network: Network) -> InferenceCopy:
        return InferenceCopy(network, dtype=self.dtype, device=self.device)

    async def fit_advantage(self, iteration: int, player: int, progress: Progress) -> FitReport:
        """Fit one player's advantage network to its reservoir, from scratch unless warm-started."""
        if self.config.warm_start and iteration > 1:
            network = copy.deepcopy(self.advantage_networks[player])
        else:
            network = self.fresh_network(iteration, player)
        report = await self.fit(
            fit_advantage,
            network,
            self.advantage_memory[player],
            self.config.advantage,
            stream(self.seed, (TRAINING, iteration, player, MINIBATCHES)),
            f"advantage network of player {player}",
            progress,
        )
        self.advantage_networks[player] = network
        if self.caches and self.caches[player].pays:
            self.caches[player] = self.fresh_cache()
        return replace(report, player=player)

    async def fit_baseline(self, config: Fit, iteration: int, progress: Progress) -> FitReport:
        """Go on fitting the baseline, to histories of this iteration, whose profile it values."""
        network, memory = copy.deepcopy(self.baseline), self.history_memory
        rng = stream(self.seed, (TRAINING, iteration, self.game.num_players + 1, MINIBATCHES))
        assert network is not None
        assert memory is not None
        report = await self.fit(fit_advantage, network, memory, config, rng, "baseline", progress)
        self.baseline = network
        return replace(report, network="baseline")

    async def fit_average_strategy(
        self, iteration: int, progress: Progress
    ) -> tuple[Network, FitReport]:
        """Fit a fresh average-strategy network to all policies so far."""
        which = self.game.num_players
        network = self.fresh_network(iteration, which)
        assert self.strategy_memory is not None
        report = await self.fit(
            fit_average_strategy,
            network,
            self.strategy_memory,
            self.config.average_strategy,
            stream(self.seed, (TRAINING, iteration, which, MINIBATCHES)),
            "average-strategy network",
            progress,
        )
        return network, report

    async def fit(
        self,
        fit: Callable[..., FitReport],
        network: Network,
        memory: Reservoir,
        config: Fit,
        rng: Rng,
        name: str,
        progress: Progress,
    ) -> FitReport:
        """Run a fit in a thread beside the event loop; cancelling ends it within a step."""
        return await in_thread(
            lambda stop: fit(
                network,
                memory,
                config,
                rng,
                name=name,
                dtype=self.dtype,
                device=self.device,
                stop=stop,
                on_step=lambda step, loss: progress(name, step, config.steps),
            )
        )

    async def make_agent(
        self, iteration: int, nodes: int, progress: Progress
    ) -> tuple[Agent | MixtureAgent, tuple[FitReport, ...]]:
        """The average strategy: a network fitted to it, or the mixture of all iterations."""
        card = AgentCard(
            game=str(self.game),
            rule="softmax",
            network=self.config.network,
            seed=self.seed,
            iterations=iteration,
            nodes=nodes,
            version=__version__,
        )
        if self.history is not None and self.config.average == "sd_cfr":
            mixture = replace(card, rule=self.rule.name.lower(), mixture=True)
            return MixtureAgent(mixture, self.history.rows, self.game), ()
        network, fit = await self.fit_average_strategy(iteration, progress)
        return Agent(card, network.cpu(), self.game), (fit,)

    def policies(self) -> dict[str, Policy]:
        """The current profile, and the mixture of all so far if their networks are kept."""
        found: dict[str, Policy] = {
            "current profile": NetworkProfile(self.advantage_networks, self.rule)
        }
        if self.history is not None:
            found["SD-CFR average"] = self.mixture(self.history)
        return found

    def mixture(self, history: NetworkHistory) -> Policy:
        """The exact average of all iterations; only new ones cost time."""
        if self.average is None:
            self.average = AverageProfile(sequence_form(self.game))
        networks = copy.deepcopy(self.advantage_networks)
        for iteration in range(self.average.count + 1, history.iterations + 1):
            from_row(history.rows[iteration - 1], networks)
            self.average.add(NetworkProfile(networks, self.rule), iteration)
        return self.average.policy()

    def columns(self) -> Columns:
        return parts.to_columns(self.named_parts())

    def restore(self, columns: Columns) -> None:
        parts.restore(self.named_parts(), columns)

    def named_parts(self) -> parts.Parts:
        """Everything that the next iteration depends on, by name."""
        memory = {f"advantage_memory_{p}": m for p, m in enumerate(self.advantage_memory)}
        others = {
            "strategy_memory": self.strategy_memory,
            "network_history": self.history,
        }
        wanted = {name: part for name, part in others.items() if part is not None}
        return {**self.playing(), **memory, **wanted}

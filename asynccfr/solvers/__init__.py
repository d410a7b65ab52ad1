"""The algorithms that train an agent, behind one protocol."""

from asynccfr.config import PPO, RegretActorCritic, TrainConfig
from asynccfr.games import Game
from asynccfr.solvers.actor_critic import ActorCriticSolver
from asynccfr.solvers.deep_cfr import DeepCFRSolver
from asynccfr.solvers.pool import Pool
from asynccfr.solvers.protocol import Iteration, Progress, Solver

__all__ = ["Iteration", "Progress", "Solver", "make_solver"]


def make_solver(config: TrainConfig, game: Game, pool: Pool | None = None) -> Solver:
    """The solver that `config.solver` asks for, before its first iteration.

    `pool` computes the games and traversals of an iteration elsewhere.
    """
    if isinstance(config.solver, RegretActorCritic | PPO):
        return ActorCriticSolver(config.solver, config.inference, game, config.seed, pool=pool)
    return DeepCFRSolver(
        config.solver,
        config.inference,
        game,
        config.seed,
        keep_history=config.evaluation.nash_conv_every > 0,
        pool=pool,
    )

"""The algorithms that train an agent, behind one protocol."""

from asynccfr.config import PPO, RegretActorCritic, TrainConfig
from asynccfr.games import Game
from asynccfr.solvers.actor_critic import ActorCriticSolver
from asynccfr.solvers.deep_cfr import DeepCFRSolver
from asynccfr.solvers.protocol import Iteration, Progress, Solver

__all__ = ["Iteration", "Progress", "Solver", "make_solver"]


def make_solver(config: TrainConfig, game: Game) -> Solver:
    """The solver that `config.solver` asks for, before its first iteration."""
    if isinstance(config.solver, RegretActorCritic | PPO):
        return ActorCriticSolver(config.solver, config.inference, game, config.seed)
    exact = config.evaluation.nash_conv_every > 0
    return DeepCFRSolver(config.solver, config.inference, game, config.seed, keep_history=exact)

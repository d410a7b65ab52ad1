"""Small runs of every solver and sampling, whose digests must not depend on who played."""

from asynccfr.config import TrainConfig
from tests.solvers.small import small_config

LEARNING = {"batch": 64, "epochs": 1}
SELF_PLAY = {
    "type": "regret_actor_critic",
    "iterations": 3,
    "games": 24,
    "network": {"type": "mlp", "width": 16, "depth": 2},
    "policy_learning": LEARNING,
    "critic_learning": LEARNING,
}
PPO = {name: value for name, value in SELF_PLAY.items() if name != "type"} | {"type": "ppo"}

CONFIGS: dict[str, TrainConfig] = {
    "outcome": small_config(),
    "external": small_config(solver__sampling={"type": "external"}),
    "baseline": small_config(
        solver__sampling={
            "type": "outcome",
            "baseline": {
                "type": "learned",
                "network": {"width": 16},
                "fit": {"memory": 500, "steps": 10, "batch": 32},
            },
        }
    ),
    "q_policy_gradient": small_config(
        solver=SELF_PLAY | {"strategy": {"type": "q_policy_gradient"}}
    ),
    "regret_matching": small_config(solver=SELF_PLAY | {"strategy": {"type": "regret_matching"}}),
    "escher": small_config(
        solver={name: value for name, value in SELF_PLAY.items() if name != "policy_learning"}
        | {"strategy": {"type": "escher", "memory": 500, "steps": 5, "batch": 32}}
    ),
    "ppo": small_config(solver=PPO),
}

"""Which fields of a configuration make a run what it is, and which may change when it resumes."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from asynccfr.config import TrainConfig

# How long it runs, how fast, and what is said about it: none alters what an iteration computes,
# but for the rounding of another device or batch size, and for a schedule or a way of learning that
# changes from here on.
FREE = (
    "solver.iterations",
    "solver.anneal",
    "solver.policy_learning",
    "solver.critic_learning",
    "inference.driver",
    "inference.device",
    "inference.threads",
    "cluster",
    "evaluation",
    "run",
)


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested tables and lists with their dotted paths."""
    if isinstance(value, Mapping):
        items: Any = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    else:
        yield path, value
        return
    for key, below in items:
        yield from flatten(below, f"{path}.{key}" if path else str(key))


def difference(old: TrainConfig | Mapping[str, Any], new: TrainConfig) -> str | None:
    """The first field in which two configurations are different runs: `seed (1, now 2)`."""
    before = dict(flatten(msgspec.to_builtins(old)))
    after = dict(flatten(msgspec.to_builtins(new)))
    for path in before | after:
        if any(path == free or path.startswith(f"{free}.") for free in FREE):
            continue
        if before.get(path) != after.get(path):
            return f"{path} ({_shown(before, path)}, now {_shown(after, path)})"
    return None


def _shown(leaves: Mapping[str, Any], path: str) -> str:
    return str(leaves[path]) if path in leaves else "absent"

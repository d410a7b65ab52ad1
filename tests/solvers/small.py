"""Training runs that take a second, and reports compared without their clocks."""

from typing import Any

import msgspec

from asynccfr.config import TrainConfig
from asynccfr.reports import IterationReport

NO_TIME = {"traversal_seconds": 0.0, "seconds": 0.0, "elapsed_seconds": 0.0}


def small_config(**changes) -> TrainConfig:
    """Three iterations of Kuhn poker; `changes` replaces fields given as `solver__traversals=5`."""
    raw: dict[str, Any] = {
        "game": "kuhn_poker",
        "solver": {
            "type": "deep_cfr",
            "iterations": 3,
            "traversals": 40,
            "sampling": {"type": "outcome", "epsilon": 0.6},
            "network": {"type": "mlp", "width": 16, "depth": 2},
            "advantage": {"memory": 200, "steps": 15, "batch": 32},
            "average_strategy": {"memory": 200, "steps": 15, "batch": 32},
        },
        "inference": {"device": "cpu", "deterministic": True, "threads": 1},
        "evaluation": {"deals": 10, "opponents": ["random"]},
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        table = raw
        for parent in parents:
            table = table[parent]
        table[last] = value
    return msgspec.convert(raw, TrainConfig)


def essence(report: IterationReport) -> tuple:
    """What equal runs report equally, whatever their clocks say and their caches know."""
    fits = [msgspec.structs.replace(fit, seconds=0.0) for fit in report.fits]
    return report.iteration, report.nodes_total, report.sample_digest, fits, report.evaluation


async def digests(config: TrainConfig, **options) -> list[str]:
    """The sample digests of a run's iterations."""
    from asynccfr.training import train

    return [report.sample_digest async for report in train(config, **options)]

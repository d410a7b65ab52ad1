"""Reports and checkpoints whose content tells their iteration."""

import numpy as np
from msgspec import Struct

from asynccfr.reports import FitReport, InferenceReport, IterationReport, MatchReport
from asynccfr.runs import Checkpoint


class State(Struct, frozen=True):
    digest: str
    counts: tuple[int, ...] = ()


def make_report(iteration: int, nodes: int = 100) -> IterationReport:
    fits = tuple(
        FitReport(
            network="advantage",
            player=player,
            samples=50,
            steps=10,
            loss_first=2.0,
            loss_last=1.0,
            seconds=0.25,
        )
        for player in (0, 1)
    )
    inference = InferenceReport(
        rows=nodes,
        batches=10,
        batch_mean=nodes / 10,
        batch_p50=10,
        batch_p95=16,
        batch_max=20,
        forward_seconds=0.1,
    )
    return IterationReport(
        iteration=iteration,
        iterations=10,
        nodes=nodes,
        nodes_total=nodes * iteration,
        traversal_seconds=0.5,
        seconds=1.0,
        elapsed_seconds=float(iteration),
        inference=inference,
        fits=fits,
        memory={"advantage 0": nodes, "advantage 1": nodes, "average strategy": nodes},
        sample_digest=f"{iteration:032x}",
    )


def match_against(
    opponent: str, score: float = 0.25, score_low: float = 0.125, score_high: float = 0.375
) -> MatchReport:
    return MatchReport(
        game="kuhn_poker",
        a="agent",
        b=opponent,
        deals=50,
        rounds=1,
        seed=0,
        score=score,
        score_low=score_low,
        score_high=score_high,
        win_rate=0.6,
        win_rate_low=0.5,
        win_rate_high=0.7,
        wins=0.6,
        draws=0.0,
        losses=0.4,
        mean_length=2.5,
    )


def make_checkpoint(iteration: int, size: int = 200) -> Checkpoint[State]:
    arrays = {
        "weights": np.full((size, 3), iteration, np.float32),
        "reservoir": np.arange(size * 8, dtype=np.uint8) + np.uint8(iteration % 256),
        "nothing": np.empty((0, 4), np.float64),
    }
    return Checkpoint(iteration, arrays, State(f"digest {iteration}", (iteration, size)))


def assert_same(found: Checkpoint[State] | None, wanted: Checkpoint[State]) -> None:
    assert found is not None
    assert (found.iteration, found.state) == (wanted.iteration, wanted.state)
    assert found.arrays.keys() == wanted.arrays.keys()
    for name, array in wanted.arrays.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array)

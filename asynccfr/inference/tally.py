"""What inference came to: rows and seconds of each forward, and what needed none."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from asynccfr.reports import InferenceReport


@dataclass
class Tally:
    """Of an evaluator so far, or of several together.

    Attributes:
        batch_sizes: the rows of each forward.
        seconds: of each, copies to and from the device included.
        group_counts: how many forwards each collected batch took, where batches mix players.
        answered: queries that needed no row of their own.
    """

    batch_sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    group_counts: list[int] = field(default_factory=list)
    answered: int = 0

    @classmethod
    def total(cls, parts: Iterable["Tally"]) -> "Tally":
        whole = cls()
        for part in parts:
            whole.batch_sizes += part.batch_sizes
            whole.seconds += part.seconds
            whole.group_counts += part.group_counts
            whole.answered += part.answered
        return whole

    def add(self, rows: int, seconds: float) -> None:
        """Count a forward."""
        self.batch_sizes.append(rows)
        self.seconds.append(seconds)

    @property
    def forward_seconds(self) -> float:
        return sum(self.seconds)

    def report(self) -> InferenceReport:
        sizes = np.array(self.batch_sizes or [0])
        return InferenceReport(
            rows=int(sizes.sum()),
            batches=len(self.batch_sizes),
            batch_mean=float(sizes.mean()),
            batch_p50=float(np.percentile(sizes, 50)),
            batch_p95=float(np.percentile(sizes, 95)),
            batch_max=int(sizes.max()),
            groups_mean=float(np.mean(self.group_counts)) if self.group_counts else 1.0,
            forward_seconds=self.forward_seconds,
            answered=self.answered,
        )

"""TensorBoard events out of the metrics (the optional extra `tensorboard`)."""

from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from asynccfr.errors import needed_by
from asynccfr.reports import IterationReport
from asynccfr.runs.identity import flatten


def require_tensorboard() -> None:
    """Raises MissingPackage if TensorBoard is not installed."""
    with needed_by("run.tensorboard = true"):
        import_module("tensorboard")


class EventWriter:
    """Writes the numbers of each report; events from `first` on, of an earlier try, are dropped."""

    def __init__(self, path: Path, first: int) -> None:
        require_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        self._writer: Any = SummaryWriter(path, purge_step=first)

    def add(self, report: IterationReport) -> None:
        plain = msgspec.to_builtins(report)
        plain["nodes_per_second"] = report.nodes_per_second
        plain["fits"] = {fit.label: msgspec.to_builtins(fit) for fit in report.fits}
        plain["evaluation"] = {match["b"]: match for match in plain["evaluation"]}
        for path, value in flatten(plain):
            if isinstance(value, int | float):
                self._writer.add_scalar(path.replace(".", "/"), value, report.iteration)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

"""Run folders: configuration, metrics, checkpoints and the agent on disk."""

from asynccfr.runs.checkpoints import Checkpoint
from asynccfr.runs.folder import RunFolder, holds_run

__all__ = ["Checkpoint", "RunFolder", "holds_run"]

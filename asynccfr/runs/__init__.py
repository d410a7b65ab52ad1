"""Run folders: configuration, metrics, checkpoints and agents on disk."""

from asynccfr.runs.agents import AgentCard, load_agent, save_agent
from asynccfr.runs.checkpoints import Checkpoint
from asynccfr.runs.folder import RunFolder, holds_run

__all__ = ["AgentCard", "Checkpoint", "RunFolder", "holds_run", "load_agent", "save_agent"]

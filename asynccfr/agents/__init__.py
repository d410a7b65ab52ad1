"""What plays and is kept in a file."""

from asynccfr.agents.agent import (
    Agent,
    AgentCard,
    MixtureAgent,
    RuleName,
)

__all__ = [
    "Agent",
    "AgentCard",
    "MixtureAgent",
    "RuleName",
]

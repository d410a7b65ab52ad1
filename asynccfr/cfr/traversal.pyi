from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from asynccfr.cfr.query import Query
from asynccfr.cfr.trajectory import Episode
from asynccfr.cfr.walk import Walk

Evaluate: TypeAlias = Callable[[Query], Awaitable[object]]

Traversal = TypeVar("Traversal", bound=Query)
Scheme: TypeAlias = Callable[[Traversal, Evaluate], Coroutine[Any, Any, object]]

async def outcome_sampling(walk: Walk, evaluate: Evaluate) -> None: ...
async def outcome_sampling_with_baseline(walk: Walk, evaluate: Evaluate) -> None: ...
async def external_sampling(walk: Walk, evaluate: Evaluate) -> float: ...
async def self_play(episode: Episode, evaluate: Evaluate) -> None: ...

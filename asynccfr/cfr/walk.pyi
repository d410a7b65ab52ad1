from asynccfr.cfr.query import Query
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.samples import SampleBuffer
from asynccfr.games.contract import State
from asynccfr.seeding import Rng

class Walk(Query):
    traverser: int
    nodes: int
    advantages: SampleBuffer
    strategies: SampleBuffer
    def __init__(
        self,
        state: State,
        traverser: int,
        rng: Rng,
        rule: Rule,
        epsilon: float = 0.0,
        max_weight: float = 1.0,
        reuse: Walk | None = None,
    ) -> None: ...
    def advance(self) -> bool: ...
    @property
    def at_traverser(self) -> bool: ...
    def back_up(self) -> float: ...
    def branches(self) -> list[Walk]: ...
    def join(self, children: list[Walk], below: list[float]) -> float: ...

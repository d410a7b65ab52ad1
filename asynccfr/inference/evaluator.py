"""From networks to a batch function: one forward answers every query of a batch.

Rows are encoded straight into a preallocated buffer (pinned for CUDA) and padded to one of a few
sizes, because oneDNN and CUDA pay for every shape they have not met.
"""

import time
from collections.abc import Callable, Sequence
from typing import Required, TypedDict

import numpy as np
import numpy.typing as npt
import torch

from asynccfr.cfr.query import Query, deliver, encode
from asynccfr.games import Game
from asynccfr.inference.policy_cache import PolicyCache
from asynccfr.inference.tally import Tally

Forward = Callable[[torch.Tensor], torch.Tensor]
"""A network: float32 rows [n, tensor_size] to float32 outputs [n, num_actions], on one device."""

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.intp]

DETERMINISTIC_ROWS = 64

BEGIN = "begin"
PHASES = ENCODE, COPY_IN, LAUNCH, FORWARD, COPY_OUT, SCATTER = (
    "encode",
    "copy in",
    "launch",
    "forward",
    "copy out",
    "scatter",
)


class EvaluatorOptions(TypedDict, total=False):
    """The keyword arguments of `Evaluator`."""

    device: Required[torch.device]
    max_batch: Required[int]
    deterministic: bool
    caches: Sequence[PolicyCache]


def unwatched(phase: str) -> None:
    """What an evaluator tells its phases by default."""


class Evaluator:
    """Answers batches of queries, each batch with the network of its player.

    Args:
        networks: one forward per player; the same object may serve several.
        game: the game that the queries are of.
        device: where the networks live.
        max_batch: the most queries of a call.
        deterministic: run every forward at one fixed shape, so that outputs do not depend
            on how many rows share it.
        caches: what each network has answered already, for as long as they pay; none by default.

        watch: called with each of `PHASES` of a batch as it ends, and with `BEGIN` before.

    Attributes:
        tally: what has been answered so far, and how.
    """

    def __init__(
        self,
        networks: Sequence[Forward],
        game: Game,
        *,
        device: torch.device,
        max_batch: int,
        deterministic: bool = False,
        caches: Sequence[PolicyCache] = (),
        watch: Callable[[str], None] = unwatched,
    ) -> None:
        self.networks = networks
        self.caches = {player: cache for player, cache in enumerate(caches) if cache.pays}
        self.device = device
        self.fewest = DETERMINISTIC_ROWS if deterministic else 1
        self.chunk = padded(max(max_batch, self.fewest))
        self.block = DETERMINISTIC_ROWS if deterministic else self.chunk
        rows = torch.zeros(
            (self.chunk, game.information_state_tensor_size), pin_memory=device.type == "cuda"
        )
        self.rows = rows
        self.row_view = rows.numpy()
        self.scratch = np.empty(game.information_state_tensor_size, np.float32)
        self.watch = watch
        self.tally = Tally()

    def __call__(self, queries: list[Query]) -> list[Query]:
        """Answer at most `max_batch` queries of one player in place; returns them."""
        player = queries[0].player
        cache = self.caches.get(player)
        self.watch(BEGIN)
        if cache is None:
            encode(queries, self.row_view)
            count = len(queries)
        else:
            count = cache.encode(queries, self.row_view)
            self.tally.answered += len(queries) - count
        self.watch(ENCODE)
        if count:
            outputs = self.outputs(player, count)
            (deliver if cache is None else cache.deliver)(queries, outputs)
            self.watch(SCATTER)
        return queries

    def answer(self, query: Query) -> bool:
        """Answer a query at once if a cache knows it; return whether it did."""
        cache = self.caches.get(query.player)
        if cache is None:
            return False
        if not cache.pays:
            del self.caches[query.player]
            return False
        known = cache.answer(query, self.scratch)
        self.tally.answered += known
        return known

    def answer_rows(self, player: int, rows: Floats, outputs: Floats, which: Indices) -> None:
        """Answer decisions of one player that are encoded already.

        Reads `rows[which]`, float32 [.., tensor_size], writes `outputs[which]`, [.., num_actions].
        """
        rows.take(which, axis=0, out=self.row_view[: len(which)], mode="clip")
        outputs[which] = self.outputs(player, len(which))[: len(which)]

    def outputs(self, player: int, size: int) -> Floats:
        """The player's network on the first `size` rows of the buffer, and padding below."""
        started = time.perf_counter()
        outputs = self.forward(self.networks[player], self.rows, size).numpy()
        self.tally.add(size, time.perf_counter() - started)
        return outputs

    def forward(self, network: Forward, rows: torch.Tensor, size: int) -> torch.Tensor:
        """The network's outputs for the first `size` rows, and padding below, on the CPU."""
        with torch.inference_mode():
            rows = rows[: padded(max(size, self.fewest))].to(self.device, non_blocking=True)
            self.watch(COPY_IN)
            outputs = torch.cat([network(block) for block in torch.split(rows, self.block)])
            self.watch(LAUNCH)
            self.watch(FORWARD)
            outputs = outputs.cpu()
            self.watch(COPY_OUT)
        return outputs


def padded(size: int) -> int:
    """The number of rows at which a batch of `size` is run: a power of two, or a multiple of 64."""
    return 1 << (size - 1).bit_length() if size <= 64 else -(-size // 64) * 64

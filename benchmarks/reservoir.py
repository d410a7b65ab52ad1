"""Memory and speed of a reservoir of Lost Cities samples: `python -m benchmarks.reservoir`."""

import resource
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct

from asynccfr.games import Game, load_game
from asynccfr.learning.reservoir import Reservoir, Samples
from benchmarks.common import Machine, Spread, alternate, machine, options, report, spread

GIB = 2**30
BLOCK = 4096
BATCHES = (256, 1024, 4096)


class ReservoirRecord(Struct, frozen=True, kw_only=True):
    """Fields:
    samples: held by the full reservoir, of one player.
    held_gib: bytes of its columns; resident_gib: growth of the process's peak memory.
    fill_us_per_sample: adding while there is room; replace_us_per_sample: once it is full.
    batch_us: assembling a training batch, by its size.
    """

    machine: Machine
    game: str
    samples: int
    held_gib: float
    resident_gib: float
    fill_us_per_sample: Spread
    replace_us_per_sample: Spread
    batch_us: dict[str, Spread]


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def random_play(game: Game, count: int) -> Samples:
    """Information states of random play, with made-up regrets of their legal actions."""
    rng = np.random.default_rng(0)
    features = np.empty((count, game.information_state_tensor_size), np.float32)
    actions = np.full((count, game.max_legal_actions), -1, np.int16)
    state = game.new_state(0)
    for row in range(count):
        if state.is_terminal:
            state = game.new_state(row)
        legal = state.legal_actions()
        state.information_state_tensor(state.current_player, features[row])
        actions[row, : len(legal)] = legal
        state.apply(int(rng.choice(legal)))
    values = np.where(actions >= 0, rng.normal(0, 20, actions.shape), 0).astype(np.float32)
    quantised = np.rint(features / game.tensor_quantum).astype(np.uint8)
    return Samples(quantised, actions, values, np.ones(count, np.float32))


def measure(samples: int, repetitions: int) -> ReservoirRecord:
    game = load_game("lost_cities")
    block, rng = random_play(game, BLOCK), np.random.default_rng(1)
    before = peak_bytes()
    held = Reservoir.for_game(game, samples)

    def extend() -> float:
        start = time.perf_counter()
        held.extend(block, 1, rng)
        return (time.perf_counter() - start) / BLOCK * 1e6

    def batch(size: int) -> float:
        start = time.perf_counter()
        held.batch(rng, size)
        return (time.perf_counter() - start) * 1e6

    fill = [extend() for _ in range(samples // BLOCK)]
    extend()
    replace = [extend() for _ in range(repetitions)]
    batches = alternate({str(size): partial(batch, size) for size in BATCHES}, repetitions)
    return ReservoirRecord(
        machine=machine(),
        game=str(game),
        samples=len(held),
        held_gib=held.nbytes / GIB,
        resident_gib=(peak_bytes() - before) / GIB,
        fill_us_per_sample=spread(fill),
        replace_us_per_sample=spread(replace),
        batch_us=batches,
    )


@options
def main(quick: bool, json: Path | None) -> None:
    """Fill a reservoir with Lost Cities samples and draw training batches from it.

    The bars are for 2 million samples: 1.0 GiB, and 1000 µs for a batch of 1024 samples.
    """
    record = measure(samples=200_000 if quick else 2_000_000, repetitions=100 if quick else 500)
    report(
        f"Reservoir of {record.samples:,} samples of {record.game}",
        ("figure", "median (5% to 95%)", "bar"),
        [
            ("columns, GiB", f"{record.held_gib:.3f}", "≤ 1.0"),
            ("resident, GiB", f"{record.resident_gib:.3f}", "≤ 1.0"),
            ("add to free room, µs a sample", record.fill_us_per_sample, ""),
            ("show to a full reservoir, µs a sample", record.replace_us_per_sample, ""),
            *(
                (f"batch of {size}, µs", timing, "< 1000" if size == "1024" else "")
                for size, timing in record.batch_us.items()
            ),
        ],
        record,
        json,
    )


if __name__ == "__main__":
    main()

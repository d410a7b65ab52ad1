"""A trainer that does everything but learn, for tests of what surrounds it.

Run as a script it is the command line with this trainer in place of the real one. The seed of the
configuration says how it behaves, see the constants.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator

import msgspec
import numpy as np
from msgspec import Struct

from asynccfr.config import TrainConfig
from asynccfr.errors import GameError, TrainingDiverged
from asynccfr.reports import IterationReport
from asynccfr.runs import Checkpoint, RunFolder
from tests.runs.run_samples import make_report, match_against

NORMAL, REFUSE, DIVERGE, LINGER, FULL_DISK, PAUSE, NO_MEMORY = range(7)


class Totals(Struct):
    nodes: int


class Agent:
    def save_bytes(self) -> bytes:
        return b"an agent"


async def train(
    config: TrainConfig,
    *,
    folder: RunFolder,
    progress=lambda phase, done, total: None,
) -> AsyncGenerator[IterationReport, None]:
    if config.seed == REFUSE:
        raise GameError("unknown player 'nobody'; choose random")
    checkpoint = folder.load_checkpoint(Totals)
    done = checkpoint.iteration if checkpoint else 0
    for iteration in range(done + 1, config.solver.iterations + 1):
        for step in range(5):
            progress("traverse", step, 5)
            await asyncio.sleep(0)
        if config.seed == LINGER and iteration == 3:
            print("lingering", flush=True)
            await asyncio.sleep(60)
        if config.seed == PAUSE and iteration == 3:
            print("lingering", flush=True)
            await asyncio.sleep(1)
        if config.seed == NO_MEMORY and iteration == 3:
            raise RuntimeError(
                "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate "
                "memory: you tried to allocate 4611686018427387904 bytes.\nC++ frames"
            )
        if config.seed == DIVERGE and iteration == 3:
            raise TrainingDiverged("iteration 3: the advantage loss is nan; lower learning_rate")
        if config.seed == FULL_DISK and iteration == 3:
            os.write = no_space  # type: ignore[assignment]
        report = fake_report(config, iteration)
        if report.evaluation:
            folder.save_agent(Agent())
        folder.append(report)
        folder.save_checkpoint(Checkpoint(iteration, {"a": np.ones(4)}, Totals(iteration)))
        yield report


def fake_report(config: TrainConfig, iteration: int) -> IterationReport:
    last = iteration == config.solver.iterations
    return msgspec.structs.replace(
        make_report(iteration),
        iterations=config.solver.iterations,
        evaluation=(match_against("random"), match_against("[bold]cautious")) if last else (),
    )


def no_space(descriptor: int, data: bytes) -> int:
    raise OSError(28, "No space left on device")


if __name__ == "__main__":
    from asynccfr.cli import main

    sys.modules["asynccfr.training"] = sys.modules["__main__"]
    sys.exit(main())

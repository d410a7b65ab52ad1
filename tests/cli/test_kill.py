"""A training process that is killed at random moments, twenty times over, and what comes of it."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from asynccfr.runs import RunFolder, holds_run
from tests.cli.command_line import ENVIRONMENT

KILLS = 20
CONFIG = """\
game: kuhn_poker
solver:
  iterations: 60
  traversals: 20
  sampling: {type: external}
  network: {width: 8, depth: 1}
  advantage: {memory: 500, steps: 5, batch: 32}
  average_strategy: {memory: 500, steps: 5, batch: 32}
inference: {device: cpu, deterministic: true, threads: 1}
evaluation: {deals: 2, opponents: [random]}
"""

# Imports torch once, with what its first optimiser step would import for seconds, and then runs
# each command line that it reads in a process of its own.
LAUNCHER = """
import os, sys
import torch._dynamo
import asynccfr.training
from asynccfr.cli import main
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
        os.dup2(1, 2)
        status = main(line.split())
        sys.stdout.flush()
        os._exit(status)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Launcher:
    """Starts training processes quickly."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def start(self, folder: str) -> int:
        """Train in a folder, resuming whatever is there; the process's id."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"train kuhn.yaml --out {folder} --resume\n")
        self.process.stdin.flush()
        return self.read()

    def read(self) -> int:
        """What the launcher says next: a process's id, then its status."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


@pytest.fixture
def launcher(kuhn: Path) -> Iterator[Launcher]:
    kuhn.write_text(CONFIG)
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        yield Launcher(process)


@pytest.mark.timeout(300)
def test_kill_while_training(launcher: Launcher) -> None:
    """Each process continues the run of the one before; together they do what one alone does."""
    launcher.start("quiet")
    assert launcher.read() == 0, log()
    quiet = RunFolder.open("quiet")
    last = quiet.reports()[-1]
    an_iteration = last.elapsed_seconds / last.iterations
    rng = random.Random(0)
    reached: list[int] = []
    for _ in range(KILLS):
        child = launcher.start("killed")
        wait_until_saved("killed", max(reached, default=0) + rng.randrange(3))
        time.sleep(rng.uniform(0, 1.5 * an_iteration))
        os.kill(child, signal.SIGKILL)
        assert launcher.read() == -signal.SIGKILL, log()
        reached.append(saved("killed"))
    assert reached == sorted(reached)
    assert len(set(reached)) > KILLS / 3
    launcher.start("killed")
    assert launcher.read() == 0, log()
    killed = RunFolder.open("killed")
    assert [(report.iteration, report.sample_digest) for report in killed.reports()] == [
        (report.iteration, report.sample_digest) for report in quiet.reports()
    ]
    assert killed.agent.read_bytes() == quiet.agent.read_bytes()


def saved(folder: str) -> int:
    """The iteration of the newest checkpoint; 0 before the folder holds a run."""
    return RunFolder.open(folder).saved_iteration() if holds_run(folder) else 0


def wait_until_saved(folder: str, iteration: int) -> None:
    while saved(folder) < iteration:
        time.sleep(0.005)


def log() -> str:
    return Path("log").read_text()

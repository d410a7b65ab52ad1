"""What a signal leaves behind, with the trainer of `fake_training` in a process of its own."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from asynccfr.runs import RunFolder
from tests.cli import fake_training
from tests.cli.command_line import ENVIRONMENT


@contextmanager
def lingering(kuhn: Path, seed: int) -> Iterator[subprocess.Popen[str]]:
    """A process whose training is in iteration 3."""
    command = [sys.executable, "-m", "tests.cli.fake_training", "train", str(kuhn), "--out", "a"]
    child = subprocess.Popen(
        [*command, "--set", f"seed={seed}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    with child:
        try:
            assert child.stdout is not None
            assert any(line == "lingering\n" for line in child.stdout)
            yield child
        finally:
            child.kill()


def announced(number: signal.Signals) -> str:
    how = "ends when the iteration under way is saved; again to end without it"
    return f"{number.name}: {how}\n"


def stopped(number: signal.Signals, saved: int) -> str:
    way_on = "continue with `asynccfr train --resume a`"
    return f"stopped by {number.name}: iteration {saved} of 4 is saved; {way_on}\n"


def iterations_in(path: str) -> list[int]:
    folder = RunFolder.open(path)
    with folder.lock():
        assert folder.saved_iteration() == len(folder.reports())
        return [report.iteration for report in folder.reports()]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_after_its_iteration(
    kuhn: Path, number: signal.Signals, status: int
) -> None:
    with lingering(kuhn, fake_training.PAUSE) as child:
        child.send_signal(number)
        _, stderr = child.communicate(timeout=30)
    assert child.returncode == status
    assert stderr == announced(number) + stopped(number, 3)
    assert iterations_in("a") == [1, 2, 3]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_ends_it_at_once(kuhn: Path, number: signal.Signals, status: int) -> None:
    with lingering(kuhn, fake_training.LINGER) as child:
        child.send_signal(number)
        assert child.stderr is not None
        assert child.stderr.readline() == announced(number)
        child.send_signal(number)
        _, stderr = child.communicate(timeout=30)
    assert child.returncode == status
    assert stderr == stopped(number, 2)
    assert iterations_in("a") == [1, 2]

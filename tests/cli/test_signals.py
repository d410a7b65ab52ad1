"""What a signal leaves behind, with the trainer of `fake_training` in a process of its own."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fake_training
import pytest
from command_line import ENVIRONMENT

from asynccfr.runs import RunFolder


@contextmanager
def lingering(kuhn: Path) -> Iterator[subprocess.Popen[str]]:
    """A process whose training hangs in iteration 3."""
    command = [sys.executable, fake_training.__file__, "train", str(kuhn), "--out", "a"]
    child = subprocess.Popen(
        [*command, "--set", f"seed={fake_training.LINGER}"],
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


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_in_order(kuhn: Path, number: signal.Signals, status: int) -> None:
    with lingering(kuhn) as child:
        child.send_signal(number)
        _, stderr = child.communicate(timeout=30)
    assert child.returncode == status
    assert re.fullmatch(
        rf"stopped by {number.name}: iteration 2 of 4 is saved; "
        "continue with `asynccfr train --resume a`\n",
        stderr,
    )
    folder = RunFolder.open("a")
    assert folder.saved_iteration() == 2
    with folder.lock():
        assert [report.iteration for report in folder.reports()] == [1, 2]

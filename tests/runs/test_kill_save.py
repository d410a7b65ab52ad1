"""A process killed while it saves always leaves a folder from which the next one continues."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from asynccfr.runs import RunFolder
from tests.runs.run_samples import State, assert_same, make_checkpoint

KILLS = 20

CHILD = """
import sys
from tests.runs.run_samples import State, make_checkpoint, make_report
from asynccfr.runs import RunFolder
with RunFolder.open(sys.argv[1]).lock() as folder:
    checkpoint = folder.load_checkpoint(State)
    done = checkpoint.iteration if checkpoint else 0
    assert [report.iteration for report in folder.reports()] == list(range(1, done + 1))
    print(done, flush=True)
    while True:
        done += 1
        folder.append(make_report(done))
        folder.save_checkpoint(make_checkpoint(done, size=20_000))
"""


def test_kill_while_saving(folder: RunFolder) -> None:
    rng = random.Random(0)
    resumed_at = []
    for _ in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, folder.path],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with child:
            assert child.stdout is not None
            resumed_at.append(int(child.stdout.readline()))
            time.sleep(rng.uniform(0, 0.1))
            child.send_signal(signal.SIGKILL)
            # A warning would mean that a half-written checkpoint had been taken for a whole one.
            assert child.communicate()[1] == ""
    assert resumed_at == sorted(resumed_at)
    assert resumed_at[-1] > 0
    with folder.lock():
        checkpoint = folder.load_checkpoint(State)
        assert checkpoint is not None
        assert_same(checkpoint, make_checkpoint(checkpoint.iteration, size=20_000))

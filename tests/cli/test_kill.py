"""A training process that is killed at random moments, and what comes of it in the end."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from asynccfr.runs import RunFolder

pytest.importorskip("asynccfr.reservoir")

KILLS = 20
CONFIG = """\
game: kuhn_poker
solver:
  iterations: 100
  traversals: 20
  sampling: {type: external}
  network: {width: 8, depth: 1}
  advantage: {memory: 1000, steps: 20, batch: 32}
  average_strategy: {memory: 1000, steps: 20, batch: 32}
inference: {device: cpu, deterministic: true, threads: 1}
evaluation: {deals: 2, opponents: [random]}
"""


@pytest.mark.timeout(300)
def test_kill_while_training(kuhn: Path) -> None:
    """Every process continues the run of the one before, and the result is that of a quiet run."""
    kuhn.write_text(CONFIG)
    rng = random.Random(0)
    for _ in range(KILLS):
        child = start(kuhn, "killed")
        with child:
            assert child.stdout is not None
            # Killed between the start of training and, at the latest, some iterations later.
            for line in child.stdout:
                if line.startswith("training on"):
                    break
            time.sleep(rng.uniform(0, 3))
            child.send_signal(signal.SIGKILL)
    finish("killed", kuhn)
    finish("quiet", kuhn)
    killed, quiet = (RunFolder.open(name).reports() for name in ("killed", "quiet"))
    assert [report.iteration for report in killed] == list(range(1, len(quiet) + 1))
    assert [report.sample_digest for report in killed] == [report.sample_digest for report in quiet]
    assert (
        Path("killed/agent.safetensors").read_bytes()
        == Path("quiet/agent.safetensors").read_bytes()
    )


def start(config: Path, folder: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", "-m", "asynccfr", "train", str(config), "--out", folder]
    return subprocess.Popen([*command, "--resume"], stdout=subprocess.PIPE, text=True)


def finish(folder: str, config: Path) -> None:
    with start(config, folder) as child:
        stdout, _ = child.communicate()
    assert child.returncode == 0, stdout

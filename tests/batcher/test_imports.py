"""What importing the batcher costs a program that only wants to batch."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "numpy", "msgspec", "matplotlib", "asynccfr.games", "asynccfr.config", "rich")


def loaded_after(statement):
    code = f"{statement}\nimport sys; print(*[m for m in {HEAVY} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


@pytest.mark.parametrize(
    "statement", ["import asynccfr.batcher", "from asynccfr import Batcher; Batcher"]
)
def test_importing_the_batcher_loads_nothing_heavy(statement):
    assert loaded_after(statement) == []

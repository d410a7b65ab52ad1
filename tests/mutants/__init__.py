"""Known mistakes by room, each of which a test catches: `python -m tests.mutants [NAME ...]`."""

from tests.mutants import batcher, runs, training
from tests.mutants.mutant import Mutant

MUTANTS = training.MUTANTS + batcher.MUTANTS + runs.MUTANTS

__all__ = ["MUTANTS", "Mutant"]

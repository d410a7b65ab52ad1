"""Known mistakes by room, each of which a test catches: `python -m tests.mutants [NAME ...]`."""

from tests.mutants import training
from tests.mutants.mutant import Mutant

MUTANTS = training.MUTANTS

__all__ = ["MUTANTS", "Mutant"]

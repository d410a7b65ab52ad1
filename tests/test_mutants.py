"""The mutants can still be planted: what each replaces is there, once."""

import pytest

from .mutants import MUTANTS, ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_replaces_is_there_once(mutant):
    assert (ROOT / mutant.file).read_text().count(mutant.before) == 1
    assert (ROOT / mutant.test.split()[0]).exists()

"""Stubs carry the docstrings of what they describe; that the types agree is stubtest's to say."""

import ast
from pathlib import Path

import pytest

from tests.stubs import ROOT, STUBS, definitions, with_docstrings


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: str(stub.relative_to(ROOT)))
def test_editors_show_the_docstrings_of_what_is_compiled(stub: Path) -> None:
    for name, node, docstring in definitions(stub, stub.read_text()):
        if docstring:
            assert ast.get_docstring(node) == docstring, f"{name}: run `python -m tests.stubs`"


def test_docstrings_are_written_where_there_were_none_or_others() -> None:
    stub = ROOT / "asynccfr" / "seeding.pyi"
    bare = '''
class Rng:
    """Something else,

    at length.
    """
    def clone(self) -> Rng: ...

def stream(
    seed: int, path: int = 1
) -> Rng: ...
'''
    written = with_docstrings(stub, bare)
    found = {
        name: (ast.get_docstring(node), wanted) for name, node, wanted in definitions(stub, written)
    }
    assert len(found) == 3
    assert all(there == wanted and wanted for there, wanted in found.values())

"""The public page is the whole promise: editors see what there is of it, docs use no more."""

import ast
import re
from pathlib import Path

import pytest

import asynccfr

ROOT = Path(asynccfr.__file__).parents[1]
DOCS = [ROOT / "README.md", *sorted((ROOT / "asynccfr").rglob("*.md"))]
PROGRAMS = [
    pytest.param(program, id=f"{path.relative_to(ROOT)}-{number}")
    for path in DOCS
    for number, program in enumerate(
        re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    )
]


def imported_for_editors() -> dict[str, str]:
    """The names of the page and their modules, as type checkers see them."""
    (block,) = (
        node
        for node in ast.parse(Path(asynccfr.__file__).read_text()).body
        if isinstance(node, ast.If)
    )
    return {
        alias.name: str(statement.module)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def test_every_name_is_there_and_documented() -> None:
    for name in asynccfr.__all__:
        assert getattr(asynccfr, name).__doc__, name


def test_editors_see_what_there_is() -> None:
    rooms = dict.fromkeys(asynccfr.ROOMS, "asynccfr")
    assert imported_for_editors() == asynccfr.HOMES | rooms


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_the_docs_import_from_the_page_only(program: str) -> None:
    for node in ast.walk(ast.parse(program)):
        modules = [
            alias.name for alias in getattr(node, "names", ()) if isinstance(node, ast.Import)
        ]
        if isinstance(node, ast.ImportFrom) and node.module:
            modules.append(node.module)
            if node.module == "asynccfr":
                assert {alias.name for alias in node.names} <= set(asynccfr.__all__)
        assert not [module for module in modules if module.startswith("asynccfr.")]

"""Writes the docstrings of compiled modules into their stubs, where editors look for them.

`python -m tests.stubs` does so for all; what to do after a docstring of a `.pyx` file was changed.
"""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
STUBS = sorted((ROOT / "asynccfr").rglob("*.pyi"))


class Definition(NamedTuple):
    """A class or function of a stub, and its docstring where it is compiled, if it has any."""

    name: str
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstring: str


def definitions(stub: Path, text: str) -> Iterator[Definition]:
    """Every class and function of a stub; not the methods that Python gives a docstring itself."""
    name = ".".join(stub.relative_to(ROOT).with_suffix("").parts)
    yield from defined(ast.parse(text).body, import_module(name), name)


def defined(body: list[ast.stmt], owner: object, path: str) -> Iterator[Definition]:
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        found = vars(owner).get(node.name)  # what is inherited has its docstring in another stub
        docstring = "" if node.name.startswith("__") else getattr(found, "__doc__", None) or ""
        name = f"{path}.{node.name}"
        yield Definition(name, node, inspect.cleandoc(docstring))
        if isinstance(node, ast.ClassDef):
            yield from defined(node.body, found, name)


def with_docstrings(stub: Path, text: str) -> str:
    """The text of a stub with the docstrings of what is compiled, in the place of its own."""
    lines = text.splitlines()
    found = [definition for definition in definitions(stub, text) if definition.docstring]
    for _, node, docstring in sorted(found, key=lambda each: -each.node.lineno):
        first = node.body[0]
        at = min(part.lineno for part in (first, *getattr(first, "decorator_list", ()))) - 1
        if ast.get_docstring(node) is not None:
            del lines[at : first.end_lineno]
        elif is_ellipsis(first):
            lines[at] = lines[at][: first.col_offset].rstrip()
            at += 1
        end = '\n"""' if "\n" in docstring else '"""'
        escaped = docstring.replace("\\", "\\\\")
        margin = " " * (node.col_offset + 4)
        lines[at:at] = indent(f'"""{escaped}{end}', margin).splitlines()
    return "\n".join(lines) + "\n"


def is_ellipsis(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and node.value.value is ...
    )


def main() -> None:
    """Write the docstrings into all stubs."""
    for stub in STUBS:
        stub.write_text(with_docstrings(stub, stub.read_text()))
    subprocess.run([sys.executable, "-m", "ruff", "format", *map(str, STUBS)], check=True)


if __name__ == "__main__":
    main()

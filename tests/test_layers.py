"""Imports go downward only, and the batcher stands alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "asynccfr"

# Rooms from the ground up: a module imports from its own room and from floors below.
FLOORS = [
    ["build", "errors", "awaiting", "seeding", "event_loop", "reports"],
    ["storage"],
    ["config", "batcher", "games"],
    ["cfr", "exact", "networks", "runs"],
    ["learning", "agents", "inference"],
    ["players", "solvers"],
    ["evaluation", "profiling", "cluster"],
    ["training"],
    ["web"],
    ["cli"],
    ["__main__"],
]
LAYERS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def room(module: str) -> str | None:
    """The room of a dotted module of the package; None outside of it."""
    if not module.startswith("asynccfr."):
        return None
    name = module.split(".")[1]
    assert name in LAYERS, f"{module} is in no room; add it to FLOORS"
    return name


def imports(path: Path):
    """The modules that a source file imports, Cython's cimports included."""
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
        return
    for line in path.read_text().splitlines():
        words = line.split()
        if words[:1] == ["from"] and ("import" in words or "cimport" in words):
            yield words[1]


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(PACKAGE.rglob("*.py*")) if p.suffix in (".py", ".pyx", ".pxd")],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_imports_go_downward(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts == ("__init__",):
        return
    own = parts[0]
    for module in imports(path):
        other = room(module)
        assert other in (None, own) or LAYERS[other] < LAYERS[own], (
            f"{path} (floor {LAYERS[own]}) imports {module} (floor {LAYERS[other]})"
        )


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("asynccfr.batcher", ["torch", "asynccfr.games", "msgspec"]),
        ("asynccfr.games", ["torch", "asyncio", "msgspec"]),
        ("asynccfr.cfr.walk", ["torch", "asyncio", "msgspec"]),
        ("asynccfr.cli", ["torch"]),
    ],
)
def test_importing_stays_light(module, forbidden):
    code = f"import sys, {module}; print([m for m in {forbidden} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

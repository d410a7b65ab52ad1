"""Imports go downward only, and the batcher stands alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "asynccfr"

# The layer of a module is that of its longest prefix here.
LAYERS = {
    "errors": 0,
    "awaiting": 0,
    "seeding": 0,
    "config": 0,
    "config_yaml": 0,
    "config_schema": 0,
    "config_files": 0,
    "event_loop": 0,
    "intervals": 0,
    "ratings": 0,
    "reports": 0,
    "games": 1,
    "cfr": 1,
    "cfr.traversal": 2,
    "cfr.crew": 2,
    "cfr.plan": 2,
    "cfr.best_response": 2,
    "cfr.tabular": 2,
    "batcher": 2,
    "reservoir": 2,
    "merged": 2,
    "networks": 2,
    "fitting": 2,
    "agents": 2,
    "profiles": 2,
    "network_history": 2,
    "openspiel_policy": 2,
    "inference": 3,
    "players": 3,
    "arena": 3,
    "solvers": 4,
    "runs": 4,
    "plots": 4,
    "training": 4,
    "exploit": 4,
    "profiling": 4,
    "cli": 5,
    "__main__": 5,
}


def layer(module: str) -> int | None:
    """The layer of a dotted module below the package; None outside of it."""
    if not module.startswith("asynccfr."):
        return None
    parts = module.split(".")[1:]
    for end in range(len(parts), 0, -1):
        if (name := ".".join(parts[:end])) in LAYERS:
            return LAYERS[name]
    raise AssertionError(f"{module} is in no layer; add it to LAYERS")


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
    own = layer(".".join(["asynccfr", *(p for p in parts if p != "__init__")]))
    for module in imports(path):
        below = layer(module)
        assert below is None or below <= own, f"{path} (layer {own}) imports {module} ({below})"


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

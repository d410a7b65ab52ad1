"""Plants known mistakes one at a time.

Each mutant replaces a piece of one source file in a copy of the tree, rebuilds what is compiled,
and runs the test that is meant to catch it. It is caught when that test fails, and fails as a test:
a mutant that does not build, that breaks the imports of its test, or whose piece is not found
exactly once, ends the script. First the same tests must pass in an unchanged copy.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import click
from rich.console import Console
from rich.table import Table

from tests.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
BUILD = "from setuptools import setup; setup()"
SECONDS = 300
PASSED, FAILED = 0, 1  # pytest's exit codes


class Copy:
    """A copy of the tree in which mutants are planted one at a time, and its tests run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        ignored = shutil.ignore_patterns(".*", "__pycache__")
        for name in ("asynccfr", "tests", "benchmarks", "configs"):
            shutil.copytree(ROOT / name, path / name, ignore=ignored)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy2(ROOT / name, path / name)
        self.build()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def build(self) -> None:
        """Compile what is older than its source."""
        done = self.run("-W", "ignore", "-c", BUILD, "build_ext", "--inplace")
        if done.returncode:
            raise click.ClickException(f"the copy does not build:\n{done.stdout}{done.stderr}")

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """Plant a mutant, and take it out again with all that was compiled from it."""
        source = self.path / mutant.file
        original = source.read_text()
        if original.count(mutant.before) != 1:
            raise click.ClickException(
                f"{mutant.name}: found {original.count(mutant.before)} times in {mutant.file}, "
                f"expected once: {mutant.before}"
            )
        with tempfile.TemporaryDirectory() as kept:
            files = list(source.parent.glob(f"{source.stem}.*"))
            for file in files:
                shutil.copy2(file, kept)
            try:
                source.write_text(original.replace(mutant.before, mutant.after))
                if source.suffix == ".pyx":
                    self.build()
                yield
            finally:
                for file in files:
                    shutil.copy2(Path(kept) / file.name, file)

    def test(self, selection: str) -> subprocess.CompletedProcess[str]:
        path, *options = selection.split(maxsplit=2)
        return self.run("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", path, *options)

    def catches(self, mutant: Mutant) -> bool:
        """Whether the mutant's test fails with the mutant in place."""
        with self.planted(mutant):
            done = self.test(mutant.test)
        if done.returncode not in (PASSED, FAILED):
            raise click.ClickException(f"{mutant.name}: no test failed as a test:\n{done.stdout}")
        return done.returncode == FAILED


def chosen(names: Sequence[str]) -> list[Mutant]:
    """The mutants whose name contains one of `names`; all without names."""
    found = [m for m in MUTANTS if not names or any(name in m.name for name in names)]
    if not found:
        raise click.ClickException(f"no mutant is called {' or '.join(names)}")
    return found


@click.command()
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Plant the mutants whose name contains one of NAMES (default: all); fail if one survives."""
    mutants = chosen(names)
    table = Table("mutant", "file", "caught by", "seconds", "verdict")
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for selection in dict.fromkeys(mutant.test for mutant in mutants):
            if (done := copy.test(selection)).returncode:
                raise click.ClickException(f"fails without a mutant: {selection}\n{done.stdout}")
        for mutant in mutants:
            started = perf_counter()
            caught = copy.catches(mutant)
            survivors += not caught
            seconds = f"{perf_counter() - started:.1f}"
            verdict = "caught" if caught else "SURVIVES"
            table.add_row(mutant.name, mutant.file, mutant.test, seconds, verdict)
            print(f"{verdict}: {mutant.name}", file=sys.stderr)
    Console().print(table)
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()

"""Without extras the package is the batcher; what is used beyond names the extra that it takes."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import asynccfr
from asynccfr.errors import EXTRAS, MissingPackage, needed_by

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOT_FOR_USERS = {"all", "bench", "test"}
OF_THE_BATCHER = {*asynccfr.PAGE["asynccfr.batcher"], "Rng", "errors", "run"}
OF_OTHERS = {
    "BatcherCollector": "prometheus",
    "to_openspiel_policy": "open_spiel",
    "from_openspiel_policy": "open_spiel",
}
IMPORT_ALL = """
import asynccfr, json
found = {}
for name in asynccfr.__all__:
    try:
        getattr(asynccfr, name)
    except ImportError as error:
        found[name] = str(error)
print(json.dumps(found))
"""

Python = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def python(tmp_path: Path) -> Python:
    """Runs Python where there are the standard library, asynccfr and `packages`, and no more."""

    def run(*arguments: object, packages: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        library = tmp_path / "library"
        library.mkdir()
        for name in ("asynccfr", *packages):
            home = Path(__import__(name).__file__ or "").parent
            for part in (home, home.with_name(f"{name}.libs")):
                (library / part.name).symlink_to(part)
        return subprocess.run(
            [sys.executable, "-S", "-W", "error", *map(str, arguments)],
            env={"PYTHONPATH": str(library)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


@pytest.mark.parametrize(
    ("example", "printed"), [("basics", "[4, 6, 3, 5]"), ("decorated", "[0.5, 1.5]")]
)
def test_the_batcher_needs_no_other_package(python: Python, example: str, printed: str) -> None:
    done = python(ROOT / "tests" / "batcher" / "examples" / f"{example}.py")
    assert (done.stdout.strip(), done.stderr) == (printed, "")


def test_the_command_line_names_its_extra(python: Python) -> None:
    done = python("-m", "asynccfr", "train", "x")
    assert done.returncode == 2
    assert done.stderr == (
        "error: the command line needs click, which is not installed: "
        "pip install 'asynccfr[train]'\n"
    )


def extra_of(name: str) -> str | None:
    """The extra that a name of the public page takes."""
    if name in OF_THE_BATCHER:
        return None
    if name in OF_OTHERS:
        return OF_OTHERS[name]
    room = asynccfr.HOMES.get(name, "asynccfr.config").split(".")[1]
    return "games" if room in asynccfr.WITH_GAMES else "train"


def test_the_public_page_names_the_extras(python: Python) -> None:
    missing = json.loads(python("-c", IMPORT_ALL).stdout)
    expected = {name: extra for name in asynccfr.__all__ if (extra := extra_of(name))}
    assert missing.keys() == expected.keys()
    for name, extra in expected.items():
        assert re.match(rf"asynccfr\.{name} needs \w+, which is not installed", missing[name])
        assert missing[name].endswith(f": pip install 'asynccfr[{extra}]'")


def test_games_need_no_more_than_their_extra(python: Python) -> None:
    missing = json.loads(python("-c", IMPORT_ALL, packages=EXTRAS["games"]).stdout)
    assert not [name for name in missing if extra_of(name) == "games"]
    assert "train" in missing


@pytest.mark.parametrize(
    ("package", "arguments"),
    [("torch", ["play"]), ("matplotlib", ["train", "kuhn.yaml"]), ("yaml", ["train", "kuhn.yaml"])],
)
def test_a_command_that_lacks_a_package_names_the_extra(
    package: str, arguments: list[str], tmp_path: Path
) -> None:
    (tmp_path / "kuhn.yaml").write_text("game: kuhn_poker\nsolver: {iterations: 1}\n")
    code = f"import sys; sys.modules[{package!r}] = None; from asynccfr.cli import main"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; sys.exit(main())", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    extra = "plots" if package == "matplotlib" else "train"
    assert done.returncode == 2
    assert re.fullmatch(rf"error: .* needs {package}, .* 'asynccfr\[{extra}\]'\n", done.stderr)
    assert not list(tmp_path.glob("runs/*"))


def test_modules_of_nobody_are_told_as_they_are() -> None:
    with pytest.raises(ModuleNotFoundError, match="^No module named 'nobodys'$"), needed_by("this"):
        __import__("nobodys")
    with pytest.raises(MissingPackage, match="'asynccfr") as caught, needed_by("this"):
        raise ModuleNotFoundError(name="open_spiel.python")
    assert isinstance(caught.value, ImportError)


def test_nothing_is_required() -> None:
    assert PROJECT["dependencies"] == []


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"].keys() - NOT_FOR_USERS))
def test_the_extras_bring_what_is_missing(extra: str) -> None:
    brought = {
        re.match(r"[\w-]+", requirement)[0].lower().replace("-", "_")
        for requirement in PROJECT["optional-dependencies"][extra]
    }
    homes = packages_distributions()
    for package in EXTRAS[extra]:
        assert {
            home.lower().replace("-", "_") for home in homes.get(package, [package])
        } & brought, package

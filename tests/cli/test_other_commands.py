import subprocess
import sys
from pathlib import Path

import pytest

from asynccfr.cli import COMMANDS
from asynccfr.config.files import dump, load_config
from asynccfr.config.schema import walk
from asynccfr.games.registry import GAMES
from tests.cli.command_line import ENVIRONMENT, Run


def test_the_commands_are_listed(run: Run) -> None:
    for arguments in ([], ["--help"]):
        result = run(*arguments)
        assert result.status == 0
        assert all(name in result.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(run: Run, name: str) -> None:
    pytest.importorskip(f"asynccfr.cli.{name}")
    result = run(name, "--help")
    assert result.status == 0
    assert result.stdout.startswith(f"Usage: asynccfr {name}")


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["config", "--explain"]])
def test_help_does_not_wait_for_torch(arguments: list[str]) -> None:
    script = (
        "import sys; from asynccfr.cli import main; status = main(sys.argv[1:]);"
        "sys.exit(status or 3 * ('torch' in sys.modules or 'matplotlib' in sys.modules))"
    )
    child = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, env=ENVIRONMENT
    )
    assert child.returncode == 0, child.stderr


def test_config_shows_every_default(run: Run, kuhn: Path) -> None:
    result = run("config", kuhn, "--set", "seed=3")
    assert result.stdout == dump(load_config(kuhn, ["seed=3"]))
    Path("again.yaml").write_text(result.stdout)
    assert run("config", "again.yaml").stdout == result.stdout


def test_config_explains_every_field(run: Run) -> None:
    stdout = run("config", "--explain").stdout
    for field in walk():
        assert f"{field.path}" in stdout
    assert (
        "solver.sampling.epsilon (type: deep_cfr, outcome): a number > 0 and <= 1; default"
        in stdout
    )
    assert "game: a text; required" in stdout


def test_the_games_are_listed(run: Run) -> None:
    stdout = run("games").stdout
    assert all(f"{name}: " in stdout for name in GAMES)
    assert "hand_size: an integer from 1 to " in stdout


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[2].glob("configs/*.yaml")), ids=str)
def test_the_configurations_that_come_along_are_good(run: Run, path: Path) -> None:
    assert run("config", path).status == 0


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m asynccfr config --explain | head -1"
    child = subprocess.run(command, shell=True, capture_output=True, text=True, env=ENVIRONMENT)
    assert (child.stdout.count("\n"), child.stderr) == (1, "")

"""Run folders and files that a stranger made, and errors that are known before any work."""

import os
import re
import sys
from pathlib import Path

import msgspec
import pytest

from asynccfr import __version__
from asynccfr.config.files import load_config
from asynccfr.runs import RunFolder
from tests.agents.crafted import craft
from tests.cli.command_line import Run
from tests.cli.test_bad_inputs import assert_one_line, content
from tests.solvers.small import small_config

OWN = "ownpoker:Poker"


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is there once the module of a game in the current folder was imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ownpoker", raising=False)
    told = tmp_path / "imported"
    Path("ownpoker.py").write_text(
        f"open({str(told)!r}, 'w').close()\n"
        "from asynccfr.games.openspiel import OpenSpielGame\n"
        "class Poker(OpenSpielGame):\n"
        "    def __init__(self):\n"
        "        super().__init__('kuhn_poker')\n"
        "    def __str__(self):\n"
        "        return 'ownpoker:Poker'\n"
    )
    return told


def refuses(run: Run, cause: str, *arguments: str | Path, status: int = 1) -> None:
    result = run(*arguments)
    assert_one_line(result.stderr, cause)
    assert result.status == status


def test_showing_a_configuration_imports_and_opens_nothing(run: Run, imported: Path) -> None:
    for game in (OWN, "openspiel:efg_game(filename=/dev/zero)"):
        Path("own.yaml").write_text(f"game: {game}\n")
        shown = run("config", "own.yaml")
        assert (shown.status, shown.stderr) == (0, "")
        assert f"game: {game}" in shown.stdout
    assert not imported.exists()


def test_a_run_is_not_resumed_with_code_that_only_it_names(run: Run, imported: Path) -> None:
    Path("own.yaml").write_text(f"game: {OWN}\nsolver: {{iterations: 2}}\n")
    RunFolder.create("a", load_config("own.yaml"))
    before = content(Path("a"))
    refuses(run, f"names the game '{OWN}'", "train", "--resume", "a")
    refuses(run, f"--game '{OWN}'", "train", "--resume", "a", "--set", "seed=0")
    assert not imported.exists()
    assert content(Path("a")) == before
    result = run("train", "--resume", "a", "--game", OWN)
    assert (result.status, result.stderr) == (0, "")
    assert imported.exists()
    assert f"asynccfr train --resume a --game {OWN} --set" in result.stdout
    assert f"asynccfr evaluate a --game {OWN}" in result.stdout


@pytest.mark.parametrize("command", ["evaluate", "play", "exploit", "exploitability"])
def test_no_command_plays_a_game_that_only_an_agent_names(
    run: Run, imported: Path, command: str
) -> None:
    Path("a").mkdir()
    craft(Path("a/agent.safetensors"), game=OWN)
    refuses(run, "a/agent.safetensors: names the game", command, "a")
    assert not imported.exists()


@pytest.mark.parametrize("command", ["exploit", "exploitability"])
def test_the_game_of_an_agent_can_be_named_by_hand(run: Run, imported: Path, command: str) -> None:
    craft(Path("agent"), game="kuhn_poker")
    refuses(
        run,
        f"an agent of kuhn_poker, expected one of --game {OWN}",
        command,
        "agent",
        "--game",
        OWN,
    )


def make(kind: str, path: Path) -> None:
    path.unlink(missing_ok=True)
    match kind:
        case "link":
            Path("elsewhere").write_text("precious")
            path.symlink_to(Path("elsewhere").absolute())
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "link to a folder":
            Path("folder").mkdir()
            path.symlink_to(Path("folder").absolute())


@pytest.mark.parametrize("kind", ["link", "fifo", "device", "link to a folder"])
@pytest.mark.parametrize(
    "name", ["config.yaml", "metrics.jsonl", "lock", "agent.safetensors", "checkpoints", "plots",
             ".config.yaml.tmp", "checkpoints/00000001", "checkpoints/.00000001.tmp"]
)  # fmt: skip
def test_a_run_of_links_and_pipes_is_neither_read_nor_written_through(
    run: Run, kuhn: Path, name: str, kind: str
) -> None:
    RunFolder.create("a", load_config(kuhn))
    path = Path("a", name)
    path.parent.mkdir(exist_ok=True)
    make(kind, path)
    before = content(Path.cwd())
    for arguments in (["train", "--resume", "a"], ["train", kuhn, "--out", "a", "--resume"]):
        result = run(*arguments)
        assert_one_line(result.stderr, "a")
        assert result.status == 1
    assert content(Path.cwd()) == before


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_a_configuration_that_is_no_file(run: Run, kuhn: Path, kind: str) -> None:
    make(kind, kuhn)
    refuses(run, "kuhn.yaml: cannot be read: not a regular file", "config", kuhn)


def test_a_configuration_larger_than_any(run: Run, kuhn: Path) -> None:
    kuhn.write_text("#" * 2_000_000)
    refuses(run, "kuhn.yaml: cannot be read: more than 1,048,576 bytes", "config", kuhn)


def test_toml_beyond_all_bounds(run: Run, kuhn: Path) -> None:
    for text in ("a = " + "[" * 10_000, "a = " + "9" * 10_000):
        Path("a.toml").write_text(text)
        refuses(run, "a.toml: not valid TOML", "config", "a.toml")


def test_nothing_that_a_file_says_steers_the_terminal(run: Run, kuhn: Path) -> None:
    kuhn.write_text('game: "\\e[2Jkuhn"\n')
    result = run("train", kuhn)
    assert_one_line(result.stderr, "kuhn")
    assert "\x1b" not in result.stderr


def test_runs_that_start_in_the_same_second(
    run: Run, kuhn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.strftime", lambda pattern: "now")
    for name in ("kuhn-now", "kuhn-now-2", "kuhn-now-3"):
        assert run("train", kuhn).status == 0
        assert Path("runs", name, "config.yaml").is_file()


@pytest.mark.parametrize("minutes", ["nan", "inf", "-inf", "0", "-1", "1e400"])
def test_minutes_that_are_none(run: Run, minutes: str) -> None:
    refuses(run, "--minutes", "exploit", "champion", f"--minutes={minutes}", status=2)


@pytest.mark.parametrize("option", ["--out", "--json"])
def test_an_exploiter_has_a_place_before_it_trains(run: Run, kuhn: Path, option: str) -> None:
    craft(Path("agent"))
    for place, cause in (("no/where", "no folder no"), (".", "is a folder")):
        refuses(run, cause, "exploit", "agent", option, place)


async def test_files_say_which_version_wrote_them(tmp_path: Path) -> None:
    from asynccfr.agents import Agent
    from asynccfr.training import Totals, train

    folder = RunFolder.create(tmp_path / "a", small_config(solver__iterations=1))
    with folder.lock():
        async for _ in train(folder.config, folder=folder):
            pass
    assert f"# asynccfr {__version__}\n" in (folder.path / "config.yaml").read_text()
    assert folder.reports()[0].version == __version__
    assert Agent.load(folder.path).card.version == __version__
    manifest = next(folder.path.glob("checkpoints/*/manifest.json")).read_bytes()
    assert msgspec.json.decode(manifest)["manifest"]["version"] == __version__
    assert Totals.__struct_fields__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)

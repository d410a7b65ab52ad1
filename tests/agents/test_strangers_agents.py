"""Agent files that a stranger made: refused in one line, and nothing that they name is touched."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from asynccfr.agents import Agent, MixtureAgent
from asynccfr.errors import CheckpointError, GameError
from asynccfr.games import load_game
from asynccfr.games.allowed import OPENSPIEL_GAMES, load_allowed
from asynccfr.runs.folder import AGENT
from tests.agents.crafted import KUHN, craft, mixture_rows, parameters

NAMES = {
    "a file": "openspiel:efg_game(filename=/dev/zero)",
    "a wrapped file": "openspiel:turn_based_simultaneous_game(game=nfg_game(filename=/dev/zero))",
    "a wrapper": "openspiel:repeated_game(stage_game=matrix_rps(),num_repetitions=10)",
    "absurd poker": "openspiel:universal_poker(numRanks=1000000,numSuits=4)",
    "absurd dice": "openspiel:liars_dice(numdice=1000000)",
    "absurd cards": "openspiel:goofspiel(num_cards=100000)",
    "python of OpenSpiel's": "openspiel:python_kuhn_poker",
    "a module": "this_module_must_not_be_imported:Game",
    "a module with a space": " antigravity :Game",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_an_agent_names_no_game_but_allowed_ones(tmp_path: Path, name: str) -> None:
    path = craft(tmp_path / "agent.safetensors", game=name)
    with pytest.raises(GameError, match="no file may have loaded.*--game"):
        Agent.load(path)
    assert "antigravity" not in sys.modules


def test_whoever_names_such_a_game_by_hand_may_play_it(tmp_path: Path) -> None:
    game = load_game("openspiel:repeated_leduc_poker(num_hands=1)")
    with pytest.raises(GameError, match="--game"):
        Agent.load(craft(tmp_path / "a", game=str(game)))
    with pytest.raises(CheckpointError, match="do not fit"):  # but Kuhn's parameters
        Agent.load(tmp_path / "a", game)


@pytest.mark.parametrize("name", OPENSPIEL_GAMES)
def test_allowed_games_of_openspiel_load_within_their_bounds(name: str) -> None:
    for bound in ("default", "low", "high"):
        given = ",".join(f"{p.name}={getattr(p, bound)}" for p in OPENSPIEL_GAMES[name])
        text = f"openspiel:{name}({given})"
        assert load_allowed(text, "here").information_state_tensor_size > 0


@pytest.mark.parametrize("kind", ["fifo", "device", "link to a device", "folder", "nothing"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / AGENT
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "device":
            path = Path("/dev/zero")
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
    with pytest.raises(CheckpointError, match=r"not a readable agent file: \S"):
        Agent.load(path)


def test_an_agent_loads_from_the_folder_of_its_run(tmp_path: Path) -> None:
    craft(tmp_path / AGENT)
    assert isinstance(Agent.load(tmp_path), Agent)
    assert isinstance(Agent.load(str(tmp_path)), Agent)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_do_not_play(tmp_path: Path, number: float) -> None:
    for name, array in parameters().items():
        arrays = parameters() | {name: np.full_like(array, number)}
        with pytest.raises(CheckpointError, match=f"{name} holds numbers that are not finite"):
            Agent.load(craft(tmp_path / "agent", arrays))
    rows = mixture_rows()
    rows["rows"][1, 3] = number
    with pytest.raises(CheckpointError, match="rows holds numbers that are not finite"):
        Agent.load(craft(tmp_path / "agent", rows, mixture=True))


MISFITS = {
    "another shape": {"biases.0": np.zeros(9, np.float32)},
    "more dimensions": {"biases.0": np.zeros((8, 1), np.float32)},
    "none": {"biases.0": np.zeros((), np.float32)},
    "doubles": {"biases.0": np.zeros(8)},
    "halves": {"biases.0": np.zeros(8, np.float16)},
    "integers": {"biases.0": np.zeros(8, np.int32)},
    "one more": {"bias.9": np.zeros(8, np.float32)},
}


@pytest.mark.parametrize("change", MISFITS.values(), ids=MISFITS)
def test_parameters_that_do_not_fit(tmp_path: Path, change: dict[str, np.ndarray]) -> None:
    with pytest.raises(CheckpointError, match="parameters do not fit kuhn_poker"):
        Agent.load(craft(tmp_path / "agent", parameters() | change))


@pytest.mark.parametrize(
    "rows", [np.zeros((0, 9)), np.zeros((2, 9)), np.zeros(9), np.zeros(()), np.zeros((2, 9, 1))]
)
def test_mixtures_that_do_not_fit(tmp_path: Path, rows: np.ndarray) -> None:
    path = craft(tmp_path / "agent", {"rows": rows.astype(np.float32)}, mixture=True)
    with pytest.raises(CheckpointError, match="parameters do not fit"):
        Agent.load(path)
    assert isinstance(Agent.load(craft(path, mixture_rows(), mixture=True)), MixtureAgent)


def test_a_card_of_a_huge_network_takes_no_memory(tmp_path: Path) -> None:
    huge = {"type": "mlp", "width": 65536, "depth": 100}
    for arrays, mixture in ((parameters(), False), (mixture_rows(), True)):
        path = craft(tmp_path / "agent", arrays, network=huge, mixture=mixture)
        with pytest.raises(CheckpointError, match="parameters do not fit"):
            Agent.load(path)


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn"])
def test_kinds_of_numbers_that_are_not_read(tmp_path: Path, kind: str) -> None:
    card = {"asynccfr_agent": "{}"}
    save_file({"a": torch.zeros(4).to(getattr(torch, kind))}, tmp_path / "a", card)
    with pytest.raises(CheckpointError, match=r"array a: of type (BF16|F8_E4M3), expected one of"):
        Agent.load(tmp_path / "a")


def test_a_card_says_which_version_wrote_it(tmp_path: Path) -> None:
    assert Agent.load(craft(tmp_path / "agent", version="9.9")).card.version == "9.9"
    assert KUHN.version == "unknown"

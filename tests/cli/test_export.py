"""`asynccfr export`: another runtime computes what torch does."""

import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from asynccfr.agents import Agent, AgentCard
from asynccfr.agents.agent import CARD, zero_network
from asynccfr.config import EquivariantNetwork, MultilayerPerceptron
from asynccfr.games import load_game
from asynccfr.networks import InferenceCopy
from asynccfr.players.registry import agent_path
from tests.agents.crafted import craft, mixture, parameters
from tests.cli.command_line import Run

KUHN, LOST_CITIES = "kuhn_poker", "lost_cities(colors=3)"


def random_agent(path: Path, game: str, size: MultilayerPerceptron | EquivariantNetwork) -> Path:
    """The file of an agent whose parameters are all random, and no output 0."""
    card = AgentCard(game=game, rule="softmax", network=size, seed=0, iterations=1, nodes=1)
    rng = np.random.default_rng(1)
    network = zero_network(card, load_game(game))
    for parameter in network.parameters():
        parameter.data = torch.from_numpy(rng.normal(0, 0.3, parameter.shape).astype(np.float32))
    path.write_bytes(Agent(card, network, load_game(game)).save_bytes())
    return path


@pytest.mark.parametrize(
    ("game", "size"),
    [
        (KUHN, MultilayerPerceptron(width=32, depth=2)),
        (LOST_CITIES, EquivariantNetwork(width=16)),
        (None, None),
    ],
    ids=["mlp", "equivariant", "champion"],
)
def test_onnxruntime_computes_what_torch_does(run: Run, tmp_path: Path, game, size) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    agent = "champion" if game is None else random_agent(tmp_path / "a.safetensors", game, size)
    file = tmp_path / "agent.onnx"
    result = run("export", agent, "--onnx", file)
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{file}: rows float32 [n, ")
    assert [each.name for each in tmp_path.glob("agent.onnx*")] == ["agent.onnx"]

    loaded = Agent.load(agent_path(str(agent)))
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    infer, rng = InferenceCopy(loaded.network), np.random.default_rng(2)
    for n in (1, 2, 3, 200):
        rows = rng.random((n, loaded.game.information_state_tensor_size), np.float32)
        (outputs,) = session.run(["outputs"], {"rows": rows})
        expected = infer(torch.from_numpy(rows)).numpy()
        assert outputs.shape == (n, loaded.game.num_actions)
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-4)
    card = session.get_modelmeta().custom_metadata_map[CARD]
    assert msgspec.json.decode(card, type=AgentCard) == loaded.card


def test_a_mixture_is_refused(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    path = tmp_path / "mixture.safetensors"
    path.write_bytes(mixture(iterations=3).save_bytes())
    result = run("export", path, "--onnx", tmp_path / "a.onnx")
    assert result.status == 1
    assert result.stderr.startswith(f"error: {path}: a mixture of 3 iterations' networks; only")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "a.onnx").exists()


def test_an_unwritable_place_is_known_first(run: Run, tmp_path: Path) -> None:
    result = run("export", tmp_path / "no-agent", "--onnx", tmp_path / "no-folder" / "a.onnx")
    assert result.status == 1
    assert "no folder" in result.stderr


@pytest.mark.parametrize("package", ["onnx", "onnxscript"])
def test_without_the_extra_it_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    agent = craft(tmp_path / "a.safetensors", parameters())
    result = run("export", agent, "--onnx", tmp_path / "a.onnx")
    assert result.status == 2
    assert result.stderr.startswith(f"error: asynccfr export needs {package}, ")
    assert result.stderr.endswith("pip install 'asynccfr[onnx]'\n")

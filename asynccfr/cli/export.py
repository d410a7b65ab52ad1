"""`asynccfr export`: an agent's network for runtimes that know neither torch nor asynccfr."""

import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asynccfr.cli.options import check_writable, game_option, path_type, saved_agent
from asynccfr.errors import RunError, needed_by

if TYPE_CHECKING:
    from asynccfr.agents import Agent


@click.command("export")
@click.argument("agent")
@click.option(
    "--onnx", "path", type=path_type, metavar="FILE", required=True, help="Where to store it."
)
@game_option
def command(agent: str, path: Path, game: str | None) -> None:
    """Store the network of AGENT as ONNX, which many runtimes and languages read.

    An AGENT is the folder of a run, the file of an agent, or `champion`. Input `rows` is float32
    [n, tensor size of the game], for any n; `outputs` is float32 [n, actions]. The card, as JSON in
    the metadata, has the rule that makes a policy of the outputs at the legal actions.
    """
    check_writable(path)
    with needed_by("asynccfr export", "onnx"):
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    from asynccfr.agents import MixtureAgent
    from asynccfr.storage.durable import replace_file

    loaded = saved_agent(agent, game)
    if isinstance(loaded, MixtureAgent):
        raise RunError(
            f"{agent}: a mixture of {len(loaded.rows)} iterations' networks; only an agent of one "
            "network can be exported: train one with solver.average=network"
        )
    replace_file(path, [onnx_bytes(loaded)])
    click.echo(
        f"{path}: rows float32 [n, {loaded.game.information_state_tensor_size}] to outputs "
        f"[n, {loaded.game.num_actions}], a policy by {loaded.card.rule} over the legal actions"
    )


def onnx_bytes(agent: "Agent") -> bytes:
    """The contents of an ONNX file: `rows` [n, tensor_size] to `outputs` [n, num_actions]."""
    import msgspec
    import torch

    from asynccfr.agents.agent import CARD

    # Not 0 or 1 rows, for which torch would make the number a constant.
    rows = torch.zeros(2, agent.game.information_state_tensor_size)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision
    # Learning may take a compiled kernel, which ONNX does not know; warnings are torch's of itself.
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        program = torch.onnx.export(
            agent.network,
            (rows,),
            dynamo=True,
            dynamic_shapes=({0: torch.export.Dim("n")},),
            input_names=["rows"],
            output_names=["outputs"],
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    model.metadata_props.add(key=CARD, value=msgspec.json.encode(agent.card).decode())
    return bytes(model.SerializeToString())

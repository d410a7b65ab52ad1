"""Where the time of a Lost Cities traversal goes: `python -m benchmarks.profile`.

What `asynccfr profile` measures of a user's configuration, of the one that the bars are for.
"""

from pathlib import Path

import click
import msgspec
from rich.console import Console

from asynccfr.config import AsyncDriver, Inference, TrainConfig
from asynccfr.profiling.pictures import draw
from asynccfr.profiling.profile import profile
from asynccfr.profiling.tables import print_profile

CONFIG = TrainConfig(
    game="lost_cities", inference=Inference(driver=AsyncDriver(concurrency=1024, max_batch=512))
)


@click.command()
@click.option("--quick", is_flag=True, help="A small version that ends within a minute.")
@click.option("--json", type=click.Path(path_type=Path), help="Write the record here.")
@click.option("--plots", type=click.Path(path_type=Path), help="Write the pictures there.")
def main(quick: bool, json: Path | None, plots: Path | None) -> None:
    """Measure the parts of a traversal of Lost Cities with a 3x512 network, and the whole.

    The bars: the parts of a step add up to within 10% of it, those of a run to within 10% of its
    wall time; the model recommends only if its median error is at most 10%.
    """
    found = profile(CONFIG, quick, lambda phase: click.echo(phase, err=True))
    print_profile(found, Console())
    if json is not None:
        json.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    if plots is not None:
        draw(found, plots)


if __name__ == "__main__":
    main()

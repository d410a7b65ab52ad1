"""`asynccfr profile`: where the time of a configuration goes."""

from pathlib import Path

import click

from asynccfr.cli.options import check_writable, path_type, set_option


@click.command("profile")
@click.argument("config", type=path_type)
@set_option
@click.option("--quick", is_flag=True, help="A small version that ends within a minute.")
@click.option("--json", type=path_type, metavar="PATH", help="Write everything measured here.")
@click.option("--plots", type=path_type, metavar="DIR", help="Write the pictures there.")
def command(
    config: Path, overrides: list[str], quick: bool, json: Path | None, plots: Path | None
) -> None:
    """Measure the parts of a traversal with CONFIG's game, network and device, and the whole.

    Prints tables, and a recommended setting where the measurements support one. How to read the
    pictures is in the README.
    """
    import msgspec
    from rich.console import Console

    from asynccfr.config.files import load_config
    from asynccfr.profiling.pictures import draw
    from asynccfr.profiling.profile import profile
    from asynccfr.profiling.tables import print_profile

    if json is not None:
        check_writable(json)
    found = profile(
        load_config(config, overrides), quick, lambda phase: click.echo(phase, err=True)
    )
    print_profile(found, Console())
    if json is not None:
        json.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    if plots is not None:
        for path in draw(found, plots):
            click.echo(f"wrote {path}")

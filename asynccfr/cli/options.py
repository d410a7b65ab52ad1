"""Arguments and options that several commands share."""

from pathlib import Path

import click

path_type = click.Path(path_type=Path)

set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Override a field, such as solver.sampling.epsilon=0.5; repeatable.",
)

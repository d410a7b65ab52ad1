"""`asynccfr config`: a configuration with every default written out, or what each field means."""

from pathlib import Path

import click

from asynccfr.cli.options import path_type, set_option


@click.command("config")
@click.argument("file", type=path_type, required=False)
@set_option
@click.option("--explain", is_flag=True, help="Explain every field.")
@click.pass_context
def command(context: click.Context, file: Path | None, overrides: list[str], explain: bool) -> None:
    """Check FILE and print it with every default, or explain every field with --explain."""
    if explain:
        explain_fields()
    elif file is not None:
        show(file, overrides)
    else:
        raise click.UsageError("name a configuration file, or give --explain", context)


def show(file: Path, overrides: list[str]) -> None:
    from asynccfr.config.files import dump, load_config
    from asynccfr.games import load_game
    from asynccfr.games.allowed import is_allowed

    config = load_config(file, overrides)
    if is_allowed(config.game) or ":" not in config.game:  # a look at others may run code
        load_game(config.game)
    click.echo(dump(config), nl=False)


def explain_fields() -> None:
    from asynccfr.config.schema import walk

    for field in walk():
        only = f" (type: {field.variant})" if field.variant else ""
        default = "required" if field.default == "-" else f"default {field.default}"
        click.echo(f"{click.style(field.path, bold=True)}{only}: {field.expected}; {default}")
        click.echo(click.wrap_text(field.description, 96, "    ", "    "))

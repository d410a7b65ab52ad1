"""`asynccfr games`: what can be trained on."""

import click


@click.command("games")
def command() -> None:
    """List the games and their parameters."""
    from asynccfr.games.registry import describe_games

    for game in describe_games():
        click.echo(f"{click.style(game.name, bold=True)}: {game.summary}")
        for parameter in game.parameters:
            default = "" if parameter.default is None else f"; default {parameter.default}"
            about = f"{parameter.name}: {parameter.range}{default}. {parameter.description}"
            click.echo(click.wrap_text(about, 96, "    ", "        "))
    click.echo('A game with parameters is written "lost_cities(colors=3, hand_size=4)".')

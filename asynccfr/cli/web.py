"""`asynccfr web`: a table in the browser against an agent, a bot or a friend."""

import secrets
import socket
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import click

from asynccfr import event_loop
from asynccfr.cli.options import chosen_game, game_option, path_type
from asynccfr.errors import RunError, needed_by
from asynccfr.players import CHAMPION

CONNECTIONS = 2000


@click.command("web")
@click.argument("agent", default=CHAMPION)
@game_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8321,
    show_default=True,
    help="The port; 0 takes any that is free.",
)
@click.option(
    "--data",
    type=path_type,
    default=Path("web_tables"),
    show_default=True,
    help="The folder that keeps the tables; those untouched for 30 days are cleared.",
)
@click.option(
    "--rate",
    type=click.FloatRange(1),
    default=100,
    show_default=True,
    help="Requests a second that one client address may make.",
)
def command(agent: str, game: str | None, host: str, port: int, data: Path, rate: float) -> None:
    """Open a table in the browser, against AGENT, a bot or a friend at the same server.

    An AGENT is the folder of a run, the file of an agent, `champion`, or the name of a bot.
    """
    with needed_by("asynccfr web", "web"):
        import uvicorn

        from asynccfr.web.application import application
        from asynccfr.web.guard import Rules
        from asynccfr.web.lounge import open_lounge
    table = chosen_game(game, [agent])
    # The champion plays one game only; others are met by their bots.
    first = None if agent == CHAMPION and game is not None else agent
    local = is_local(host)
    token = None if local else secrets.token_urlsafe(24)
    listening = listen(host, port)
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host

    async def serve() -> None:
        async with open_lounge(data, table, first) as lounge:
            rules = Rules(token, local, rate, burst=4 * rate)
            config = uvicorn.Config(
                application(lounge, rules),
                log_level="warning",
                server_header=False,
                proxy_headers=False,
                limit_concurrency=CONNECTIONS,
                ws_max_size=16 * 1024,
                timeout_graceful_shutdown=2,
            )
            secret = f"?token={token}" if token else ""
            click.echo(f"http://{shown}:{port}/{secret}  (Ctrl-C ends; tables are in {data})")
            await uvicorn.Server(config).serve([listening])

    with suppress(KeyboardInterrupt):  # how it is meant to end
        event_loop.run(serve())


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises RunError where there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise RunError(
            f"--host {host} --port {port}: cannot listen there: {error.strerror or error}; "
            "name another, or --port 0 for any that is free"
        ) from error

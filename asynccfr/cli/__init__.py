"""The command line. Each command is a module of this package that is imported when it is used.

A module defines `command`; what is slow to import (torch, matplotlib) it imports in the function.
Every expected error ends as one line on stderr and a status: 1; or 2 for wrong usage and for a
package that is not installed; or 130 or 143 for a run stopped by SIGINT or SIGTERM.
"""

import difflib
import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from asynccfr import __version__
from asynccfr.cli.terminal import is_colorless
from asynccfr.errors import AsyncCFRError, MissingPackage, needed_by

COMMANDS = {
    "train": "Train an agent, or continue a run.",
    "sweep": "Train with several seeds and settings, and compare them.",
    "evaluate": "Play an agent against other players and report the scores.",
    "play": "Play a round against an agent.",
    "web": "Open a table in the browser.",
    "exploitability": "Measure how far an agent is from an equilibrium.",
    "exploit": "Train an opponent against an agent and report what it wins.",
    "export": "Store an agent's network as ONNX.",
    "profile": "Measure where the time of a configuration goes.",
    "games": "List the games and their parameters.",
    "config": "Show a configuration with every default, or explain the fields.",
}


class LazyGroup(click.Group):
    """A group that imports a command's module only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            close = difflib.get_close_matches(cmd_name, COMMANDS, n=1)
            hint = (
                f"did you mean {close[0]}?" if close else f"expected one of {', '.join(COMMANDS)}"
            )
            raise click.UsageError(f"no such command: {cmd_name}; {hint}", ctx)
        command: click.Command = import_module(f"asynccfr.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--debug", is_flag=True, envvar="ASYNCCFR_DEBUG", help="Show the traceback of an error."
)
@click.version_option(__version__)
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Deep CFR on an asyncio micro-batcher: train and play imperfect-information games."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status."""
    log_to_stderr()
    tolerate_narrow_encodings()
    debug = False
    try:
        with (
            needed_by("the command line", "train"),
            cli.make_context(
                "asynccfr",
                list(sys.argv[1:] if arguments is None else arguments),
                color=False if is_colorless() else None,
            ) as context,
        ):
            debug = context.params["debug"]
            cli.invoke(context)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "asynccfr"
        return failed(f"{error.format_message()} (see `{where} --help`)", error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return failed("interrupted", 130)
    except BrokenPipeError:
        # Whoever read the output has gone, as `head` does: drop what is still to be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (AsyncCFRError, OSError, MemoryError, RuntimeError) as error:
        if debug or (isinstance(error, RuntimeError) and not is_expected(error)):
            raise
        return failed(described(error), 2 if isinstance(error, MissingPackage) else 1)
    return 0


def failed(message: str, status: int) -> int:
    """Print an error as one line, in which nothing that a file said can steer the terminal."""
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in " ".join(message.split()))
    print("error:", line, file=sys.stderr)
    return status


def tolerate_narrow_encodings() -> None:
    """What the terminal's encoding lacks, an error's or a table's, is shown as a question mark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def is_expected(error: RuntimeError) -> bool:
    return isinstance(error, AsyncCFRError) or is_out_of_memory(error)


def is_out_of_memory(error: Exception) -> bool:
    """Of Python's memory or of torch's, which has a type for that of a device only."""
    told = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    return isinstance(error, MemoryError) or told or "CUDA error: out of memory" in str(error)


def described(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if is_out_of_memory(error):
        cause = str(error).partition("\n")[0]
        return (
            f"out of memory ({cause}); lower the memory or batch of the solver's fits, the "
            "network's width, or inference.driver.max_batch"
        )
    return str(error)


class _Lowercase(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname.lower()}: {record.getMessage()}"


def log_to_stderr() -> None:
    """Show warnings as one line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Lowercase())
    logging.getLogger("asynccfr").handlers = [handler]

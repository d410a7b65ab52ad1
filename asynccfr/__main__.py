"""The command `asynccfr`: the command line, or what there is to install for it."""

import sys

from asynccfr.errors import MissingPackage, needed_by


def main() -> int:
    """Run this process's command line and return its exit status."""
    try:
        with needed_by("the command line", "train"):
            from asynccfr.cli import main as command_line
    except MissingPackage as error:
        print("error:", error, file=sys.stderr)
        return 2
    return command_line()


if __name__ == "__main__":
    sys.exit(main())

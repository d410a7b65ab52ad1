"""How the package is compiled: every `.pyx` file in it is a module, and no list names them.

`pyproject.toml` names the class; setuptools loads it from this file, without importing the package.
"""

from pathlib import Path

from setuptools import Extension
from setuptools.command.build_ext import build_ext


class BuildExtensions(build_ext):
    """`build_ext` for whatever modules the package has."""

    def finalize_options(self) -> None:
        self.distribution.ext_modules = [
            extension(path) for path in sorted(Path("asynccfr").rglob("*.pyx"))
        ]
        super().finalize_options()


def extension(path: Path) -> Extension:
    """The module of a `.pyx` file; what is named a kernel is worth the compiler's every effort."""
    # -g0: debug information would take a quarter of the compiling and nine tenths of the wheel.
    effort = ["-O3"] if path.stem.endswith("_kernel") else []
    return Extension(
        ".".join(path.with_suffix("").parts),
        [str(path)],
        depends=[str(header) for header in path.parent.glob("*.h")],
        extra_compile_args=["-g0", *effort],
    )

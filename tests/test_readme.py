"""What the docs show is true: README's programs run, the table of the configuration is current."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asynccfr.config.schema import markdown_table

README = Path(__file__).parent.parent / "README.md"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(README.parent)}
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def first_words(program: str) -> str:
    return re.findall(r"def (\w+)", program)[0]


@pytest.mark.parametrize("program", PROGRAMS, ids=first_words)
def test_programs_run(program, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr


def test_the_embedding_example_makes_one_call():
    command = [sys.executable, "-c", PROGRAMS[0]]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.count("one call for 4 words") == 1


def test_the_table_of_the_configuration_is_current():
    assert markdown_table().strip() in (README.parent / "configs" / "README.md").read_text()


def test_every_configuration_is_told_of():
    configs = README.parent / "configs"
    told = re.findall(
        r"^\| \[(\w+\.yaml)\]\(\1\) \|", (configs / "README.md").read_text(), re.MULTILINE
    )
    assert sorted(told) == sorted(path.name for path in configs.glob("*.yaml"))


def test_readme_stays_short_and_its_links_lead_somewhere():
    text = README.read_text()
    assert len(text.splitlines()) <= 200
    assert "![" not in text  # PyPI shows no picture of the repository
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (README.parent / target).exists(), target

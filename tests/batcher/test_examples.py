"""The examples of the guide: they run, and the guide shows them as they are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent / "examples"
ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "asynccfr" / "batcher" / "README.md"
PRINTS = {
    "basics": "[4, 6, 3, 5]",
    "decorated": "[0.5, 1.5]",
    "shapes": "4 x 4\n1 x 8\n[6, 16, 35]",
}


@pytest.mark.parametrize("name", PRINTS)
def test_it_runs(name):
    command = [sys.executable, "-W", "error", "-m", f"tests.batcher.examples.{name}"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=100)
    assert run.stdout.strip() == PRINTS[name], run.stderr


def test_the_guide_shows_them_as_they_are():
    shown = re.findall(r"<!-- (\w+)\.py -->\n```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    for name, code in shown:
        assert code.strip() in (EXAMPLES / f"{name}.py").read_text()

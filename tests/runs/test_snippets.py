"""The programs of the runs' README send what a folder holds, to stand-ins for the trackers.

The stand-ins have the signatures of the real functions, so that a call that these would refuse
fails here too.
"""

import re
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

import asynccfr
from asynccfr.runs import RunFolder
from tests.runs.run_samples import make_report, match_against

README = Path(asynccfr.__file__).parent / "runs" / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
NASH_CONV, SCORE, LOSS = "NashConv/average network", "score/random", "loss/advantage, player 1"


@pytest.fixture(autouse=True)
def run_a(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: asynccfr.TrainConfig) -> None:
    """The run `runs/A`: three iterations, the last with matches and NashConv."""
    monkeypatch.chdir(tmp_path)
    with RunFolder.create("runs/A", config).lock() as folder:
        for iteration in (1, 2):
            folder.append(make_report(iteration))
        evaluated = {
            "nash_conv": {"average network": 0.5},
            "evaluation": (match_against("random"),),
        }
        folder.append(replace(make_report(3), **evaluated))
        folder.agent.write_bytes(b"an agent")


class Tracker:
    """Keeps what it is told: the numbers of each step, and the contents of files."""

    def __init__(self) -> None:
        self.steps: dict[int, dict[str, float]] = {}
        self.files: dict[str, bytes] = {}

    def log_metrics(self, metrics: dict[str, float], step: int) -> None:
        assert all(type(value) in (int, float) for value in metrics.values())
        self.steps[step] = metrics

    def keep(self, path: str) -> None:
        self.files[Path(path).name] = Path(path).read_bytes()

    def check(self) -> None:
        assert list(self.steps) == [1, 2, 3]
        assert [step["nodes"] for step in self.steps.values()] == [100, 200, 300]
        assert (self.steps[3][NASH_CONV], self.steps[3][SCORE]) == (0.5, 0.25)
        assert NASH_CONV not in self.steps[1]
        self.check_files("config.yaml", "agent.safetensors")

    def check_files(self, *names: str) -> None:
        assert self.files == {name: Path("runs/A", name).read_bytes() for name in names}


def run_program(imports: str, monkeypatch: pytest.MonkeyPatch, **stand_ins: Any) -> None:
    """Run the program that imports such a module, with a stand-in that has these members."""
    module = ModuleType(imports)
    vars(module).update(stand_ins)
    monkeypatch.setitem(sys.modules, imports, module)
    (program,) = (
        each for each in PROGRAMS if re.search(rf"^(import|from) {imports}\b", each, re.M)
    )
    exec(compile(program, str(README), "exec"), {})


def test_the_reports_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(PROGRAMS[0], str(README), "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1] == "3 300 {'average network': 0.5} [0.25]"


def test_weights_and_biases(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = Tracker()

    class Artifact:
        def __init__(self, name: str, type: str) -> None:
            assert (name, type) == ("agent-a1b2c3", "model")
            self.paths: list[str] = []

        def add_file(self, local_path: str) -> None:
            self.paths.append(local_path)

    class Run:
        id = "a1b2c3"

        def log(self, data: dict[str, float], step: int) -> None:
            tracker.log_metrics(data, step)

        def save(self, glob_str: str, base_path: str) -> None:
            tracker.keep(glob_str)

        def log_artifact(self, artifact: Artifact) -> None:
            for path in artifact.paths:
                tracker.keep(path)

    @contextmanager
    def init(project: str, name: str):
        assert name == "A"
        yield Run()

    run_program("wandb", monkeypatch, init=init, Artifact=Artifact)
    tracker.check()
    assert tracker.steps[2][LOSS] == 1.0


def test_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = Tracker()
    parameters: dict[str, object] = {}

    @contextmanager
    def start_run(run_name: str):
        assert run_name == "A"
        yield

    run_program(
        "mlflow",
        monkeypatch,
        start_run=start_run,
        log_params=parameters.update,
        log_metrics=tracker.log_metrics,
        log_artifact=tracker.keep,
    )
    tracker.check()
    for step in tracker.steps.values():  # other characters MLflow refuses
        assert all(re.fullmatch(r"[\w./ :-]+", name) for name in step)
    assert parameters == {"game": "kuhn_poker", "seed": 0}


def test_hugging_face_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker, repositories = Tracker(), []

    class HfApi:
        def create_repo(self, repo_id: str, *, exist_ok: bool) -> None:
            assert exist_ok
            repositories.append(repo_id)

        def upload_file(self, *, path_or_fileobj: str, path_in_repo: str, repo_id: str) -> None:
            assert [repo_id] == repositories
            assert path_in_repo == Path(path_or_fileobj).name
            tracker.keep(path_or_fileobj)

    run_program("huggingface_hub", monkeypatch, HfApi=HfApi)
    tracker.check_files("agent.safetensors", "metrics.jsonl", "config.yaml")

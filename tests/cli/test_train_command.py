import errno
import io
import re
from pathlib import Path

import msgspec
import pytest
import torch
from rich.console import Console

from asynccfr.cli import progress
from asynccfr.config.files import load_config
from asynccfr.reports import LOSSES
from asynccfr.runs import RunFolder, plots
from asynccfr.runs.plots import plot_learning_curves
from tests.cli import fake_training
from tests.cli.command_line import Run
from tests.runs.run_samples import make_report, match_against


def test_a_run_ends_with_all_that_one_needs(
    run: Run, kuhn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "plot_learning_curves", plot_learning_curves)
    result = run("train", kuhn, "--out", "a b")
    assert (result.status, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "training on kuhn_poker in a b: 4 iterations",
        "at the end, the agent plays 1000 deals from both seats against",
        "  random: A bot. Every legal action with equal probability.",
    ]
    assert result.stdout.count("  loss advantage: mean squared error") == 1
    assert [line.split()[1] for line in lines if line.startswith("iteration")] == [
        "1/4",
        "2/4",
        "3/4",
        "4/4",
    ]
    assert "+0.25 [+0.125, +0.375]" in result.stdout
    assert "[bold]cautious" in result.stdout
    assert "a difference is real if its interval has no 0 in it" in " ".join(lines)
    assert "asynccfr play 'a b'" in lines[-3]
    assert "asynccfr train --resume 'a b' --set solver.iterations=8" in lines[-1]
    for name in ("plots/learning_curves.png", "agent.safetensors", "metrics.jsonl", "config.yaml"):
        assert Path("a b", name).stat().st_size


def test_a_run_whose_curves_cannot_be_drawn_is_complete(
    run: Run, kuhn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(reports: object, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(plots, "plot_learning_curves", full_disk)
    result = run("train", kuhn, "--out", "a")
    assert result.status == 0
    told = "a/plots/learning_curves.png: cannot be drawn: No space left on device"
    assert told in result.stderr
    assert "asynccfr play a" in result.stdout


def test_a_run_is_named_after_its_configuration(run: Run, kuhn: Path) -> None:
    assert run("train", kuhn).status == 0
    (folder,) = Path("runs").iterdir()
    assert re.fullmatch(r"kuhn-\d{8}-\d{6}", folder.name)


def test_overrides_are_kept_with_the_run(run: Run, kuhn: Path) -> None:
    run("train", kuhn, "--out", "a", "--set", "solver.iterations=2", "--set", "run={}")
    folder = RunFolder.open("a")
    assert folder.config == load_config(kuhn, ["solver.iterations=2"])
    assert len(folder.reports()) == 2


def test_more_iterations_continue_a_run(run: Run, kuhn: Path) -> None:
    run("train", kuhn, "--out", "a")
    result = run("train", "--resume", "a", "--set", "solver.iterations=6")
    assert result.status == 0
    assert re.findall(r"^iteration (\d)/6", result.stdout, re.MULTILINE) == ["5", "6"]
    folder = RunFolder.open("a")
    assert folder.config.solver.iterations == 6
    assert [report.iteration for report in folder.reports()] == [1, 2, 3, 4, 5, 6]


def test_resume_may_start_a_run_too(run: Run, kuhn: Path) -> None:
    for iterations in (2, 4):
        arguments = ("--out", "a", "--resume", "--set", f"solver.iterations={iterations}")
        assert run("train", kuhn, *arguments).status == 0
    assert [report.iteration for report in RunFolder.open("a").reports()] == [1, 2, 3, 4]


def test_resuming_a_finished_run_shows_it_again(run: Run, kuhn: Path) -> None:
    first = run("train", kuhn, "--out", "a")
    again = run("train", "--resume", "a")
    assert again.status == 0
    table = first.stdout[first.stdout.index("Scores") :]
    assert again.stdout.endswith(table)
    assert "iteration 4/4" not in again.stdout


def test_a_diverged_run_can_be_continued(run: Run, kuhn: Path) -> None:
    arguments = ("train", kuhn, "--out", "a", "--set", f"seed={fake_training.DIVERGE}")
    assert run(*arguments).status == 1
    assert [report.iteration for report in RunFolder.open("a").reports()] == [1, 2]
    assert run(*arguments, "--resume", "--set", "solver.iterations=2").status == 0


@pytest.fixture
def console() -> Console:
    return Console(force_terminal=True, width=100, record=True, file=io.StringIO())


def test_a_terminal_shows_the_phase(console: Console) -> None:
    with progress.make_display(console, 2, 10) as display:
        assert isinstance(display, progress.LiveDisplay)
        display.phase("fit_advantage", 3, 10)
        shown = console.render_lines(display.progress.get_renderable())
        display.report(make_report(3))
        after = console.render_lines(display.progress.get_renderable())
    assert "fit advantage" in text(shown)
    assert "2/10" in text(shown)
    assert "3/10" in text(after)
    assert "left" in text(after)
    assert "iteration 3/10" in console.export_text()


def text(lines: list) -> str:
    return "\n".join("".join(segment.text for segment in line) for line in lines)


def test_a_long_phase_gives_a_sign_of_life_in_plain_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 0.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    with progress.make_display(Console(force_terminal=False), 0, 10) as display:
        for clock in range(100):
            display.phase("traverse", clock, 100)
    assert capsys.readouterr().out.split("\n") == [
        "  traverse 30/100",
        "  traverse 60/100",
        "  traverse 90/100",
        "",
    ]


def test_time_left_is_that_of_the_latest_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    left = progress.TimeLeft()
    for iteration in range(1, 4):
        clock += 5
        seconds = left.after(make_report(iteration))
    assert seconds == 5 * 7


def test_a_loss_is_explained_once_each_network() -> None:
    legend, report = progress.Legend(), make_report(1)
    [line] = legend.new(report)
    assert line == f"  loss advantage: {LOSSES['advantage']}"
    assert legend.new(report) == []
    average = msgspec.structs.replace(report.fits[0], network="average strategy", player=None)
    report = msgspec.structs.replace(report, fits=(*report.fits, average))
    assert legend.new(report) == [f"  loss average strategy: {LOSSES['average strategy']}"]


def test_nash_conv_is_explained_once() -> None:
    legend, report = progress.Legend(), make_report(1)
    legend.new(report)
    exact = msgspec.structs.replace(report, nash_conv={"average": 0.5})
    assert legend.new(exact) == [f"  NashConv: {progress.NASH_CONV}"]
    assert legend.new(exact) == []


def test_a_match_in_one_line() -> None:
    assert progress.match_line(match_against("random")) == (
        "against random: +0.25 ± 0.12 per game, won 60.0% (95%: 50.0% to 70.0%) of 100 games"
    )


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (950.4, "950"), (12_345, "12.3k"), (4.56e6, "4.56M"), (2e9, "2G")],
)
def test_quantities(count: float, shown: str) -> None:
    assert progress.quantity(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (89, "89 s"), (600, "10 min"), (12_000, "3 h 20 min")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert progress.duration(seconds) == shown


def test_no_memory_is_one_line_and_a_way_out(run: Run, kuhn: Path) -> None:
    result = run("train", kuhn, "--out", "a", "--set", f"seed={fake_training.NO_MEMORY}")
    assert result.status == 1
    [line] = result.stderr.splitlines()
    assert "out of memory (" in line
    assert "4611686018427387904 bytes" in line
    assert "lower the memory" in line
    assert RunFolder.open("a").saved_iteration() == 2


def test_no_memory_on_a_device_is_one_too(run: Run, kuhn: Path, monkeypatch) -> None:
    def train(*arguments, **options):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(fake_training, "train", train)
    result = run("train", kuhn, "--out", "a")
    assert result.status == 1
    assert result.stderr.startswith("error: out of memory (CUDA out of memory. Tried to allocate")


def test_other_runtime_errors_are_faults_and_show(run: Run, kuhn: Path, monkeypatch) -> None:
    def train(*arguments, **options):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(fake_training, "train", train)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        run("train", kuhn, "--out", "a")


def test_the_summary_lists_what_there_is(run: Run, kuhn: Path, monkeypatch) -> None:
    monkeypatch.setattr(RunFolder, "save_agent", lambda folder, agent: None)
    result = run("train", kuhn, "--out", "a")
    assert result.status == 0
    assert re.search(r"^run folder +a$", result.stdout, re.MULTILINE)
    assert "agent.safetensors" not in result.stdout


def test_a_schedule_that_anneals_is_lengthened_as_a_whole(run: Run, kuhn: Path) -> None:
    kuhn.write_text(
        "game: kuhn_poker\nsolver: {type: ppo, iterations: 4, anneal: 3}\n"
        "evaluation: {every: 2, opponents: [random]}\n"
    )
    lines = run("train", kuhn, "--out", "a").stdout.splitlines()
    assert lines[1].startswith("every 2 iterations and at the end, the agent plays")
    further = "asynccfr train --resume a --set solver.iterations=8 --set solver.anneal=6"
    assert lines[-1] == f"{'train it further':<18}{further}"
    assert run(*further.split()[1:]).status == 0

"""The benchmark of average strategies: both policies are evaluated, drawn, and play each other."""

from click.testing import CliRunner

from benchmarks.averages import AVERAGE, LAST, TASKS, head_to_head, main, remembering, run
from benchmarks.common import write
from benchmarks.convergence import Record

SMALL = (
    "evaluation.nash_conv_every=2",
    "solver.games=40",
    "solver.strategy.steps=5",
    "solver.agent.steps=20",
)


def test_both_policies_are_evaluated_and_drawn(tmp_path):
    kuhn = TASKS[0]._replace(seconds=0.1, overrides=SMALL)
    curve = run(kuhn, 0)
    assert [point.iteration for point in curve.points][:1] == [2]
    assert all(set(point.nash_conv) == {AVERAGE, LAST} for point in curve.points)
    write(Record(curves=[curve]), path := tmp_path / "runs.json")
    options = ["--only", "kuhn", "--seconds", "0.1", "--seeds", "1", "--json", str(path)]
    shown = CliRunner().invoke(main, [*options, "--plots", str(tmp_path)], catch_exceptions=False)
    assert f"{curve.points[-1].nash_conv[AVERAGE]:.3f}" in shown.output
    assert f"{curve.points[-1].nash_conv[LAST]:.3f}" in shown.output
    assert (tmp_path / "averages.png").read_bytes().startswith(b"\x89PNG")


async def test_average_and_last_iterate_play_each_other():
    config = remembering(
        "lost_cities(colors=2, numbers=3, wagers=1, hand_size=2)",
        2,
        4,
        "solver.agent.steps=5",
        "solver.agent.memory=1000",
    )
    match = await head_to_head(config, 4)
    assert (match.a, match.b, match.deals) == (AVERAGE, LAST, 4)

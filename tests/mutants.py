"""Known mistakes of the solvers, planted one at a time: `python -m tests.mutants [NAME ...]`.

Each mutant replaces a piece of one source file in a copy of the tree, rebuilds what is compiled,
and runs the test that is meant to catch it. It is caught when that test fails, and fails as a test:
a mutant that does not build, that breaks the imports of its test, or whose piece is not found
exactly once, ends the script. First the same tests must pass in an unchanged copy.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
BUILD = "from setuptools import setup; setup()"
SECONDS = 300
PASSED, FAILED = 0, 1  # pytest's exit codes


class Mutant(NamedTuple):
    """A mistake: in `file`, `before` becomes `after`; pytest finds what catches it at `test`."""

    name: str
    file: str
    before: str
    after: str
    test: str


UNBIASED = "tests/cfr/test_walk.py"
FITTING = "tests/learning/test_fitting.py"
RESERVOIR = "tests/learning/test_reservoir.py"
TRAPS = "tests/solvers/test_traps.py"

MUTANTS = [
    Mutant(
        "maximum in the place of the expectation",
        "asynccfr/cfr/walk.pyx",
        "value += policy[i] * <double>below[i]",
        "value = max(value, <double>below[i]) if i else <double>below[i]",
        f"{UNBIASED} -k external",
    ),
    Mutant(
        "unmasked loss",
        "asynccfr/learning/fitting.py",
        "errors = (outputs - batch.values / scale).square() * batch.legal",
        "errors = (outputs - batch.values / scale).square()",
        f"{FITTING} -k illegal_actions_are_never_fitted",
    ),
    Mutant(
        "unmasked softmax",
        "asynccfr/networks/softmax.py",
        "return torch.where(mask, logits, torch.finfo(logits.dtype).min).log_softmax(dim=-1)",
        "return logits.log_softmax(dim=-1)",
        f"{FITTING} -k softmax_of_the_average_strategy",
    ),
    Mutant(
        "ring buffer in the place of the reservoir",
        "asynccfr/learning/reservoir.py",
        "slots = (rng.random(len(place)) * (place + 1)).astype(np.int64)",
        "slots = place % self.capacity",
        f"{RESERVOIR} -k same_probability",
    ),
    Mutant(
        "misaligned shuffle",
        "asynccfr/learning/reservoir.py",
        "column.take(rows, axis=0) for column in self._columns.values()",
        "column.take(rng.permutation(rows), axis=0) for column in self._columns.values()",
        f"{RESERVOIR} -k aligned",
    ),
    Mutant(
        "iterations do not weigh advantages",
        "asynccfr/learning/fitting.py",
        "errors.sum(dim=1) * batch.weights * batch.iterations",
        "errors.sum(dim=1) * batch.weights",
        f"{FITTING} -k in_proportion_to_its_iteration",
    ),
    Mutant(
        "iterations do not weigh the average strategy",
        "asynccfr/learning/fitting.py",
        "(errors * batch.weights * batch.iterations)",
        "(errors * batch.weights)",
        f"{FITTING} -k in_proportion_to_its_iteration",
    ),
    Mutant(
        "every sample is of iteration 1",
        "asynccfr/learning/reservoir.py",
        'self._columns["iterations"][free] = iteration',
        'self._columns["iterations"][free] = 1',
        f"{TRAPS} -k samples_carry_their_iteration",
    ),
    Mutant(
        "strategy samples at the traverser's nodes",
        "asynccfr/cfr/walk.pyx",
        "self.remember(Step(own, i, self.moves, weight, policy[i]))",
        "self.remember(Step(not own, i, self.moves, weight, policy[i]))",
        f"{UNBIASED} -k outcome",
    ),
    Mutant(
        "samples not weighted by 1 / reach",
        "asynccfr/cfr/walk.pyx",
        "min(1.0 / self.sampling_reach, self.max_weight)",
        "1.0",
        f"{UNBIASED} -k outcome",
    ),
    Mutant(
        "exploration in the strategy target",
        "asynccfr/cfr/walk.pyx",
        "kept[i] = <float>policy[i]\n",
        "kept[i] = <float>(self.epsilon / n + (1.0 - self.epsilon) * policy[i])\n",
        "tests/cfr/test_samples.py -k exploration",
    ),
    Mutant(
        "the value of a sampled action not divided by its probability",
        "asynccfr/cfr/walk.pyx",
        "below = value / step.probability",
        "below = value",
        f"{UNBIASED} -k outcome",
    ),
    Mutant(
        "regrets of unsampled actions are zero",
        "asynccfr/cfr/walk.pyx",
        "values[i] = <float>((below if i == step.chosen else 0.0) - value)",
        "values[i] = <float>(below - value) if i == step.chosen else 0.0",
        f"{UNBIASED} -k outcome",
    ),
    Mutant(
        "stale network",
        "asynccfr/solvers/deep_cfr.py",
        "self.advantage_networks[player] = network",
        "pass",
        f"{TRAPS} -k networks_just_fitted",
    ),
    Mutant(
        "warm start where a fresh network was asked for",
        "asynccfr/solvers/deep_cfr.py",
        "if self.config.warm_start and iteration > 1:",
        "if iteration > 1:",
        f"{TRAPS} -k from_scratch",
    ),
    Mutant(
        "the other player's network",
        "asynccfr/inference/evaluator.py",
        "self.networks[player]",
        "self.networks[1 - player]",
        "tests/inference/test_evaluator.py -k its_players_network",
    ),
    Mutant(
        "answers go to the neighbour",
        "asynccfr/cfr/query.pyx",
        "(<Query?>queries[i]).take(&outputs[i, 0])",
        "(<Query?>queries[i]).take(&outputs[n - 1 - i, 0])",
        "tests/inference/test_evaluator.py -k own_row",
    ),
    Mutant(
        "the opponent's utility has the traverser's sign",
        "asynccfr/cfr/walk.pyx",
        "cdef double value = self.state.utility(self.traverser), below",
        "cdef double value = self.state.utility(0), below",
        f"{UNBIASED} -k external",
    ),
    Mutant(
        "the baseline is not added back",
        "asynccfr/cfr/baseline.pyx",
        "baselines[self.legal[i]] + (correction if i == step.chosen else 0.0) - value",
        "(correction if i == step.chosen else 0.0) - value",
        "tests/benchmarks/test_unbiasedness.py -k any_baseline",
    ),
    Mutant(
        "the baseline has the sign of the player to move",
        "asynccfr/cfr/baseline.pyx",
        "sign = 1.0 if step.own else -1.0",
        "sign = 1.0",
        "tests/benchmarks/test_unbiasedness.py -k takes_noise_away",
    ),
    Mutant(
        "iterations count alike in the mixture",
        "asynccfr/agents/agent.py",
        "yield NetworkProfile(self.networks(iteration), self.rule), float(iteration)",
        "yield NetworkProfile(self.networks(iteration), self.rule), 1.0",
        "tests/solvers/test_single_deep_cfr.py -k average_of_what_its_parts_get",
    ),
    Mutant(
        "the mixture averages probabilities in the place of plans",
        "asynccfr/agents/profiles.py",
        "self.plan += weight * self.tree.plan(self.tree.strategy(profile))",
        "self.plan[:-2] += weight * self.tree.strategy(profile)",
        "tests/solvers/test_single_deep_cfr.py -k average_of_what_its_parts_get",
    ),
    Mutant(
        "a cache outlives its network",
        "asynccfr/solvers/deep_cfr.py",
        "self.caches[player] = self.fresh_cache()",
        "pass",
        "tests/inference/test_policy_cache.py -k changes_no_sample",
    ),
    Mutant(
        "merged samples count alike",
        "asynccfr/learning/merge.pyx",
        "total[kind] += weights[i]",
        "total[kind] += 1.0",
        "tests/learning/test_merged.py -k by_definition",
    ),
    Mutant(
        "negative regrets are played",
        "asynccfr/cfr/regret_matching.pyx",
        "policy[i] = outputs[i] if outputs[i] > 0 else 0.0",
        "policy[i] = abs(outputs[i])",
        "tests/cfr/test_regret_matching.py -k positive",
    ),
    Mutant(
        "best responses do not maximise",
        "asynccfr/exact/sequence_form.pyx",
        "value = max(value, values[s]) if best else value + strategy[s] * values[s]",
        "value = values[s] if best else value + strategy[s] * values[s]",
        "tests/exact/test_best_response.py -k uniform_play",
    ),
    Mutant(
        "decisions that were likelier drawn count as much as others",
        "asynccfr/solvers/learner.py",
        "value = (importance * objective.losses(*batch)).mean()",
        "value = objective.losses(*batch).mean()",
        "tests/solvers/test_learner.py -k on_average",
    ),
]


class Copy:
    """A copy of the tree in which mutants are planted one at a time, and its tests run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        ignored = shutil.ignore_patterns(".*", "__pycache__")
        for name in ("asynccfr", "tests", "benchmarks", "configs"):
            shutil.copytree(ROOT / name, path / name, ignore=ignored)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy2(ROOT / name, path / name)
        self.build()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def build(self) -> None:
        """Compile what is older than its source."""
        done = self.run("-W", "ignore", "-c", BUILD, "build_ext", "--inplace")
        if done.returncode:
            raise click.ClickException(f"the copy does not build:\n{done.stdout}{done.stderr}")

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """Plant a mutant, and take it out again with all that was compiled from it."""
        source = self.path / mutant.file
        original = source.read_text()
        if original.count(mutant.before) != 1:
            raise click.ClickException(
                f"{mutant.name}: found {original.count(mutant.before)} times in {mutant.file}, "
                f"expected once: {mutant.before}"
            )
        with tempfile.TemporaryDirectory() as kept:
            files = list(source.parent.glob(f"{source.stem}.*"))
            for file in files:
                shutil.copy2(file, kept)
            try:
                source.write_text(original.replace(mutant.before, mutant.after))
                if source.suffix == ".pyx":
                    self.build()
                yield
            finally:
                for file in files:
                    shutil.copy2(Path(kept) / file.name, file)

    def test(self, selection: str) -> subprocess.CompletedProcess[str]:
        path, *options = selection.split(maxsplit=2)
        return self.run("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", path, *options)

    def catches(self, mutant: Mutant) -> bool:
        """Whether the mutant's test fails with the mutant in place."""
        with self.planted(mutant):
            done = self.test(mutant.test)
        if done.returncode not in (PASSED, FAILED):
            raise click.ClickException(f"{mutant.name}: no test failed as a test:\n{done.stdout}")
        return done.returncode == FAILED


def chosen(names: Sequence[str]) -> list[Mutant]:
    """The mutants whose name contains one of `names`; all without names."""
    found = [m for m in MUTANTS if not names or any(name in m.name for name in names)]
    if not found:
        raise click.ClickException(f"no mutant is called {' or '.join(names)}")
    return found


@click.command()
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Plant the mutants whose name contains one of NAMES (default: all); fail if one survives."""
    mutants = chosen(names)
    table = Table("mutant", "file", "caught by", "seconds", "verdict")
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for selection in dict.fromkeys(mutant.test for mutant in mutants):
            if (done := copy.test(selection)).returncode:
                raise click.ClickException(f"fails without a mutant: {selection}\n{done.stdout}")
        for mutant in mutants:
            started = perf_counter()
            caught = copy.catches(mutant)
            survivors += not caught
            seconds = f"{perf_counter() - started:.1f}"
            verdict = "caught" if caught else "SURVIVES"
            table.add_row(mutant.name, mutant.file, mutant.test, seconds, verdict)
            print(f"{verdict}: {mutant.name}", file=sys.stderr)
    Console().print(table)
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()

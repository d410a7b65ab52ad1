from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asynccfr.config import (
    AsyncDriver,
    DeepCFR,
    ExternalSampling,
    Fit,
    MultilayerPerceptron,
    OutcomeSampling,
    SyncDriver,
    TrainConfig,
)
from asynccfr.config.files import dump, load_config, resolve, with_overrides
from asynccfr.config.yaml import parse_yaml
from asynccfr.errors import ConfigError

KUHN = {"game": "kuhn_poker"}


def read(text: str, *overrides: str) -> TrainConfig:
    return resolve(parse_yaml(text), overrides)


def test_defaults() -> None:
    assert read("game: kuhn_poker") == TrainConfig(game="kuhn_poker")


def test_yaml_and_toml_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "game: kuhn_poker\nsolver:\n  sampling: {type: external}\n  advantage: {steps: 7}\n"
    )
    (tmp_path / "a.toml").write_text(
        'game = "kuhn_poker"\n[solver]\nsampling = {type = "external"}\nadvantage.steps = 7\n'
    )
    wanted = TrainConfig(
        game="kuhn_poker", solver=DeepCFR(sampling=ExternalSampling(), advantage=Fit(steps=7))
    )
    assert load_config(tmp_path / "a.yaml") == load_config(tmp_path / "a.toml") == wanted


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 1e-3), ("1E-3", 1e-3), (".5", 0.5), ("1.", 1.0), ("1", 1.0), ("+2.5e+0", 2.5)],
)
def test_numbers_as_people_write_them(text: str, value: float) -> None:
    config = read(f"game: kuhn_poker\nsolver: {{advantage: {{learning_rate: {text}}}}}")
    assert config.solver.advantage.learning_rate == value


@pytest.mark.parametrize(
    ("text", "value"), [("1_000", 1000), ("1e3", 1000), ("010", 10), ("1000.0", 1000)]
)
def test_whole_numbers_as_people_write_them(text: str, value: int) -> None:
    assert read(f"game: kuhn_poker\nseed: {text}").seed == value


def test_a_game_called_no_is_a_text() -> None:
    assert parse_yaml("[no, off, 1:30, 2024-01-01]") == ["no", "off", "1:30", "2024-01-01"]


def test_anchors_and_merges() -> None:
    config = read(
        "game: kuhn_poker\n"
        "solver:\n  advantage: &fit {steps: 5}\n  average_strategy: {<<: *fit, batch: 2}"
    )
    assert config.solver.average_strategy == Fit(steps=5, batch=2)


def test_a_table_without_a_type_is_of_the_default_variant() -> None:
    config = read("game: kuhn_poker\nsolver: {sampling: {epsilon: 0.25}}")
    assert config.solver.sampling == OutcomeSampling(epsilon=0.25)


def test_what_a_table_leaves_out_comes_from_the_field_that_holds_it() -> None:
    fit = DeepCFR().average_strategy
    config = read("game: kuhn_poker\nsolver: {average_strategy: {batch: 9}}")
    assert config.solver.average_strategy == msgspec.structs.replace(fit, batch=9)


def test_overrides() -> None:
    config = read(
        "game: kuhn_poker\nseed: 1",
        "seed=2",
        "solver.network.width=64",
        "solver.sampling.epsilon=1e-1",
        "evaluation.opponents=[random, careful]",
        "inference.driver.type=sync",
    )
    assert config.seed == 2
    assert config.solver.network == MultilayerPerceptron(width=64)
    assert config.solver.sampling == OutcomeSampling(epsilon=0.1)
    assert config.evaluation.opponents == ("random", "careful")
    assert config.inference.driver == SyncDriver()


def test_the_last_override_counts() -> None:
    assert read("game: kuhn_poker", "seed=1", "seed=2").seed == 2


@pytest.mark.parametrize("order", [1, -1])
def test_another_type_starts_its_table_afresh(order: int) -> None:
    overrides = ["inference.driver.type=async", "inference.driver.max_batch=8"][::order]
    config = read("game: kuhn_poker\ninference: {driver: {type: sync}}", *overrides)
    assert config.inference.driver == AsyncDriver(max_batch=8)
    text = "game: kuhn_poker\nsolver: {sampling: {type: outcome, epsilon: 0.25}}"
    assert read(text, "solver.sampling.type=external").solver.sampling == ExternalSampling()
    kept = read(text, "solver.sampling.type=outcome").solver.sampling
    assert kept == OutcomeSampling(epsilon=0.25)


def test_overrides_of_a_resolved_configuration() -> None:
    config = read("game: kuhn_poker\nseed: 4\nsolver: {sampling: {type: external}}")
    changed = with_overrides(config, ["solver.iterations=3"])
    assert changed.solver == msgspec.structs.replace(config.solver, iterations=3)
    assert changed.seed == 4


def test_an_error_says_where_the_value_came_from(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("game: kuhn_poker\nseed: -1")
    with pytest.raises(ConfigError, match=r"a\.yaml: seed = -1: expected a whole number >= 0"):
        load_config(path)
    with pytest.raises(ConfigError, match=r"^--set: seed = -2: expected"):
        load_config(path, ["seed=-2"])


configs = st.builds(
    TrainConfig,
    game=st.text(max_size=20),
    seed=st.integers(0, 2**63 - 1),
    solver=st.builds(
        DeepCFR,
        sampling=st.one_of(
            st.just(ExternalSampling()),
            st.builds(OutcomeSampling, epsilon=st.floats(1e-300, 1), max_weight=st.just(1e30)),
        ),
        advantage=st.builds(Fit, learning_rate=st.floats(1e-300, 1e300)),
        warm_start=st.booleans(),
    ),
)


@given(configs)
@example(TrainConfig(game="0E0"))
@settings(max_examples=50, deadline=None)
def test_what_is_dumped_is_read_back(config: TrainConfig) -> None:
    assert read(dump(config)) == config


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_as_it_should_be(text: str) -> None:
    with suppress(ConfigError):
        raw = parse_yaml(text)
        if isinstance(raw, dict):
            resolve(raw)


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@settings(deadline=None)
@given(junk, st.sampled_from(["solver", "seed", "inference", "evaluation", "run", "game"]))
def test_any_value_is_taken_or_refused_as_it_should_be(value: object, field: str) -> None:
    with suppress(ConfigError):
        config = resolve({**KUHN, field: value})
        assert msgspec.convert(msgspec.to_builtins(config), TrainConfig) == config

from asynccfr.config import DeepCFR, ExternalSampling, OutcomeSampling, TrainConfig
from asynccfr.config.files import with_overrides
from asynccfr.config.schema import Field, markdown_table, walk


def find(path: str) -> Field:
    """The first field of that path: the usual solver's, where several have it."""
    return next(field for field in walk() if field.path == path)


def test_every_field_is_explained() -> None:
    assert all(field.description and field.expected for field in walk())
    assert {field.path.partition(".")[0] for field in walk()} == set(TrainConfig.__struct_fields__)


def test_a_field_of_a_variant() -> None:
    field = find("solver.sampling.epsilon")
    assert (field.variant, field.expected) == ("deep_cfr, outcome", "a number > 0 and <= 1")
    assert field.default == f"{OutcomeSampling().epsilon:g}"


def test_a_choice_of_variants_says_what_each_is() -> None:
    field = find("solver.sampling.type")
    assert field.expected == "one of external, outcome"
    assert field.default == "outcome"
    assert "Every action of the traverser" in (ExternalSampling.__doc__ or "")
    assert "external: Every action of the traverser" in field.description


def test_defaults_are_those_of_the_field_that_holds_the_table() -> None:
    assert find("solver.average_strategy.batch").default == str(DeepCFR().average_strategy.batch)


def test_every_default_can_be_set_and_changes_nothing() -> None:
    for field in walk():
        if field.default != "-":
            config = with_overrides(TrainConfig(game="kuhn_poker"), field.needs)
            assert with_overrides(config, [f"{field.path}={field.default}"]) == config


def test_every_field_is_in_the_table() -> None:
    rows = markdown_table().splitlines()[2:]
    assert len(rows) < len(list(walk()))
    for field in walk():
        (row,) = [
            row
            for row in rows
            if row.startswith(f"| `{field.path}`")
            and f"| `{field.default}` |" in row
            and field.description in row.replace("\\|", "|")
            and f"| {field.expected} |" in row.replace("\\|", "|")
        ]
        assert field.variant in row
    assert all(row.count(" | ") == 3 for row in rows)

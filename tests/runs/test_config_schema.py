from asynccfr.config import DeepCFR, ExternalSampling, OutcomeSampling, TrainConfig
from asynccfr.config_files import with_overrides
from asynccfr.config_schema import Field, markdown_table, walk


def find(path: str) -> Field:
    (field,) = (field for field in walk() if field.path == path)
    return field


def test_every_field_is_explained() -> None:
    assert all(field.description and field.expected for field in walk())
    assert {field.path.partition(".")[0] for field in walk()} == set(TrainConfig.__struct_fields__)


def test_a_field_of_a_variant() -> None:
    field = find("solver.sampling.epsilon")
    assert (field.variant, field.expected) == ("outcome", "a number > 0 and <= 1")
    assert field.default == f"{OutcomeSampling().epsilon:g}"


def test_a_choice_of_variants_says_what_each_is() -> None:
    field = find("solver.sampling.type")
    assert field.expected == "one of external, outcome"
    assert field.default == "outcome"
    assert "Every action of the traverser" in (ExternalSampling.__doc__ or "")
    assert "external: Every action of the traverser" in field.description


def test_defaults_are_those_of_the_field_that_holds_the_table() -> None:
    assert find("solver.average_strategy.batch").default == str(DeepCFR().average_strategy.batch)


def alternative(field: Field) -> list[str]:
    """The override that chooses the variant which has the field."""
    tags = {other.path for other in walk()} - {field.path}
    above = field.path
    while field.variant and (above := above.rpartition(".")[0]):
        if f"{above}.type" in tags:
            return [f"{above}.type={field.variant}"]
    return []


def test_every_default_can_be_set_and_changes_nothing() -> None:
    for field in walk():
        config = with_overrides(TrainConfig(game="kuhn_poker"), alternative(field))
        if field.default != "-":
            config = with_overrides(TrainConfig(game="kuhn_poker"), choice_of_variant(field))
            assert with_overrides(config, [f"{field.path}={field.default}"]) == config


def choice_of_variant(field: Field) -> list[str]:
    """The override that makes the field exist, if it is one of a variant."""
    tags = {other.path for other in walk() if other.path.endswith(".type")}
    path = field.path
    while field.variant and (path := path.rpartition(".")[0]):
        if f"{path}.type" in tags and f"{path}.type" != field.path:
            return [f"{path}.type={field.variant}"]
    return []


def test_the_table_has_a_row_a_field() -> None:
    rows = markdown_table().splitlines()
    assert len(rows) == 2 + len(list(walk()))
    assert all(row.count(" | ") == 3 for row in rows if not row.startswith("|---"))

"""The configuration's fields, read off its structs: for errors, `--explain` and the README."""

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from asynccfr.config import TrainConfig

TAG = "type"


class Field(Struct, frozen=True):
    """One setting: where it stands, what it may be, what it is by default and what it is for.

    It exists where every `type` is chosen as `needs` says: `solver.type=ppo`.
    """

    path: str
    needs: tuple[str, ...]
    expected: str
    default: str
    description: str

    @property
    def variant(self) -> str:
        """The types of the tables that it stands in, outermost first."""
        return ", ".join(choice.partition("=")[2] for choice in self.needs)


def fields(kind: type[Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(kind)}


def variants(kind: Any) -> dict[str, type[Struct]]:
    """The structs that may stand where `kind` is declared, by tag; empty for a plain value."""
    union = get_origin(kind) in (Union, types.UnionType)
    members = get_args(kind) if union else (kind,)
    if not all(isinstance(member, type) and issubclass(member, Struct) for member in members):
        return {}
    return {tag_of(member): member for member in members}


def tag_of(kind: type[Struct]) -> str:
    """What `type` says for this struct; the name of a struct that has no tag."""
    return str(kind.__struct_config__.tag or kind.__name__)


def meta(kind: Any) -> Meta:
    found = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((item for item in found if isinstance(item, Meta)), Meta())


def plain(kind: Any) -> Any:
    """The type without its annotation."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    """The field's default, or `msgspec.NODEFAULT`."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def expected(kind: Any) -> str:
    """What a value of this type looks like, in words: `a number > 0 and <= 1`."""
    base, limits = plain(kind), meta(kind)
    if base in (int, float):
        signs = {">": limits.gt, ">=": limits.ge, "<": limits.lt, "<=": limits.le}
        bounds = [f"{sign} {bound:g}" for sign, bound in signs.items() if bound is not None]
        name = "a whole number" if base is int else "a number"
        return " ".join([name, " and ".join(bounds)]).strip()
    if get_origin(base) is Literal:
        return "one of " + ", ".join(get_args(base))
    if get_origin(base) is tuple:
        return "a list of texts, such as [a, b]"
    if limits.pattern is not None:
        return str(limits.description)
    return {bool: "true or false", str: "a text"}[base]


def written(value: Any) -> str:
    """A value as it would be written in a file; a dash for a field that has no default."""
    if value is msgspec.NODEFAULT:
        return "-"
    if isinstance(value, Struct):
        return tag_of(type(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def walk(
    kind: type[Struct] = TrainConfig,
    path: str = "",
    instance: Any = None,
    needs: tuple[str, ...] = (),
) -> Iterator[Field]:
    """Every field below a struct in the order of its definition; all variants of a tagged union."""
    for name, field in fields(kind).items():
        default = default_of(field) if instance is None else getattr(instance, name)
        choices = variants(field.type)
        if not choices:
            about = meta(field.type).description or ""
            yield Field(f"{path}{name}", needs, expected(field.type), written(default), about)
        if len(choices) > 1:
            about = "; ".join(f"{tag}: {summary(choice)}" for tag, choice in choices.items())
            tags = "one of " + ", ".join(choices)
            yield Field(f"{path}{name}.{TAG}", needs, tags, written(default), about)
        for tag, choice in choices.items():
            chosen = default if type(default) is choice else None
            below = (*needs, f"{path}{name}.{TAG}={tag}") if len(choices) > 1 else needs
            yield from walk(choice, f"{path}{name}.", chosen, below)


def summary(kind: type) -> str:
    """The first sentence of a struct's docstring."""
    return (kind.__doc__ or "").strip().splitlines()[0].rstrip(".")


def markdown_table() -> str:
    """The README's table; fields that differ in the tables they stand in only share a row."""
    rows = ["| field | value | default | meaning |", "|---|---|---|---|"]
    variants: dict[tuple[str, ...], list[str]] = {}
    for field in walk():
        row = (field.path, field.expected, field.default, field.description)
        variants.setdefault(row, []).append(field.variant)
    for (path, value, default, meaning), found in variants.items():
        only = f" ({'; '.join(found)})" if any(found) else ""
        cells = (f"`{path}`{only}", value, f"`{default}`", meaning)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"

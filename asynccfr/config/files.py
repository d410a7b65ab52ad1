"""Configuration files: YAML or TOML plus `--set` overrides into checked structs, and back to YAML.

Every value is checked where it stands, so that an error can say its dotted path, what was found and
what was expected there.
"""

import difflib
import math
import reprlib
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from asynccfr import __version__
from asynccfr.config import TrainConfig
from asynccfr.config.schema import (
    TAG,
    default_of,
    expected,
    fields,
    meta,
    plain,
    tag_of,
    variants,
    walk,
)
from asynccfr.config.yaml import dump_yaml, parse_yaml
from asynccfr.errors import ConfigError
from asynccfr.storage.opening import open_regular, read_regular

Raw = dict[str, Any]
LARGEST = 2**63 - 1
LARGEST_FILE = 1 << 20
HEADING = "# asynccfr "


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> TrainConfig:
    """The configuration in a YAML or TOML file, with `dotted.path=value` overrides.

    Raises ConfigError naming the file or `--set`, the field, its value and what was expected.
    """
    return resolve(read(Path(path)), overrides, source=str(path))


def resolve(raw: Raw, overrides: Iterable[str] = (), *, source: str = "config") -> TrainConfig:
    """A configuration from plain data; `source` names the data in errors."""
    changes = [parse_override(text) for text in overrides]
    # A changed `type` starts its table afresh, so it goes first, whatever the order given.
    changes.sort(key=lambda change: change[0][-1] != TAG)
    for path, value in changes:
        raw = _overridden(raw, path, value)
    overridden = {".".join(path) for path, _ in changes}
    config: TrainConfig = _Builder(source, overridden).build(TrainConfig, raw, "", None)
    return config


def with_overrides(config: TrainConfig, overrides: Iterable[str]) -> TrainConfig:
    return resolve(msgspec.to_builtins(config), overrides, source="config")


def checked(config: TrainConfig) -> TrainConfig:
    """A configuration made in Python, its values checked as those of a file are.

    Raises ConfigError naming the field, its value and what was expected.
    """
    if not isinstance(config, TrainConfig):
        raise ConfigError(
            f"config: expected a TrainConfig, got {_shown(config)}; load_config reads a file "
            "and config.files.resolve a dict"
        )
    try:
        return resolve(msgspec.to_builtins(config))
    except TypeError as error:
        raise ConfigError(f"config: not plain data: {error}") from None


def dump(config: TrainConfig) -> str:
    """The configuration with every default written out, as YAML that `load_config` reads back."""
    return f"{HEADING}{__version__}\n{dump_yaml(msgspec.to_builtins(config))}"


def written_by(path: Path) -> str | None:
    """The version of asynccfr whose `dump` a file holds; None if it does not say."""
    with suppress(OSError), open_regular(path) as file:
        first = file.readline(80).decode(errors="replace").strip()
        if first.startswith(HEADING):
            return first.removeprefix(HEADING)
    return None


def read(path: Path) -> Raw:
    """The plain data in a YAML or TOML file."""
    if path.suffix not in (".yaml", ".yml", ".toml"):
        raise ConfigError(f"{path}: expected a file that ends in .yaml, .yml or .toml")
    try:
        text = read_regular(path, LARGEST_FILE).decode()
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file{_similar_file(path)}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        raw = parse_toml(text) if path.suffix == ".toml" else parse_yaml(text)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if raw is None:
        raise ConfigError(f"{path}: the file is empty; write at least `game: <name>`")
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: expected fields such as `game: kuhn_poker`, got {_shown(raw)}")
    return raw


def parse_toml(text: str) -> Raw:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(f"not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError("not valid TOML: nested too deeply") from None


def parse_override(text: str) -> tuple[list[str], Any]:
    """`solver.sampling.epsilon=0.5` as its path and its value, which is read as YAML."""
    path, equals, value = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise ConfigError(f"--set {text}: expected dotted.path=value, such as seed=1")
    try:
        return keys, parse_yaml(value)
    except ConfigError as error:
        raise ConfigError(f"--set {text}: {error}") from None


def _overridden(raw: Raw, path: list[str], value: Any, above: str = "") -> Raw:
    """A copy of `raw` with one value replaced; a new `type` drops the old variant's fields."""
    key, *rest = path
    if not rest:
        return {TAG: value} if key == TAG and raw.get(TAG) != value else {**raw, key: value}
    table = raw.get(key, {})
    if not isinstance(table, dict):
        raise ConfigError(
            f"--set {above}{'.'.join(path)}: {above}{key} is {_shown(table)}, not a table of fields"
        )
    return {**raw, key: _overridden(table, rest, value, f"{above}{key}.")}


class _Builder:
    """Plain data into structs; knows where each value came from, for the errors."""

    def __init__(self, source: str, overridden: set[str]) -> None:
        self.source = source
        self.overridden = overridden

    def build(self, kind: Any, raw: Any, path: str, default: Any) -> Any:
        """A value of `kind`; whatever a table leaves out is taken from `default`."""
        choices = variants(kind)
        if not choices:
            return self.value(kind, raw, path)
        if not isinstance(raw, Mapping):
            raise self.error(path, raw, f"a table of fields: {', '.join(self.names(choices))}")
        chosen = self.variant(choices, raw, path, default)
        known = fields(chosen)
        prefix = f"{path}." if path else ""
        for key in raw:
            if key not in known and not (key == TAG and _tagged(choices)):
                raise self.unknown(f"{prefix}{key}", str(key), chosen, choices)
        base = default if type(default) is chosen else None
        values = {}
        for name, field in known.items():
            fallback = getattr(base, name) if base is not None else default_of(field)
            if name in raw:
                values[name] = self.build(field.type, raw[name], f"{prefix}{name}", fallback)
            elif fallback is msgspec.NODEFAULT:
                wanted = f"{expected(field.type)}, {meta(field.type).description}"
                raise ConfigError(f"{self.source}: {prefix}{name}: missing; expected {wanted}")
            else:
                values[name] = fallback
        built: Struct = chosen(**values)
        return built

    def variant(
        self, choices: dict[str, type[Struct]], raw: Mapping[str, Any], path: str, default: Any
    ) -> type[Struct]:
        if not _tagged(choices):
            return next(iter(choices.values()))
        usual = tag_of(type(default)) if isinstance(default, Struct) else next(iter(choices))
        tag = raw.get(TAG, usual)
        if isinstance(tag, str) and tag in choices:
            return choices[tag]
        wanted = f"one of {', '.join(choices)}" if len(choices) > 1 else next(iter(choices))
        raise self.error(f"{path}.{TAG}", tag, wanted + _nearest(str(tag), choices))

    def value(self, kind: Any, raw: Any, path: str) -> Any:
        if plain(kind) is int and isinstance(raw, float) and raw.is_integer():
            raw = int(raw)
        if isinstance(raw, float) and not math.isfinite(raw):
            raise self.error(path, raw, expected(kind).replace("a number", "a finite number"))
        if isinstance(raw, int) and abs(raw) > LARGEST:
            raise self.error(path, raw, f"{expected(kind)}, and at most {LARGEST}")
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError:
            raise self.error(path, raw, expected(kind)) from None

    def names(self, choices: dict[str, type[Struct]]) -> list[str]:
        tag = [TAG] if len(choices) > 1 else []
        return tag + list(dict.fromkeys(name for kind in choices.values() for name in fields(kind)))

    def unknown(
        self, path: str, key: str, chosen: type[Struct], choices: dict[str, type[Struct]]
    ) -> ConfigError:
        """An unknown field: its variant, the nearest name here, or where this name belongs."""
        here = list(fields(chosen))
        others = [tag for tag, kind in choices.items() if key in fields(kind)]
        paths = [field.path for field in walk() if field.path.endswith(f".{key}")]
        elsewhere = sorted(paths, key=lambda path: path.count("."))
        if others:
            hint = f"; it needs {TAG}: {others[0]}"
        else:
            hint = _nearest(key, here) or (f"; did you mean {elsewhere[0]}?" if elsewhere else "")
        owner = f" of type {tag_of(chosen)}" if len(choices) > 1 else ""
        known = f"fields here{owner}: {', '.join(here)}" if here else f"there are no fields{owner}"
        return ConfigError(f"{self.origin(path)}: {path}: unknown field{hint} ({known})")

    def error(self, path: str, raw: Any, wanted: str) -> ConfigError:
        field = f"{path} = " if path else ""
        return ConfigError(f"{self.origin(path)}: {field}{_shown(raw)}: expected {wanted}")

    def origin(self, path: str) -> str:
        given = any(path == name or path.startswith(f"{name}.") for name in self.overridden)
        return "--set" if given else self.source


def _tagged(choices: Mapping[str, type[Struct]]) -> bool:
    return all(kind.__struct_config__.tag is not None for kind in choices.values())


def _nearest(word: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(names), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def _similar_file(path: Path) -> str:
    try:
        present = [file.name for file in path.parent.iterdir()]
    except OSError:
        return ""
    return _nearest(path.name, present)


def _shown(value: Any) -> str:
    """A value in at most some forty characters."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a number of more than 18 digits"
    return reprlib.repr(value)

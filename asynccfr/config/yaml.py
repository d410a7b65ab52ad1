"""YAML as people expect it: plain data only, unique keys, numbers and truth values of YAML 1.2.

PyYAML follows YAML 1.1, which reads `1e-3` as text, `010` as 8, `1:30` as 90 and `no` as false, and
keeps the last of two equal keys in silence.
"""

import re
from collections.abc import Hashable
from typing import Any

import yaml

from asynccfr.errors import ConfigError


def parse_yaml(text: str) -> Any:
    """The plain data in a YAML text. Raises ConfigError with the line and column of the fault."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"not valid YAML{where}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"not valid YAML: {error}") from None
    except RecursionError:
        raise ConfigError("not valid YAML: nested too deeply") from None


def dump_yaml(data: Any) -> str:
    """Plain data as YAML that `parse_yaml` and readers of YAML 1.1 read back alike."""
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False))


class _Dumper(yaml.SafeDumper):
    """Quotes what either version of YAML would take for more than text."""


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _fault("expected a field name here, got a list or a table", key)
            if key.value in seen:
                raise _fault(f"the key {key.value!r} is written twice; keep one", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        try:
            return int(node.value)
        except ValueError:
            raise _fault(f"a number of {len(node.value)} digits", node) from None


def _fault(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_DIGITS = r"[0-9][0-9_]*"
_IMPLICIT = {
    "null": ("~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": ("true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (f"[-+]?{_DIGITS}", list("-+0123456789")),
    "float": (
        rf"[-+]?(?:\.[0-9]+|{_DIGITS}(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    "merge": ("<<", ["<"]),
}
for _tag, (_pattern, _first) in _IMPLICIT.items():
    _regexp = re.compile(f"^(?:{_pattern})$")
    for _kind in (_Loader, _Dumper):
        _kind.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _regexp, _first)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)

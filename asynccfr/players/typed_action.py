"""Which action a person means: `3`, `p r7`, `deck`, `pile g`, or its whole name."""

import re
from collections.abc import Sequence


class NotUnderstood(Exception):
    """What was typed names no action, or several; the message says which."""


def typed_action(text: str, names: Sequence[str]) -> int:
    """The index of the action that was typed; a number alone counts from 1.

    Every word typed must begin another word of the name, a number must be there in full; `rw` may
    stand for `r w`. Raises NotUnderstood.
    """
    text = " ".join(text.lower().split())
    if text in names:
        return names.index(text)
    if text.isdigit():
        if 1 <= int(text) <= len(names):
            return int(text) - 1
        raise NotUnderstood(f"{text}: there are choices 1 to {len(names)}")
    words = re.findall(r"[a-z]+|\d+", text)
    letters = re.findall(r"[a-z]|\d+", text)
    for parts in (words, letters):
        meant = [index for index, name in enumerate(names) if abbreviates(parts, name)]
        if len(meant) == 1:
            return meant[0]
        if meant:
            raise NotUnderstood(f"{text}: {', '.join(names[index] for index in meant)}?")
    raise NotUnderstood(f"{text}: none of the choices; type one by its number, or `help`")


def abbreviates(parts: Sequence[str], name: str) -> bool:
    """Whether every part begins a word of the name, no two of them the same word."""
    left = name.lower().split()
    for part in sorted(parts, key=len, reverse=True):
        fitting = [
            word for word in left if (word == part if part.isdigit() else word.startswith(part))
        ]
        if not fitting:
            return False
        left.remove(fitting[0])
    return bool(parts)

"""What a type checker makes of batched functions; it is checked, and need not run."""

from collections.abc import Sequence
from typing import assert_type

from asynccfr import Call, batched


class Words:
    @batched(max_batch=4)
    def lengths(self, words: list[str]) -> list[int]:
        return [len(word) for word in words]

    @batched(max_batch=4)
    async def initials(self, words: Sequence[str]) -> list[bytes]:
        return [word[:1].encode() for word in words]

    @batched(max_batch=4)
    @staticmethod
    def upper(words: list[str]) -> list[str]:
        return [word.upper() for word in words]

    @batched(max_batch=4)
    @classmethod
    def named(cls, words: list[str]) -> list[tuple[str, str]]:
        return [(cls.__name__, word) for word in words]


@batched(max_batch=4)
async def parse(words: list[str]) -> list[float]:
    return [float(word) for word in words]


async def use(words: Words) -> None:
    assert_type(await words.lengths("a"), int)
    assert_type(words.initials("a"), Call[bytes])
    assert_type(await words.upper("a"), str)
    assert_type(await Words.upper("a"), str)
    assert_type(await words.named("a"), tuple[str, str])
    assert_type(await Words.named("a"), tuple[str, str])
    assert_type(await parse("1"), float)
    words.lengths(1)  # type: ignore[arg-type]

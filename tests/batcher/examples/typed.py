"""What a type checker makes of batched functions; it is checked, and need not run."""

from collections.abc import Sequence
from functools import partial
from typing import assert_type

from asynccfr import Batcher, Call, batched


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
    words.lengths("a", timout=1)  # type: ignore[call-arg]


def lengths(words: list[str]) -> list[int]:
    return [len(word) for word in words]


def parsed(words: list[str]) -> list[int | Exception]:
    return [int(word) if word.isdigit() else ValueError(word) for word in words]


def scaled(words: list[str], factor: int) -> list[int]:
    return [factor * len(word) for word in words]


def keyed(words: list[str], *, key: int) -> list[int]:
    return [key * len(word) for word in words]


async def use_batchers() -> None:
    batcher = Batcher(lengths, max_batch=4)
    assert_type(await batcher("a", priority=1), int)
    assert_type(await batcher.many(["a", "b"]), list[int])
    assert_type(await Batcher(parsed, max_batch=4)("a"), int)
    assert_type(await Batcher(partial(scaled, factor=2), max_batch=4)("a"), int)
    assert_type(await Batcher(keyed, max_batch=4)("a", key=2), int)
    written_here: Batcher[str, int] = Batcher(lambda words: [len(w) for w in words], max_batch=4)
    assert_type(await written_here("a"), int)
    batcher.max_batch = 5  # type: ignore[misc]
    batcher.configure(max_batch=5)
    await batcher("a", timout=1)  # type: ignore[call-arg]
    batcher.call_from_thread("a", timout=1)  # type: ignore[call-arg]
    Batcher(lengths, max_batch=4, batch_window=3)  # type: ignore[call-overload]
    batched(max_batch=4, isolate_error=True)  # type: ignore[call-arg]

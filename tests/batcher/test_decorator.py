"""`@batched` functions and methods."""

import asyncio
import copy
import gc
import inspect
import pickle
import weakref
from abc import abstractmethod
from contextvars import ContextVar
from functools import partial
from typing import ClassVar

import pytest

from asynccfr.batcher import Batcher, BatcherClosed, BatcherError, batched


async def test_a_function():
    batches = []

    @batched(max_batch=4)
    async def double(items: list[int]) -> list[int]:
        """Twice as much."""
        batches.append(items)
        return [2 * item for item in items]

    assert await asyncio.gather(*map(double, range(6))) == [0, 2, 4, 6, 8, 10]
    assert batches == [[0, 1, 2, 3], [4, 5]]
    assert double.__name__ == "double"
    assert double.__doc__ == "Twice as much."
    assert double.batcher.statistics().items == 6
    assert await double(1, timeout=60) == 2
    await double.aclose()
    with pytest.raises(BatcherClosed):
        await double(1)


async def test_a_plain_function_as_a_context_manager():
    @batched(max_batch=4)
    def negate(items):
        return [-item for item in items]

    for _ in range(2):  # such as a service that starts again
        async with negate as same:
            assert same is negate
            assert await negate(3) == -3
        with pytest.raises(BatcherClosed):
            await negate(3)


async def test_a_decorated_function_outlives_a_loop():
    @batched(max_batch=4)
    async def double(items):
        return [2 * item for item in items]

    async def use():
        async with double:
            return await double(2)

    for _ in range(2):
        assert await asyncio.to_thread(lambda: asyncio.run(use())) == 4


class Model:
    def __init__(self, factor):
        self.factor = factor

    @batched(max_batch=4, inline=True)
    def scale(self, items):
        return [self.factor * item for item in items]


async def test_every_instance_has_its_own_batcher():
    two, three = Model(2), Model(3)
    assert await asyncio.gather(two.scale(1), three.scale(1), two.scale(5)) == [2, 3, 10]
    assert two.scale is two.scale
    assert two.scale.batcher is not three.scale.batcher
    assert two.scale.batcher.statistics().batch_size.counts == {2: 1}
    assert Model.scale.__name__ == "scale"
    await asyncio.gather(two.scale.aclose(), three.scale.aclose())


@pytest.mark.parametrize("options", [{}, {"batch_window_us": 100}, {"timeout": 60}])
@pytest.mark.parametrize("inline", [True, False])
async def test_instances_are_not_kept_alive(options, inline):
    class Model:
        @batched(max_batch=4, inline=inline, **options)
        def double(self, items):
            return [2 * item for item in items]

    model = Model()
    assert await model.double(1) == 2
    alive = weakref.ref(model)
    del model
    await asyncio.sleep(0.01)
    gc.collect()
    assert alive() is None


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    @batched(max_batch=8)
    async def embed(self, items):
        return [self.scale * item for item in items]

    @batched(max_batch=8)
    async def __hidden(self, items):
        return [len(items)] * len(items)

    async def together(self, count):
        return await asyncio.gather(*(self.__hidden(i) for i in range(count)))


class Tenfold(Scaled):
    async def embed(self, item):
        return 10 * await super().embed(item)


async def test_a_subclass_may_override_a_batched_method():
    tenfold = Tenfold(2)
    assert [await tenfold.embed(1) for _ in range(3)] == [20, 20, 20]


async def test_private_methods_share_batches_too():
    assert await Scaled(1).together(8) == [8] * 8


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))]
)
async def test_a_copied_instance_has_a_batcher_of_its_own(copied):
    first = Scaled(2)
    assert await first.embed(1) == 2
    second = copied(first)
    second.scale = 5
    assert (await first.embed(1), await second.embed(1)) == (2, 5)


class Catalogue:
    sizes: ClassVar[list[int]] = []

    @batched(max_batch=8, inline=True)
    @staticmethod
    def static(items):
        Catalogue.sizes.append(len(items))
        return items

    @staticmethod
    @batched(max_batch=8, inline=True)
    def outer_static(items):
        Catalogue.sizes.append(len(items))
        return items

    @batched(max_batch=8, inline=True)
    @classmethod
    def of_class(cls, items):
        cls.sizes.append(len(items))
        return [cls.__name__] * len(items)

    @batched(max_batch=8, inline=True)
    @abstractmethod
    def to_override(self, items): ...


class Special(Catalogue): ...


@pytest.mark.parametrize("name", ["static", "outer_static", "of_class"])
async def test_static_and_class_methods_share_batches(name):
    Catalogue.sizes.clear()
    callers = [getattr(it, name) for it in (Catalogue, Catalogue(), Catalogue())]
    await asyncio.gather(*(caller(1) for caller in callers))
    assert Catalogue.sizes == [3]


async def test_a_class_method_knows_its_class():
    calls = [kind.of_class(1) for kind in (Catalogue, Special, Catalogue, Special)]
    assert await asyncio.gather(*calls) == ["Catalogue", "Special"] * 2
    assert Special.of_class is Special().of_class
    assert Special.to_override.__isabstractmethod__


async def test_methods_of_one_name_are_told_apart():
    class Twice:
        one, two = (
            batched(max_batch=8, inline=True)(lambda self, items, n=n: [n for _ in items])
            for n in (1, 2)
        )

    Base = Twice

    class Twice(Base):
        @batched(max_batch=8, inline=True)
        def one(self, items):
            return [3 for _ in items]

        async def both(self):
            return [await super().one(0), await self.one(0)]

    it = Twice()
    assert [await it.one(0), await it.two(0), await it.one(0)] == [3, 2, 3]
    assert await it.both() == [1, 3]


async def test_a_decorated_function_looks_like_what_it_is():
    @batched(max_batch=8)
    async def double(items: list[int]) -> list[int]:
        return [2 * item for item in items]

    assert list(inspect.signature(double).parameters) == ["item", "options"]
    assert await double.__wrapped__([1]) == [2]
    for function in (double, Batcher(double.__wrapped__, max_batch=2)):
        assert asyncio.iscoroutinefunction(function)
        assert await partial(function, timeout=9)(4) == 8


owner = ContextVar("owner", default="nobody")


class Whose:
    @batched(max_batch=8)
    def context(self, items):
        return [owner.get() for _ in items]


async def test_the_first_caller_leaves_nothing_to_the_others():
    whose = Whose()
    owner.set("the first caller")
    assert await whose.context(1) == "nobody"
    owner.set("the second caller")
    assert await whose.context(1) == "nobody"
    await whose.context.aclose()


def test_mistakes_are_told_where_the_function_is_decorated():
    with pytest.raises(ValueError, match="max_batch=0"):

        @batched(max_batch=0)
        def one(items): ...

    with pytest.raises(TypeError, match="max_bach"):

        @batched(max_batch=1, max_bach=3)
        def two(items): ...

    with pytest.raises(TypeError):

        @batched
        def three(items): ...


async def test_classes_without_a_dictionary_are_told():
    class Slotted:
        __slots__ = ()

        @batched(max_batch=8)
        async def embed(self, items):
            return items

    with pytest.raises(BatcherError, match="__slots__"):
        Slotted().embed(1)


async def test_entering_a_closed_batcher_says_so():
    batcher = Batcher(lambda items: items, max_batch=2, inline=True)
    await batcher.aclose()
    with pytest.raises(BatcherClosed, match="closed"):
        async with batcher:
            pass


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
async def test_batchers_and_calls_are_not_copied(copied):
    async with Batcher(list, max_batch=2, inline=True) as batcher:
        call = batcher(1)
        for original in (batcher, call):
            with pytest.raises(TypeError, match="cannot pickle"):
                copied(original)
        assert await call == 1


async def test_objects_with_batched_methods_are_freed_at_once():
    class Embedder:
        @batched(max_batch=8)
        async def embed(self, items):
            return [(id(self), item) for item in items]

    gc.disable()
    try:
        embedder = Embedder()
        gone = weakref.ref(embedder)
        assert await embedder.embed(1) == (id(embedder), 1)
        del embedder
        assert gone() is None
        call = Embedder().embed(2)  # kept alive by those who wait
        assert (await call)[1] == 2
        bound = Embedder().embed
        assert (await bound(3))[1] == 3
    finally:
        gc.enable()

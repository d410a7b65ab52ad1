"""`@batched` functions and methods."""

import asyncio
import copy
import gc
import pickle
import weakref

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
        double(1)


async def test_a_plain_function_as_a_context_manager():
    @batched(max_batch=4)
    def negate(items):
        return [-item for item in items]

    async with negate as same:
        assert same is negate
        assert await negate(3) == -3
    assert not negate.batcher.is_open


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

"""`@batched` functions and methods."""

import asyncio
import gc
import weakref

import pytest

from asynccfr.batcher import BatcherClosed, batched


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

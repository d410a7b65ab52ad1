"""Batch functions that raise, or break their contract: whatever fails, nobody hangs."""

import asyncio
import threading
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import uvloop

from asynccfr.batcher import Batcher, BatcherError
from tests.batcher.support import turns

ITEMS = list(range(5))


async def outcomes(batcher, items=ITEMS):
    async with asyncio.timeout(30):
        return await asyncio.gather(*map(batcher, items), return_exceptions=True)


class Faulty:
    """Fails in the given way once, then works."""

    def __init__(self, fail):
        self.fail = fail

    def __call__(self, items):
        if self.fail is not None:
            fail, self.fail = self.fail, None
            return fail(items)
        return items


def raising(error):
    def fail(items):
        raise error

    return fail


class Table:
    """Like those of pandas: `table[i]` is what has the label i, `table.iloc[i]` the i-th."""

    def __init__(self, values, labels):
        self.iloc = values
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, label):
        return self.iloc[self.labels.index(label)]


class BrokenTable:
    def __len__(self):
        return 5

    def __getitem__(self, index):
        raise KeyError(index)


async def test_an_exception_reaches_every_caller_as_its_own_object(build):
    original = ValueError("no such word", 7)
    async with build(Faulty(raising(original)), max_batch=5) as batcher:
        errors = await outcomes(batcher)
        assert [type(error) for error in errors] == [ValueError] * 5
        assert len({id(error) for error in errors}) == 5
        assert all(error.args == ("no such word", 7) for error in errors)
        assert all(error.__cause__ is original for error in errors)
        assert await outcomes(batcher) == ITEMS
        assert batcher.statistics().failed == 5


class Peculiar(Exception):
    """Cannot be made again from its args."""

    def __init__(self, code, *, detail):
        super().__init__(f"code {code}: {detail}")
        self.code = code


class Unspeakable(Exception):
    """Cannot be copied at all."""

    def __init__(self, permit):
        pass

    def __new__(cls, *args, permit=False):
        if not permit:
            raise TypeError("there is only one of me")
        return super().__new__(cls)


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        (Peculiar(3, detail="odd"), Peculiar),
        (Unspeakable(permit=True), BatcherError),
        (OSError(2, "missing", "file"), FileNotFoundError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), UnicodeDecodeError),
        (KeyError("key"), KeyError),
        (ExceptionGroup("several", [ValueError(1)]), ExceptionGroup),
        (StopIteration(1), RuntimeError),
        (StopAsyncIteration(1), StopAsyncIteration),
        (GeneratorExit(), BatcherError),
        (asyncio.CancelledError(), BatcherError),
        (TimeoutError("the function's own"), TimeoutError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else type(value).__name__,
)
async def test_whatever_is_raised_callers_get_an_error_and_the_batcher_goes_on(
    build, original, expected
):
    async with build(Faulty(raising(original)), max_batch=5) as batcher:
        errors = await outcomes(batcher)
        assert {type(error) for error in errors} <= {expected, BatcherError}
        assert expected is RuntimeError or type(errors[0]) is expected
        assert len({id(error) for error in errors}) == 5
        for error in errors:
            cause = error.__cause__
            if isinstance(original, StopIteration) and cause is not original:
                cause = cause.__cause__  # Python has a coroutine raise RuntimeError for it
            assert cause is original
        assert await outcomes(batcher) == ITEMS


@pytest.mark.parametrize("isolate_errors", [False, True])
@pytest.mark.parametrize("original", [KeyboardInterrupt(), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("new_event_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("inline", [True, False])
def test_ctrl_c_fails_the_callers_and_stops_the_loop(
    inline, new_event_loop, original, isolate_errors
):
    def interrupted(items):
        raise original

    async def interrupted_later(items):
        await asyncio.sleep(0)
        raise original

    batcher = Batcher(
        interrupted if inline else interrupted_later,
        max_batch=5,
        inline=inline,
        isolate_errors=isolate_errors,
    )
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        callers = []

        async def main():
            callers.extend(batcher(item) for item in ITEMS)
            await asyncio.sleep(30)

        with pytest.raises(type(original)):
            runner.get_loop().run_until_complete(main())
        errors = runner.run(gathered(callers))
        assert {type(error) for error in errors} == {BatcherError}
        assert {error.__cause__ for error in errors} == {original}
        runner.run(batcher.aclose())


async def gathered(callers):
    return await asyncio.gather(*callers, return_exceptions=True)


async def test_an_interruption_in_a_thread_is_reported():
    reports = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, report: reports.append(report))
    original = SystemExit(3)
    async with Batcher(Faulty(raising(original)), max_batch=5) as batcher:
        assert {type(error) for error in await outcomes(batcher)} == {BatcherError}
        assert await outcomes(batcher) == ITEMS
    assert [report["exception"] for report in reports] == [original]


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (lambda items: items[:-1], "4 results for 5 items"),
        (lambda items: [*items, 0], "6 results for 5 items"),
        (lambda items: [], "0 results for 5 items"),
        (lambda items: None, "returned NoneType"),
        (lambda items: 7, "returned int"),
        (lambda items: "abcde", "returned str"),
        (lambda items: b"abcde", "returned bytes"),
        (lambda items: dict.fromkeys(items), "returned dict"),
        (lambda items: set(items), "returned set"),
        (lambda items: (item for item in items), "returned generator"),
        (lambda items: map(str, items), "returned map"),
        (lambda items: np.float64(1), "returned float64"),
        (lambda items: np.array(1), "array"),
        (lambda items: BrokenTable(), "BrokenTable that cannot be indexed by item"),
    ],
)
async def test_a_result_that_is_not_one_for_each_item(build, results, message):
    async with build(Faulty(results), max_batch=5) as batcher:
        errors = await outcomes(batcher)
        assert all(isinstance(error, BatcherError) for error in errors)
        assert all(message in str(error) for error in errors)
        assert len({id(error) for error in errors}) == 5
        assert await outcomes(batcher) == ITEMS


async def test_labels_of_a_table_do_not_mix_results_up(build):
    async with build(lambda items: Table(items, list(reversed(ITEMS))), max_batch=5) as batcher:
        assert await outcomes(batcher) == ITEMS


@pytest.mark.parametrize("pad", [True, False])
async def test_the_function_may_change_its_list(build, pad):
    def double(items):
        doubled = [2 * item for item in items]
        if pad:
            items += [0] * (64 - len(items))
        else:
            items.clear()
        return doubled

    for isolate in (False, True):
        async with build(double, max_batch=5, isolate_errors=isolate) as batcher:
            assert await outcomes(batcher) == [0, 2, 4, 6, 8]


async def test_results_may_be_any_array_indexed_by_its_first_axis(build):
    torch = pytest.importorskip("torch")
    for results in (
        lambda items: np.array(items),
        lambda items: np.array(items)[:, None] * [1, 2],
        lambda items: torch.tensor(items),
        lambda items: range(len(items)),
        lambda items: memoryview(bytes(items)),
    ):
        async with build(results, max_batch=5) as batcher:
            values = await outcomes(batcher)
        assert [int(np.ravel(value)[0]) for value in values] == ITEMS


async def test_an_exception_in_one_place_is_raised_for_that_caller(build):
    shared = ValueError("odd")
    async with build(lambda items: [shared if i % 2 else i for i in items], max_batch=5) as batcher:
        values = await outcomes(batcher)
    assert values[::2] == [0, 2, 4]
    assert [type(error) for error in values[1::2]] == [ValueError, ValueError]
    assert values[1] is not values[3]
    assert values[1].__cause__ is shared
    assert batcher.statistics().failed == 2


async def test_an_interruption_in_one_place_is_an_error_for_that_caller(build):
    bad = [KeyboardInterrupt(), asyncio.CancelledError(), 2, 3, 4]
    asyncio.get_running_loop().set_exception_handler(lambda loop, report: None)
    async with build(lambda items: bad, max_batch=5) as batcher:
        values = await outcomes(batcher)
    assert [type(value) for value in values[:2]] == [BatcherError, BatcherError]
    assert values[2:] == [2, 3, 4]


@pytest.mark.parametrize("poison", [[], [0], [6], [2, 5], list(range(7))])
async def test_bisecting_finds_exactly_the_poisonous_items(build, poison):
    sizes = []

    def picky(items):
        sizes.append(len(items))
        if bad := [item for item in items if item in poison]:
            raise ValueError(f"cannot digest {bad}")
        return items

    async with build(picky, max_batch=7, isolate_errors=True) as batcher:
        values = await outcomes(batcher, range(7))
    for item, value in enumerate(values):
        if item in poison:
            assert isinstance(value, ValueError)
            assert str(value) == f"cannot digest [{item}]"
        else:
            assert value == item
    assert sizes[0] == 7
    assert len(sizes) == (1 if not poison else len(sizes))
    assert batcher.statistics().batches == 1


async def test_an_outage_is_not_bisected(build):
    sizes = []

    def down(items):
        sizes.append(len(items))
        raise ConnectionError("no route to the database")

    async with build(down, max_batch=64, isolate_errors=True) as batcher:
        errors = await outcomes(batcher, range(64))
    assert {type(error) for error in errors} == {ConnectionError}
    assert sizes == [64, 32, 32]


@pytest.mark.parametrize(
    "isolate_errors", [ValueError, (ValueError, KeyError), lambda error: "digest" in str(error)]
)
async def test_only_errors_that_are_worth_it_are_bisected(build, isolate_errors):
    sizes = []

    def picky(items):
        sizes.append(len(items))
        if "down" in items:
            raise ConnectionError
        if 3 in items:
            raise ValueError("cannot digest 3")
        return items

    async with build(picky, max_batch=8, isolate_errors=isolate_errors) as batcher:
        assert sum(isinstance(each, Exception) for each in await outcomes(batcher, range(8))) == 1
        sizes.clear()
        errors = await outcomes(batcher, [*range(7), "down"])
    assert {type(error) for error in errors} == {ConnectionError}
    assert sizes == [8]


async def test_a_tuple_may_be_several_values_and_is_refused(build):
    async with build(lambda items: ([1, 2], [0.1, 0.2]), max_batch=2) as batcher:
        errors = await outcomes(batcher, range(2))
    assert {type(error) for error in errors} == {BatcherError}
    assert "a tuple of 2" in str(errors[0])


async def test_errors_that_nobody_receives_are_reported(build):
    reports, records = [], []
    asyncio.get_running_loop().set_exception_handler(lambda loop, report: reports.append(report))
    late = RuntimeError("after everybody had left")
    gate = threading.Event()

    def fail(items):
        gate.wait(10)
        raise late

    async with Batcher(fail, max_batch=4, on_batch=records.append) as batcher:
        calls = [batcher(item, timeout=0.01) for item in range(2)]
        await asyncio.gather(*calls, return_exceptions=True)
        gate.set()
    assert [report["exception"] for report in reports] == [late]
    assert [record.error for record in records] == [late]


async def test_the_init_of_an_error_does_not_run_for_every_caller(build):
    made = []

    class Counted(Exception):
        def __init__(self, text):
            super().__init__(text)
            made.append(text)

    async with build(Faulty(raising(Counted("once"))), max_batch=5) as batcher:
        errors = await outcomes(batcher)
    assert {type(error) for error in errors} == {Counted}
    assert made == ["once"]


@pytest.mark.parametrize("isolate_errors", [False, True])
async def test_a_task_factory_that_raises_wedges_nobody(isolate_errors):
    async def echo(items):
        return items

    loop = asyncio.get_running_loop()
    async with Batcher(echo, max_batch=4, isolate_errors=isolate_errors) as batcher:
        calls = [batcher(item) for item in range(3)]
        loop.set_task_factory(lambda *arguments, **options: 1 / 0)
        async with asyncio.timeout(10):
            errors = await asyncio.gather(*calls, return_exceptions=True)
            loop.set_task_factory(None)
            assert {type(error) for error in errors} == {ZeroDivisionError}
            assert await batcher(7) == 7


@pytest.mark.parametrize("inline", [True, False])
async def test_the_function_learns_its_key(inline):
    def scaled(items, *, key):
        return [key * item for item in items]

    async def scaled_later(items, *, key):
        return scaled(items, key=key)

    for function in (scaled, scaled if inline else scaled_later):
        async with Batcher(function, max_batch=4, inline=inline) as batcher:
            assert await asyncio.gather(batcher(1, key=2), batcher(1, key=3)) == [2, 3]


async def test_bisecting_finds_the_item_that_has_no_result(build):
    def forgetful(items):
        return [item for item in items if item != 3]

    async with build(forgetful, max_batch=5, isolate_errors=True) as batcher:
        values = await outcomes(batcher)
    assert isinstance(values.pop(3), BatcherError)
    assert values == [0, 1, 2, 4]


async def test_an_interruption_is_not_bisected():
    attempts = []

    def interrupted(items):
        attempts.append(len(items))
        raise SystemExit(1)

    asyncio.get_running_loop().set_exception_handler(lambda loop, report: None)
    async with Batcher(interrupted, max_batch=5, isolate_errors=True) as batcher:
        assert {type(error) for error in await outcomes(batcher)} == {BatcherError}
    assert attempts == [5]


async def test_errors_of_key_and_size_reach_their_caller_only():
    """A size function that raises must not stop the batcher for everybody else."""
    async with Batcher(lambda items: items, max_batch=5, size_of=len, key=type) as batcher:
        with pytest.raises(TypeError):
            await batcher(None)
        assert await batcher("abc") == "abc"
        with pytest.raises(BatcherError, match=r"size 6, expected an integer from 1 to"):
            await batcher("abcdef")
        with pytest.raises(BatcherError, match=r"size 0"):
            await batcher("")
        with pytest.raises(TypeError, match="unhashable"):
            await batcher("abc", key=[])
        assert await batcher("abc") == "abc"
        assert batcher.statistics().items == 2
        assert batcher.statistics().queued == 0


async def test_a_plain_function_that_returns_an_awaitable_is_told_so(recwarn):
    async def compute(items):
        return items

    for function in (lambda items: asyncio.sleep(0, items), lambda items: compute(items)):
        for inline in (False, True):
            async with Batcher(function, max_batch=5, inline=inline) as batcher:
                with pytest.raises(BatcherError, match="not an `async def`"):
                    await batcher(1)


async def test_an_object_with_an_async_call_is_asynchronous():
    class Model:
        async def __call__(self, items):
            await asyncio.sleep(0)
            return items

    for model in (Model(), partial(Model()), partial(partial(Model.__call__, Model()))):
        async with Batcher(model, max_batch=5) as batcher:
            assert await batcher(1) == 1
    assert Batcher(Model(), max_batch=5).name == "Model"


async def test_a_batch_function_may_use_another_batcher():
    async with Batcher(lambda items: [i + 1 for i in items], max_batch=5, inline=True) as inner:

        async def outer_function(items):
            return await asyncio.gather(*map(inner, items))

        async with Batcher(outer_function, max_batch=5) as outer:
            assert await outcomes(outer) == [1, 2, 3, 4, 5]


async def test_a_batch_function_that_awaits_its_own_batcher_is_told_so():
    async def recursive(items):
        return await asyncio.gather(*(batcher(item - 1) for item in items))

    async with Batcher(recursive, max_batch=5) as batcher:
        with pytest.raises(BatcherError, match="called its own batcher"):
            await batcher(3)


async def test_a_thread_that_waits_for_its_own_batcher_is_told_so():
    def recursive(items):
        return [batcher.call_from_thread(item - 1) for item in items]

    async with Batcher(recursive, max_batch=5) as batcher:
        with pytest.raises(BatcherError, match="called its own batcher"):
            await batcher(3)


async def test_tasks_that_a_batch_function_starts_may_use_the_batcher():
    later = []

    async def function(items):
        async def follow_up():
            return await batcher("follow-up")

        if items == ["first"]:
            later.append(asyncio.create_task(follow_up()))
        return items

    async with Batcher(function, max_batch=5) as batcher:
        assert await batcher("first") == "first"
        assert await later[0] == "follow-up"


async def test_a_hook_that_fails_is_reported_and_harms_nobody(build):
    reports = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, report: reports.append(report))
    async with build(lambda items: items, max_batch=5, on_batch=lambda record: 1 / 0) as batcher:
        assert await outcomes(batcher) == ITEMS
        await turns()
    assert [type(report["exception"]) for report in reports] == [ZeroDivisionError]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_batch": 0}, "max_batch=0: expected an integer of at least 1"),
        ({"max_batch": 2.5}, "max_batch=2.5"),
        ({"max_batch": True}, "max_batch=True"),
        ({"max_batch": "4"}, "max_batch='4'"),
        ({"max_batch": None}, "max_batch=None"),
        ({"batch_window_us": -1}, "batch_window_us=-1"),
        ({"batch_window_us": "5"}, "batch_window_us='5'"),
        ({"batch_window_us": float("nan")}, "batch_window_us=nan"),
        ({"max_queue": 3}, "max_queue=3: expected None or at least max_batch=4"),
        ({"when_full": "drop"}, "when_full='drop'"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": "1"}, "timeout='1'"),
        ({"max_concurrent_batches": 0}, "max_concurrent_batches=0"),
        ({"adaptive": True}, "adaptive=True: expected a batch_window_us above 0"),
        ({"inline": True, "max_concurrent_batches": 2}, "inline=True"),
        ({"key": "model"}, "key='model': expected None or a plain function"),
        ({"key": asyncio.sleep}, "key=<function sleep"),
        ({"size_of": 3}, "size_of=3"),
        ({"on_batch": asyncio.sleep}, "on_batch=<function sleep"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        Batcher(lambda items: items, **{"max_batch": 4, **options})


def test_the_function_must_be_one():
    async def stream(items):
        yield items

    def generate(items):
        yield from items

    for function in (3, stream, generate, partial(generate)):
        with pytest.raises(ValueError, match=r"function=.*returns, not yields"):
            Batcher(function, max_batch=4)


@dataclass(frozen=True)
class Frozen(Exception):
    """Refuses every assignment, its cause included."""

    code: int


class Mute(Exception):
    """Can neither be made from its arguments nor shown."""

    def __init__(self, one, two):
        super().__init__(one)

    def __repr__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize("error", [Frozen(3), Mute(1, 2)], ids=["frozen", "mute"])
async def test_an_exception_that_resists_copying_harms_nobody(build, error):
    async with build(Faulty(raising(error)), max_batch=8) as batcher:
        found = await outcomes(batcher)
        assert all(isinstance(each, BatcherError | type(error)) for each in found)
        assert all(each.__cause__ is error for each in found)
        assert await outcomes(batcher) == ITEMS


async def test_an_array_without_dimensions_is_no_sequence(build):
    async with build(Faulty(lambda items: np.array(1.0)), max_batch=8) as batcher:
        found = await outcomes(batcher)
        assert all(isinstance(each, BatcherError) for each in found)
        assert await outcomes(batcher) == ITEMS


async def test_a_hook_that_is_cancelled_keeps_no_caller_waiting():
    def hook(record):
        raise asyncio.CancelledError

    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    async with Batcher(lambda items: items, max_batch=8, inline=True, on_batch=hook) as batcher:
        assert await outcomes(batcher) == ITEMS


async def test_a_note_on_one_error_is_not_on_the_others(build):
    original = ValueError("no")
    original.add_note("from the function")
    async with build(Faulty(raising(original)), max_batch=8) as batcher:
        first, second, *_ = await outcomes(batcher)
    first.add_note("for one caller")
    assert first.__notes__ == ["from the function", "for one caller"]
    assert second.__notes__ == original.__notes__ == ["from the function"]


async def test_bisecting_leaves_out_halves_that_nobody_waits_for(build):
    loop = asyncio.get_running_loop()
    batches = []

    def fail(items):
        batches.append(list(items))
        if len(batches) == 1:
            given_up = threading.Event()

            def give_up():
                for call in calls[4:]:
                    call.cancel()
                given_up.set()

            loop.call_soon_threadsafe(give_up)
            given_up.wait(0.05)
        raise ValueError(items)

    async with build(fail, max_batch=8, isolate_errors=True) as batcher:
        calls = [batcher(item) for item in range(8)]
        async with asyncio.timeout(30):
            await asyncio.gather(*calls, return_exceptions=True)
    assert [batch for batch in batches if batch[0] >= 4] in ([], [[4, 5, 6, 7]])
    assert len([batch for batch in batches if batch[0] < 4]) == 8
    assert (batcher.statistics().failed, batcher.statistics().abandoned) == (4, 4)


async def test_bisecting_gives_the_event_loop_turns():
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())

    def fail(items):
        raise ValueError(items)

    async with Batcher(fail, max_batch=2000, inline=True, isolate_errors=True) as batcher:
        errors = await outcomes(batcher, range(2000))
    ticking.cancel()
    assert {type(error) for error in errors} == {ValueError}
    assert ticks >= 2000


def test_any_kind_of_integer_is_one():
    batcher = Batcher(
        lambda items: items,
        max_batch=np.int64(4),
        max_queue=np.uint8(8),
        max_concurrent_batches=np.int32(2),
        batch_window_us=np.float32(5),
        timeout=np.float64(2),
    )
    assert (batcher.max_batch, type(batcher.max_batch)) == (4, int)

"""The adaptive window: waiting only while it promises a fuller batch."""

import asyncio

import pytest

from asynccfr.batcher import Batcher
from asynccfr.batcher.adaptive import Cost, Forecast, Forecasts
from tests.batcher.support import Recorder
from tests.batcher.test_core import Machine


def test_the_cost_of_a_batch_is_taken_apart():
    cost = Cost()
    assert cost.fixed == cost.per_row == 0
    for rows in (1, 5, 20, 3, 40):
        cost.observe(rows, 0.010 + 0.001 * rows)
    assert cost.fixed == pytest.approx(0.010)
    assert cost.per_row == pytest.approx(0.001)


def test_batches_of_one_size_count_as_fixed_cost():
    cost = Cost()
    for _ in range(10):
        cost.observe(4, 0.008)
    assert cost.fixed == pytest.approx(0.008)


def test_old_costs_are_forgotten():
    cost = Cost()
    for seconds in [0.5] * 100 + [0.001] * 200:
        cost.observe(2, seconds)
    assert cost.fixed < 0.002


def crowd(forecast, size=4, gap=0.001, start=0.0):
    for i in range(size):
        wait = forecast.arrived(start + i * gap, queued=i + 1)
    return wait


def test_a_lone_caller_never_waits():
    forecast = Forecast()
    forecast.cost.observe(1, 1.0)
    for i in range(100):
        assert forecast.arrived(float(i), queued=1) == i
        forecast.left()


def test_the_first_of_a_crowd_waits_for_the_next():
    forecast = Forecast()
    forecast.cost.observe(1, 0.1)
    crowd(forecast)
    for _ in range(4):
        forecast.left()
    assert forecast.arrived(1.0, queued=1) == pytest.approx(1.002)
    assert forecast.arrived(1.001, queued=2) == pytest.approx(1.003)


def test_nobody_waits_where_batches_cost_next_to_nothing():
    forecast = Forecast()
    forecast.cost.observe(1, 1e-6)
    crowd(forecast)
    for _ in range(4):
        forecast.left()
    assert forecast.arrived(1.0, queued=1) == 1.0


def test_many_do_not_wait_for_one():
    forecast = Forecast()
    forecast.cost.observe(1, 0.0035)
    crowd(forecast)
    for _ in range(4):
        forecast.left()
    assert forecast.arrived(1.0, queued=3) > 1.0
    forecast.left()
    assert forecast.arrived(1.001, queued=4) == 1.001


def test_a_wait_that_nobody_came_to_is_not_repeated():
    forecast = Forecast()
    forecast.cost.observe(1, 0.1)
    crowd(forecast)
    for _ in range(4):
        forecast.left()
    until = forecast.arrived(1.0, queued=1)
    assert until > 1.0
    forecast.started(until)
    forecast.left()
    assert forecast.arrived(2.0, queued=1) == 2.0


def test_forecasts_of_many_keys_take_bounded_memory():
    forecasts = Forecasts()
    forecasts["busy"].under_way = 1
    for key in range(5000):
        forecasts[key].arrived(0.0, 1)
        forecasts[key].left()
    assert len(forecasts) <= 1024
    assert "busy" in forecasts


async def test_a_lane_waits_as_forecast_at_most_the_window():
    machine = Machine(max_batch=10, window=0.005, forecasts=Forecasts())
    forecast = machine.forecasts[None]
    forecast.cost.observe(1, 1.0)
    forecast.crowd = 8.0
    forecast.gap = 0.001
    machine.submit("a")
    assert machine.take() is None
    machine.at(0.0015).submit("b")
    assert machine.at(0.0035).take() is None
    machine.at(0.0036)
    assert machine.take() == ("idle", ["a", "b"])


async def test_arrivals_that_keep_coming_do_not_prolong_the_window():
    machine = Machine(max_batch=100, window=0.005, forecasts=Forecasts())
    forecast = machine.forecasts[None]
    forecast.cost.observe(1, 1.0)
    forecast.crowd = 1e9
    forecast.gap = 0.001
    for i in range(5):
        machine.at(i * 0.001).submit(i)
        assert machine.take() is None
    assert machine.at(0.005).take() == ("window", [0, 1, 2, 3, 4])


async def test_in_a_loop_a_lone_caller_is_served_at_once_and_a_crowd_together():
    record = Recorder()
    async with Batcher(
        record, max_batch=64, batch_window_us=3.6e9, adaptive=True, inline=True
    ) as batcher:
        for i in range(20):
            assert await batcher(i) == 2 * i
        assert record.sizes == [1] * 20

        async def caller(item):
            for _ in range(20):
                await batcher(item)

        await asyncio.gather(*(caller(i) for i in range(16)))
        assert max(record.sizes) == 16
        assert await batcher(1) == 2
    statistics = batcher.statistics()
    assert statistics.reasons["window"] == 0
    assert statistics.succeeded == 341

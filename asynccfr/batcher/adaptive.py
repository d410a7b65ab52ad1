"""When waiting for company pays.

Waiting for one more item costs everyone who waits the time until it comes, and saves that item a
batch of its own: the fixed cost of a batch. With n items waiting, the next one expected after
`gap`, and a fixed cost c, waiting pays while n x gap < c. Two observations make that safe: nobody
is expected when as many items are under way as there have been lately (a lone caller never waits),
and a wait that nobody came to is not repeated.
"""

from collections.abc import Hashable

FORGET = 0.05
MAX_FORECASTS = 1024


class Forecast:
    """What is known about the arrivals and the execution times of one key; times in seconds."""

    def __init__(self) -> None:
        self.under_way = 0
        self.crowd = 1.0
        self.gap = float("inf")
        self.last_arrival = float("-inf")
        self.cost = Cost()

    def arrived(self, now: float, queued: int) -> float:
        """Note an arrival; until when to wait for another one with `queued` items waiting."""
        if self.under_way:
            gap = now - self.last_arrival
            known = self.gap != float("inf")
            self.gap = self.gap + FORGET * (gap - self.gap) if known else gap
        self.under_way += 1
        self.last_arrival = now
        self.crowd = max(self.under_way, self.crowd + FORGET * (self.under_way - self.crowd))
        if self.under_way + 0.5 >= self.crowd or queued * self.gap >= self.cost.fixed:
            return now
        return now + 2 * self.gap

    def started(self, now: float) -> None:
        """Note that a batch starts; nobody came where somebody was expected?"""
        if now >= self.last_arrival + 2 * self.gap:
            self.crowd = float(self.under_way)

    def left(self) -> None:
        """Note that an item has its result, or was given up."""
        self.under_way -= 1


class Cost:
    """A line through the execution times, seconds = fixed + per_row x rows, old ones forgotten."""

    def __init__(self) -> None:
        self.weight = self.rows = self.seconds = self.rows_squared = self.product = 0.0

    def observe(self, rows: int, seconds: float) -> None:
        keep = 1 - FORGET
        self.weight = keep * self.weight + 1
        self.rows = keep * self.rows + rows
        self.seconds = keep * self.seconds + seconds
        self.rows_squared = keep * self.rows_squared + rows * rows
        self.product = keep * self.product + rows * seconds

    @property
    def per_row(self) -> float:
        spread = self.weight * self.rows_squared - self.rows**2
        if spread <= 1e-9 * self.weight**2:
            return 0.0
        slope = (self.weight * self.product - self.rows * self.seconds) / spread
        return max(0.0, slope)

    @property
    def fixed(self) -> float:
        if self.weight == 0:
            return 0.0
        return max(0.0, (self.seconds - self.per_row * self.rows) / self.weight)


class Forecasts(dict[Hashable, Forecast]):
    """A forecast for every key; of the keys that are idle, the most recent ones are remembered."""

    def __missing__(self, key: Hashable) -> Forecast:
        if len(self) >= MAX_FORECASTS:
            idle = next((old for old, forecast in self.items() if not forecast.under_way), None)
            if idle is not None:
                del self[idle]
        self[key] = forecast = Forecast()
        return forecast

"""Mistakes of the batcher."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "a busy key starves the others",
        "asynccfr/batcher/core.pyx",
        "return max(lane.not_before, min(waited, lane.full_since, lane.promise))",
        "return min(waited, lane.full_since, lane.promise)",
        "tests/batcher/test_core.py -k no_key_waits_for_more",
    ),
    Mutant(
        "errors that no caller receives are dropped",
        "asynccfr/batcher/batcher.py",
        "for error in unheard:",
        "for error in unheard[:0]:",
        "tests/batcher/test_unheard.py -k reported_once",
    ),
    Mutant(
        "a coroutine that nobody waits for runs on",
        "asynccfr/batcher/batcher.py",
        "self._execution.cancel(batch)",
        "pass",
        "tests/batcher/test_unheard.py -k nobody_waits_for",
    ),
    Mutant(
        "callers share one exception",
        "asynccfr/batcher/core.pyx",
        "call.fail(personal(outcome))",
        "call.fail(outcome)",
        "tests/batcher/test_failures.py -k own_object",
    ),
    Mutant(
        "callers of equal items share one exception",
        "asynccfr/batcher/equals.py",
        "call.fail(personal(error.__cause__ or error))",
        "call.fail(error)",
        "tests/batcher/test_equals.py -k own_error",
    ),
    Mutant(
        "one caller gives an equal item up for all",
        "asynccfr/batcher/equals.py",
        "if not self.calls and not self.hidden.done():",
        "if not self.hidden.done():",
        "tests/batcher/test_equals.py -k takes_nothing_from_the_others",
    ),
    Mutant(
        "a cancelled item keeps its place",
        "asynccfr/batcher/core.pyx",
        "            self.queued_size -= call.size\n",
        "",
        "tests/batcher/test_many.py -k places_of_all",
    ),
    Mutant(
        "an outage is halved to the end",
        "asynccfr/batcher/isolation.py",
        "and alike(first, second)",
        "and not alike(first, second)",
        "tests/batcher/test_failures.py -k outage",
    ),
]

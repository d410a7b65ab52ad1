"""The comparison of backends: every arm works, its batches have the sizes that they must have."""

import msgspec
import pytest

pytest.importorskip("pyximport", reason="the loop in lockstep is compiled when it is used")

GAME = "lost_cities(colors=2, numbers=3, wagers=1, hand_size=2)"


def test_every_backend_is_measured():
    from benchmarks.backends import BackendsRecord, compare

    found = compare(GAME, concurrency=8, few=2, workers=2, repetitions=2)
    assert msgspec.json.decode(msgspec.json.encode(found), type=BackendsRecord) == found
    local, blocked, served, ours, lockstep = found.backends.values()
    assert (local.batch_max, local.groups) == (1, 1)
    assert blocked.batch_max <= 2
    assert blocked.batch_mean == pytest.approx(blocked.rows_per_forward * blocked.groups)
    assert served.batch_max > 1
    assert max(ours.batch_max, lockstep.batch_max) <= 8
    for backend in found.backends.values():
        assert backend.nodes_per_second.median > 0
        assert 0 < backend.forward_share.median < 1

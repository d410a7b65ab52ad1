import pytest

from tests.arena.duel import DuelGame


@pytest.fixture
def duel():
    return DuelGame()

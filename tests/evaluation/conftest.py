import pytest

from tests.evaluation.duel import DuelGame


@pytest.fixture
def duel():
    return DuelGame()

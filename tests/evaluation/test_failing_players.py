import asyncio

import pytest

from asynccfr.errors import PlayerError
from asynccfr.evaluation.arena import MatchPlan, play_match
from tests.evaluation.duel import Constant, Slow

PLAN = MatchPlan(deals=50, concurrency=20)


async def test_an_illegal_action_names_the_player_in_one_line_and_cancels_the_rest(duel):
    slow = Slow(naps=50)
    with pytest.raises(PlayerError) as caught:
        await play_match(duel, slow, Constant("cheat", 500), PLAN)
    assert str(caught.value) == "player 'cheat' failed: IllegalAction: action=500: expected 0 to 99"
    assert slow.cancelled > 0
    assert slow.waiting == 0


@pytest.mark.parametrize("answer", [None, "5", 0.5, 1.0, object()])
async def test_an_answer_that_is_no_action_names_the_player(duel, answer):
    class Odd:
        name = "odd"

        def act(self, state, rng):
            return answer

    with pytest.raises(PlayerError, match="player 'odd' failed: TypeError"):
        await play_match(duel, Constant("a", 1), Odd(), PLAN)


@pytest.mark.parametrize("waits", [False, True])
async def test_an_exception_names_the_player_and_stays_the_cause(duel, waits):
    class Broken:
        name = "broken"

        def act(self, state, rng):
            if waits:
                return self.later()
            raise ZeroDivisionError("by zero")

        async def later(self):
            await asyncio.sleep(0)
            raise ZeroDivisionError("by zero")

    with pytest.raises(PlayerError, match="'broken' failed: ZeroDivisionError: by zero") as e:
        await play_match(duel, Broken(), Constant("b", 1), PLAN)
    assert isinstance(e.value.__cause__, ZeroDivisionError)


async def test_a_player_that_never_answers_is_named_and_the_match_ends(duel):
    class Asleep(Slow):
        async def act(self, state, rng):
            if rng.integer(10) == 0:
                await asyncio.Event().wait()
            return await super().act(state, rng)

    plan = MatchPlan(deals=50, concurrency=20, patience=0.1)
    before = asyncio.all_tasks()
    with pytest.raises(PlayerError, match=r"player 'asleep': no answer for 0.1 s"):
        await asyncio.wait_for(play_match(duel, Asleep("asleep"), Slow("awake"), plan), 10)
    assert asyncio.all_tasks() == before


async def test_patience_is_not_lost_while_somebody_answers(duel):
    class Thinking:
        name = "thinking"

        async def act(self, state, rng):
            await asyncio.sleep(0.01)
            return 3

    plan = MatchPlan(deals=10, concurrency=1, patience=0.1)
    report = await play_match(duel, Thinking(), Constant("b", 1), plan)
    assert report.score == 2.0


async def test_an_answer_that_was_cancelled_is_an_error_and_not_a_missing_game(duel):
    class Withdrawn:
        name = "withdrawn"

        async def act(self, state, rng):
            future = asyncio.get_running_loop().create_future()
            future.cancel()
            return await future

    with pytest.raises(PlayerError, match="player 'withdrawn': its answer was cancelled"):
        await play_match(duel, Withdrawn(), Constant("b", 1), PLAN)


async def test_cancelling_a_match_cancels_its_games(duel):
    slow = Slow(naps=10**6)
    before = asyncio.all_tasks()
    match = asyncio.create_task(play_match(duel, slow, slow, PLAN))
    await asyncio.sleep(0.01)
    assert slow.waiting == 20
    match.cancel()
    with pytest.raises(asyncio.CancelledError):
        await match
    assert (slow.waiting, slow.cancelled) == (0, 20)
    assert asyncio.all_tasks() == before


async def test_an_error_of_the_progress_callback_ends_the_match(duel):
    def on_game(played):
        raise BrokenPipeError("gone")

    with pytest.raises(BrokenPipeError, match="gone"):
        await play_match(duel, Slow(), Slow(), PLAN, on_game)

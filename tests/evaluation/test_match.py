import asyncio

import pytest

from asynccfr.errors import ConfigError, GameError
from asynccfr.evaluation.arena import MatchPlan, play_match, play_matches
from asynccfr.games import load_game
from asynccfr.players import make_player
from tests.bystander import Bystander
from tests.evaluation.duel import Constant, DuelGame, Slow


async def test_luck_that_swapping_seats_cancels_leaves_the_exact_difference():
    game = DuelGame(luck=1000.0)
    report = await play_match(game, Constant("a", 7), Constant("b", 4), MatchPlan(deals=50))
    assert report.score == pytest.approx(3.0)
    assert report.score_high - report.score_low < 1e-9
    assert 0.3 < report.wins < 0.7


async def test_intervals_over_deals_cover_the_truth():
    """Although the two games of a deal depend on each other here."""
    game = DuelGame(luck=20.0, skew=1.0)
    a, b = Constant("a", 10, spread=3), Constant("b", 9, spread=3)
    covered = 0
    for seed in range(400):
        report = await play_match(game, a, b, MatchPlan(deals=30, seed=seed))
        covered += report.score_low <= 1.0 <= report.score_high
    assert 0.92 <= covered / 400 <= 0.98


async def test_mirrored_deals_estimate_the_mean_without_bias():
    game = DuelGame(luck=20.0, skew=1.0)
    a, b = Constant("a", 10, spread=3), Constant("b", 9, spread=3)
    report = await play_match(game, a, b, MatchPlan(deals=20_000))
    assert report.score_low < 1.0 < report.score_high
    assert report.score_high - report.score_low < 0.5


async def test_mirroring_narrows_the_interval_of_lost_cities():
    game = load_game("lost_cities(colors=3, numbers=6, hand_size=5, cost=10)")
    a, b = make_player("cautious", game), make_player("bold", game)
    plan = MatchPlan(deals=120)
    mirrored = await play_match(game, a, b, plan)
    scores = [game_score async for game_score in single_games(game, a, b, plan)]
    spread = sum((s - sum(scores) / len(scores)) ** 2 for s in scores) / (len(scores) - 1)
    unpaired_width = 2 * 1.96 * (spread / len(scores)) ** 0.5
    assert mirrored.score_high - mirrored.score_low < 0.9 * unpaired_width


async def single_games(game, a, b, plan):
    """As many games as the plan has, every one of another deal."""
    for seed in range(2 * plan.deals):
        state = game.new_state(seed)
        while not state.is_terminal:
            state.apply((a, b)[state.current_player].act(state, None))
        yield state.returns()[0]


@pytest.mark.parametrize("name", ["random", "discard_only", "threshold", "cautious", "bold"])
async def test_a_player_is_exactly_even_with_itself(name):
    game = load_game("lost_cities")
    a, b = make_player(name, game), make_player(name, game)
    report = await play_match(game, a, b, MatchPlan(deals=5))
    assert (report.score, report.score_low, report.score_high) == (0.0, 0.0, 0.0)
    assert report.win_rate == 0.5
    assert report.wins == report.losses
    assert all(each.a == each.b for each in report.statistics)


@pytest.mark.parametrize("rounds", [1, 3])
async def test_naming_the_players_the_other_way_round_negates_the_score(rounds):
    game = load_game("lost_cities(colors=3)")
    a, b = make_player("random", game), make_player("threshold", game)
    plan = MatchPlan(deals=10, rounds=rounds)
    there, back = await play_match(game, a, b, plan), await play_match(game, b, a, plan)
    assert there.score == -back.score != 0.0
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert [(each.a, each.b) for each in there.statistics] == [
        (each.b, each.a) for each in back.statistics
    ]


@pytest.mark.parametrize("concurrency", [1, 7, 1000])
async def test_results_do_not_depend_on_scheduling(concurrency):
    game = load_game("lost_cities(colors=2, numbers=4, hand_size=3)")

    class Dawdler:
        name = "dawdler"

        async def act(self, state, rng):
            for _ in range(rng.integer(4)):
                await asyncio.sleep(0)
            return make_player("random", game).act(state, rng)

    plan = MatchPlan(deals=20, rounds=3, concurrency=concurrency)
    report = await play_match(game, Dawdler(), make_player("threshold", game), plan)
    alone = MatchPlan(deals=20, rounds=3, concurrency=2)
    assert report == await play_match(game, Dawdler(), make_player("threshold", game), alone)


async def test_seeds_give_other_deals():
    game = load_game("lost_cities")
    a, b = make_player("random", game), make_player("cautious", game)
    first = await play_match(game, a, b, MatchPlan(deals=3, seed=1))
    second = await play_match(game, a, b, MatchPlan(deals=3, seed=2))
    assert first.score != second.score


@pytest.mark.parametrize("concurrency", [1, 20])
async def test_at_most_so_many_games_at_once_and_no_more_tasks_than_that(duel, concurrency):
    slow = Slow()
    most_tasks = 0

    def on_game(played):
        nonlocal most_tasks
        most_tasks = max(most_tasks, len(asyncio.all_tasks()))

    plan = MatchPlan(deals=500, concurrency=concurrency)
    await play_match(duel, slow, slow, plan, on_game)
    assert slow.most_waiting == concurrency
    assert most_tasks <= concurrency + 2


async def test_the_event_loop_turns_while_bots_play(duel):
    async with Bystander() as bystander:
        await play_match(duel, Constant("a", 1), Constant("b", 2), MatchPlan(deals=100))
    assert bystander.turns >= 200


async def test_progress_counts_every_game(duel):
    counts = []
    a, b = Constant("a", 1), Constant("b", 2)
    await play_match(duel, a, b, MatchPlan(deals=4), on_game=counts.append)
    assert counts == list(range(1, 9))


async def test_three_rounds_add_up_and_the_player_ahead_starts_the_next(duel):
    started_by = []

    class Noting(Constant):
        def act(self, state, rng):
            if state.current_player == 0:
                started_by.append(self.name)
            return super().act(state, rng)

    a, b = Noting("a", 5), Noting("b", 3)
    report = await play_match(duel, a, b, MatchPlan(deals=2, rounds=3))
    assert report.score == 6.0
    assert report.mean_length == 2.0
    assert started_by == ["a", "a", "a", "b", "a", "a"] * 2


async def test_after_a_tie_the_same_player_starts_again(duel):
    seats = []

    class Noting(Constant):
        def act(self, state, rng):
            seats.append((self.name, state.current_player))
            return super().act(state, rng)

    a, b = Noting("a", 5), Noting("b", 5)
    report = await play_match(duel, a, b, MatchPlan(deals=2, rounds=3))
    assert report.draws == 1.0
    assert seats == ([("a", 0), ("b", 1)] * 3 + [("b", 0), ("a", 1)] * 3) * 2


async def test_matches_of_many_pairs_use_the_same_deals_and_count_on():
    game = DuelGame(luck=20.0)
    a, b, c = (Constant(name, number) for name, number in [("a", 1), ("b", 4), ("c", 9)])
    counts = []
    matches = await play_matches(game, [(a, b), (a, c), (b, c)], MatchPlan(deals=2), counts.append)
    reports = [match.report for match in matches]
    assert [(report.a, report.b) for report in reports] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [report.score for report in reports] == pytest.approx([-3.0, -8.0, -5.0])
    assert [match.deals.mean() for match in matches] == [report.score for report in reports]
    assert {match.deals.shape for match in matches} == {(2,)}
    assert counts == list(range(1, 13))


async def test_every_registered_two_player_game_can_be_played():
    for name in ["kuhn_poker", "leduc_poker", "lost_cities"]:
        game = load_game(name)
        players = [make_player("random", game), make_player("random", game)]
        report = await play_match(game, *players, MatchPlan(deals=10))
        assert report.score == 0.0
        assert bool(report.statistics) == (name == "lost_cities")


async def test_a_game_for_three_is_refused(duel):
    duel.num_players = 3
    with pytest.raises(GameError, match="needs a game for 2 players, not 3"):
        await play_match(duel, Constant("a", 1), Constant("b", 1))


async def test_expeditions_are_those_of_the_final_tables():
    """Recomputed here from the states that a bot saw last, score sheet and all."""
    game = load_game("lost_cities(max_pile_draws=0)")
    tables = {}

    class Noting:
        name = "noting"

        def __init__(self, bot):
            self.bot = bot

        def act(self, state, rng):
            tables[id(state)] = state
            return self.bot.act(state, rng)

    a, b = Noting(make_player("bold", game)), make_player("threshold", game)
    report = await play_match(game, a, b, MatchPlan(deals=6))
    assert report.statistic("capped").a == 1.0
    assert report.statistic("pile draws").a == 0.0
    sheets = []
    for number, state in enumerate(tables.values()):
        seat_of_a = number % 2
        sheets.append(
            [
                [score(ranks) for ranks in state.view(seat).own_expeditions if ranks]
                for seat in (seat_of_a, 1 - seat_of_a)
            ]
        )
    assert len(sheets) == 12
    totals = [sum(map(sum, side)) for side in zip(*sheets, strict=True)]
    opened = [sum(map(len, side)) for side in zip(*sheets, strict=True)]
    assert report.score == pytest.approx((totals[0] - totals[1]) / 12)
    found = report.statistic("opened"), report.statistic("points each")
    assert (found[0].a, found[0].b) == pytest.approx((opened[0] / 12, opened[1] / 12))
    assert found[1].a == pytest.approx(totals[0] / opened[0])
    assert found[1].b == pytest.approx(totals[1] / opened[1])


def score(ranks):
    return (sum(ranks) - 20) * (1 + ranks.count(0)) + (20 if len(ranks) >= 8 else 0)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [("deals", 1, "at least 2"), ("rounds", 2, "1 or 3"), ("concurrency", 0, "at least 1")],
)
def test_a_plan_that_cannot_be_played_is_refused(field, value, expected):
    with pytest.raises(ConfigError, match=f"MatchPlan.{field}={value}: expected {expected}"):
        MatchPlan(**{field: value})

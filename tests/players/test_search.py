"""Search on top of an agent: it deals what is allowed, and prefers only what is better."""

from typing import Any

import numpy as np
import pytest

from asynccfr.agents import Agent, AgentCard
from asynccfr.cfr.query import Query
from asynccfr.config import MultilayerPerceptron
from asynccfr.errors import ConfigError, GameError, PlayerError
from asynccfr.evaluation.arena import MatchPlan, play_match
from asynccfr.games import load_game
from asynccfr.games.conformance import choose
from asynccfr.networks import build_network
from asynccfr.players import game_of_agents, make_player, seated
from asynccfr.players.search import SearchPlan, SearchPlayer, surely_better
from asynccfr.seeding import Rng

SPEC = "lost_cities(colors=2, numbers=4, wagers=1, hand_size=3, cost=8)"


def uniform_agent(**played: Any) -> Agent:
    game, size = load_game(SPEC), MultilayerPerceptron(width=4, depth=1)
    network = build_network(size, game.information_state_tensor_size, game.num_actions, Rng(0))
    card = AgentCard(
        game=str(game), rule="softmax", network=size, seed=0, iterations=0, nodes=0, **played
    )
    return Agent(card, network, game)


@pytest.fixture
def agent_path(tmp_path):
    path = tmp_path / "agent.safetensors"
    path.write_bytes(uniform_agent().save_bytes())
    return path


def visited(seed: int):
    """The decisions of a random round, and the generator that played it."""
    rng = Rng(seed)
    state = load_game(SPEC).new_state(rng.bits())
    while not state.is_terminal:
        yield state, rng
        state.apply(choose(state, rng))


def test_what_the_player_sees_stays_and_the_cards_add_up() -> None:
    hands = set()
    for state, rng in visited(3):
        player = state.current_player
        before = str(state)
        view = state.view(player)
        for _ in range(10):
            twin = state.determinised(player, rng.bits())
            assert twin.view(player) == view
            seen = twin.view(1 - player)
            for card in view.opponent_known:
                assert card in seen.hand
            assert len(seen.hand) == len(state.view(1 - player).hand)
            tensors = [s.information_state_tensor(player).tolist() for s in (state, twin)]
            assert tensors[0] == tensors[1]
            hands.add((state.history_length(), seen.hand))
            with pytest.raises(GameError):
                twin.undo()
            while not twin.is_terminal:
                twin.apply(choose(twin, rng))
            cards = 2 * 5
            laid = [c for p in twin.view(0).piles for c in p] + [
                c for p in range(2) for e in twin.view(p).own_expeditions for c in e
            ]
            assert len(laid) + sum(len(twin.view(p).hand) for p in range(2)) == cards
        assert str(state) == before
    assert len(hands) > 40


def test_every_hidden_hand_is_as_likely_as_the_cards_make_it() -> None:
    """At the start: two of the six cards that player 0 does not hold."""
    state = load_game("lost_cities(colors=2, numbers=4, wagers=0, hand_size=2)").new_state(1)
    hands = [state.determinised(0, seed).view(1).hand for seed in range(3000)]
    counts = {hand: hands.count(hand) for hand in set(hands)}
    assert len(counts) == 15  # two of six
    assert min(counts.values()) > 150
    assert max(counts.values()) < 250


def test_one_seed_gives_one_deal_and_one_future() -> None:
    state = load_game(SPEC).new_state(5)
    one, same = (state.determinised(0, 9) for _ in range(2))
    rng = Rng(1)
    while not one.is_terminal:
        action = choose(one, rng)
        one.apply(action)
        same.apply(action)
        assert str(one) == str(same)


def test_a_game_that_cannot_is_refused() -> None:
    with pytest.raises(GameError, match="kuhn_poker: cannot draw anew"):
        load_game("kuhn_poker").new_state(1).determinised(0, 1)


def test_only_certain_differences_count() -> None:
    noise = np.random.default_rng(0).normal(size=100)
    better = np.stack([noise, noise + 1 + 0.1 * np.sin(np.arange(100)), noise + 0.01], axis=1)
    assert surely_better(better) == 1
    assert surely_better(-better) == 0
    assert surely_better(np.random.default_rng(1).normal(size=(100, 3))) == 0
    assert surely_better(np.zeros((10, 4))) == 0


async def test_search_beats_the_agent_that_it_is_on_top_of(agent_path) -> None:
    game = load_game(SPEC)
    names = [f"search(deals=12, candidates=3):{agent_path}", str(agent_path)]
    async with seated(names, game) as (search, agent):
        assert isinstance(search, SearchPlayer)
        report = await play_match(game, search, agent, MatchPlan(deals=20))
        assert 0 < search.changed < search.moves
    assert report.score_low > 0
    assert report.a == names[0]


async def test_play_does_not_depend_on_concurrency(agent_path) -> None:
    game = load_game(SPEC)
    reports = []
    for concurrency in (1, 8):
        async with seated([f"search(deals=4):{agent_path}", "bold"], game) as (search, bot):
            plan = MatchPlan(deals=3, concurrency=concurrency)
            reports.append(await play_match(game, search, bot, plan))
    assert reports[0] == reports[1]


async def test_a_move_takes_about_its_time(agent_path) -> None:
    game = load_game(SPEC)
    async with SearchPlayer(uniform_agent(), "s", SearchPlan(milliseconds=1)) as player:
        state = game.new_state(1)
        assert await player.act(state, Rng(1)) in state.legal_actions()
        assert player.moves == 1


def test_search_is_named_in_front_of_an_agent(agent_path) -> None:
    game = load_game(SPEC)
    assert str(game_of_agents(["bold", f"search:{agent_path}"])) == str(game)
    player = make_player(f"search(milliseconds=50, candidates=3):{agent_path}", game)
    assert player.plan == SearchPlan(milliseconds=50, candidates=3)


@pytest.mark.parametrize(
    ("prefix", "complaint"),
    [
        ("search(depth=3)", "unknown option 'depth'; expected some of milliseconds, deals"),
        ("search(deals=many)", "deals"),
        ("search(deals=1)", "deals=1: expected 0 or at least 2"),
    ],
)
def test_bad_options_are_refused(agent_path, prefix: str, complaint: str) -> None:
    with pytest.raises((PlayerError, ConfigError), match=complaint):
        make_player(f"{prefix}:{agent_path}", load_game(SPEC))


def test_search_on_top_of_a_bot_is_refused() -> None:
    with pytest.raises(PlayerError, match="'bold' is no agent"):
        make_player("search:bold", load_game(SPEC))


async def test_a_greedy_agent_is_searched_among_what_it_finds_likely() -> None:
    state, _ = next(visited(3))
    async with SearchPlayer(
        uniform_agent(greedy=True), "search", SearchPlan(candidates=3)
    ) as player:
        query = Query(state)
        await player.batcher(query)
        assert len(player.others(query, state.legal_actions()[0])) == 2

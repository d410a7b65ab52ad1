"""Does a game keep the contract of `asynccfr.games.contract`? `check_game` plays it and says.

Call it from the tests of a new game. Random playouts check every node on the way. To find what a
player can and cannot tell apart, each playout is replayed for each player with other outcomes of
chance that leave the player's key as it was: whatever the player is shown must then be the same
too. The keys met are remembered with what was shown, so all playouts are compared with each other.
"""

from collections.abc import Iterator

import numpy as np

from asynccfr.errors import GameError, IllegalAction
from asynccfr.games.contract import CHANCE, TERMINAL, Game, State
from asynccfr.games.symmetry import Symmetry, moved
from asynccfr.seeding import Rng, stream

REPLAYS = 4  # of a playout, for each player
DRAWS = 2000
MAX_DEVIATION = 5.0  # standard deviations of a count of draws


def check_game(
    game: Game, *, playouts: int = 10, seed: int = 0, hidden_information: bool = True
) -> None:
    """Raise AssertionError, with the history, where the game breaks the contract.

    Args:
        playouts: random playouts; all checks run on each of them.
        seed: of the playouts.
        hidden_information: whether chance must be found to hide something from every player.
    """
    check_description(game)
    shown = Shown(game)
    alternatives = [0] * game.num_players
    for index in range(playouts):
        rng = stream(seed, (index,))
        history = check_playout(game, rng, shown)
        for player in REPLAYS * list(range(game.num_players)):
            alternatives[player] += replay_otherwise(game, history, player, rng, shown)
        check_seeded_state(game, rng)
        if game.symmetry is not None:
            check_exchanged_blocks(game, game.symmetry, history, rng)
    if hidden_information:
        for player, count in enumerate(alternatives):
            assert count, f"{game}: the key of player {player} gives every outcome of chance away"


def check_description(game: Game) -> None:
    """The attributes of the game make sense."""
    assert game.num_players >= 1
    assert 1 <= game.max_legal_actions <= game.num_actions
    assert game.information_state_tensor_size >= 1
    assert game.tensor_quantum >= 0
    assert game.min_utility < game.max_utility
    assert str(game).startswith(game.name)
    if game.symmetry is not None:
        check_blocks(game, game.symmetry)
    names = [parameter.name for parameter in game.PARAMETERS]
    assert set(game.parameters) == set(names), f"{game}: parameters other than {names}"


def check_blocks(game: Game, symmetry: Symmetry) -> None:
    """Blocks are of one length, and share no member."""
    sizes = (game.information_state_tensor_size, game.num_actions, None)
    for name, blocks, size in zip(symmetry._fields, symmetry, sizes, strict=True):
        members = [member for block in blocks for member in block]
        assert len(blocks) == len(symmetry.features), f"{name}: {len(blocks)} blocks"
        assert len({len(block) for block in blocks}) == 1, f"{name}: blocks of unequal length"
        assert len(set(members)) == len(members), f"{name}: blocks that share members"
        assert all(member >= 0 and (size is None or member < size) for member in members), name


class Shown:
    """What each key of a player has been met with; it must be the same each time.

    That is the tensor, the text, whether the game is over, the legal actions if the player is to
    move, and, for perfect recall, the player's key before this one and the action chosen there.
    """

    def __init__(self, game: Game) -> None:
        self.facts: dict[tuple[int, bytes], object] = {}
        self.game = game

    def follow(self) -> "Recall":
        return Recall(self)


class Recall:
    """The keys of every player along one history."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown
        self.keys: list[bytes | None] = [None] * shown.game.num_players
        self.origins: list[tuple[bytes | None, int | None]] = [(None, None)] * len(self.keys)
        self.chosen: list[int | None] = [None] * len(self.keys)

    def visit(self, state: State) -> None:
        """Compare what every player is shown here with what the same key was met with before."""
        for player, before in enumerate(self.keys):
            key = state.information_state_key(player)
            if key != before:
                self.origins[player] = before, self.chosen[player]
                self.keys[player], self.chosen[player] = key, None
            to_move = state.current_player == player
            fact = (
                state.information_state_tensor(player).tobytes(),
                state.information_state_string(player),
                state.is_terminal,
                tuple(state.legal_actions()) if to_move else None,
                self.origins[player],
            )
            known = self.shown.facts.setdefault((player, key), fact)
            assert known == fact, (
                f"player {player} is shown something else, or has another past, "
                f"under a key met before:\n{state}"
            )

    def choose(self, player: int, action: int) -> None:
        if player >= 0:
            self.chosen[player] = action


def check_playout(game: Game, rng: Rng, shown: Shown) -> list[int]:
    """Play at random to the end and back, checking every node; return the actions and outcomes."""
    state = game.new_state()
    recall = shown.follow()
    history: list[int] = []
    snapshots = []
    while not state.is_terminal:
        recall.visit(state)
        snapshot = take_snapshot(state)
        check_node(state)
        check_refusals(state, rng)
        step = choose(state, rng)
        check_clone(state, step)
        assert take_snapshot(state) == snapshot, f"a check changed the state:\n{state}"
        recall.choose(state.current_player, step)
        snapshots.append(snapshot)
        history.append(step)
        state.apply(step)
        assert state.history_length() == len(history)
    recall.visit(state)
    check_node(state)
    check_terminal(state)
    while snapshots:
        state.undo()
        assert take_snapshot(state) == snapshots.pop(), f"undo leads elsewhere:\n{state}"
    assert_raises(GameError, state.undo)
    return history


def choose(state: State, rng: Rng) -> int:
    """A random action, or an outcome drawn by the game."""
    if state.is_chance:
        return state.draw(rng)
    actions = state.legal_actions()
    return actions[rng.integer(len(actions))]


def take_snapshot(state: State) -> tuple[object, ...]:
    """Everything that one can see of a state."""
    players = range(state.game.num_players)
    return (
        str(state),
        state.current_player,
        state.history_length(),
        state.legal_actions(),
        state.chance_outcomes() if state.is_chance else None,
        [state.information_state_key(player) for player in players],
        [state.information_state_tensor(player).tobytes() for player in players],
    )


def check_node(state: State) -> None:
    game = state.game
    assert state.is_terminal == (state.current_player == TERMINAL)
    assert state.is_chance == (state.current_player == CHANCE)
    assert state.current_player in (CHANCE, TERMINAL, *range(game.num_players))
    legal = state.legal_actions()
    assert legal == sorted(set(legal)), f"legal actions {legal} are not ascending:\n{state}"
    assert len(legal) <= game.max_legal_actions, f"{len(legal)} legal actions:\n{state}"
    assert bool(legal) == (state.current_player >= 0), f"legal actions {legal}:\n{state}"
    assert all(0 <= action < game.num_actions for action in legal), f"{legal}:\n{state}"
    mask = state.legal_actions_mask()
    assert mask.shape == (game.num_actions,)
    assert mask.dtype == np.bool_
    assert np.flatnonzero(mask).tolist() == legal
    for action in legal:
        assert state.action_to_string(action)
    for player in range(game.num_players):
        check_tensor(state, player)
    if state.is_chance:
        check_chance(state)
    else:
        assert_raises(GameError, state.chance_outcomes)
        assert_raises(GameError, state.draw, Rng(0))
    if not state.is_terminal:
        assert_raises(GameError, state.returns)


def check_tensor(state: State, player: int) -> None:
    game = state.game
    row = np.full(game.information_state_tensor_size, np.nan, dtype=np.float32)
    assert state.information_state_tensor(player, row) is row
    assert np.isfinite(row).all(), f"entries {np.flatnonzero(~np.isfinite(row))} are not written"
    if game.tensor_quantum:
        quanta = row / game.tensor_quantum
        wrong = (quanta != quanta.round()) | (quanta < 0) | (quanta > 255)
        assert not wrong.any(), f"entries {np.flatnonzero(wrong)} are off the quanta:\n{state}"


def check_chance(state: State) -> None:
    """Probabilities sum to one, and draws follow them."""
    outcomes = [outcome for outcome, _ in state.chance_outcomes()]
    probabilities = np.array([probability for _, probability in state.chance_outcomes()])
    assert outcomes == sorted(set(outcomes)), f"outcomes {outcomes} are not ascending:\n{state}"
    assert (probabilities > 0).all()
    assert abs(probabilities.sum() - 1) < 1e-9, f"probabilities sum to {probabilities.sum()}"
    for outcome in outcomes:
        assert state.action_to_string(outcome)
    rng = Rng(state.history_length())
    draws = [state.draw(rng) for _ in range(DRAWS)]
    assert set(draws) <= set(outcomes), f"a draw is none of the outcomes {outcomes}:\n{state}"
    counts = np.array([draws.count(outcome) for outcome in outcomes])
    deviation = np.abs(counts - DRAWS * probabilities)
    allowed = MAX_DEVIATION * np.sqrt(DRAWS * probabilities * (1 - probabilities))
    assert (deviation <= allowed + 1e-9).all(), f"draws {counts} for {probabilities}:\n{state}"


def check_refusals(state: State, rng: Rng) -> None:
    """What is not legal is refused, and what is not a player has no view."""
    game = state.game
    if state.is_chance:
        allowed = {outcome for outcome, _ in state.chance_outcomes()}
    else:
        allowed = set(state.legal_actions())
    wrong = {-1, game.num_actions, rng.integer(game.num_actions)} - allowed
    for action in wrong:
        assert_raises(IllegalAction, state.apply, action)
    for player in (-1, game.num_players):
        assert_raises(GameError, state.information_state_key, player)
        assert_raises(GameError, state.information_state_tensor, player)


def check_clone(state: State, step: int) -> None:
    """A clone is equal, goes its own way, and gets where the original would."""
    before = take_snapshot(state)
    twin = state.clone()
    assert take_snapshot(twin) == before, f"the clone differs:\n{state}\n{twin}"
    twin.apply(step)
    assert take_snapshot(state) == before, f"the clone's step changed the original:\n{state}"
    other = state.clone()
    other.apply(step)
    assert take_snapshot(other) == take_snapshot(twin), f"clones part ways:\n{other}\n{twin}"
    other.undo()
    assert take_snapshot(other) == before, f"undo of a clone:\n{other}\n{state}"


def check_terminal(state: State) -> None:
    returns = state.returns()
    game = state.game
    assert len(returns) == game.num_players
    assert abs(sum(returns)) < 1e-9, f"returns {returns} are not zero-sum:\n{state}"
    for value in returns:
        assert game.min_utility <= value <= game.max_utility, f"{value} is out of bounds:\n{state}"
    assert_raises(IllegalAction, state.apply, 0)


def replay_otherwise(game: Game, history: list[int], player: int, rng: Rng, shown: Shown) -> bool:
    """Replay with other outcomes of chance that the player cannot see; whether there were any.

    A random share of the outcomes is kept, for the replay ends where another player can no longer
    act as in the history.
    """
    kept = rng.uniform()
    original, state = game.new_state(), game.new_state()
    recall = shown.follow()
    differs = False
    for step in history:
        recall.visit(state)
        original.apply(step)
        for candidate in candidates(state, step, kept, rng):
            twin = state.clone()
            twin.apply(candidate)
            if twin.information_state_key(player) == original.information_state_key(player):
                break
        else:
            return differs
        differs = differs or (state.is_chance and candidate != step)
        recall.choose(state.current_player, candidate)
        state = twin
    recall.visit(state)
    return differs


def candidates(state: State, step: int, kept: float, rng: Rng) -> Iterator[int]:
    """The step if it is legal; at some chance nodes all outcomes in a random order."""
    if state.is_chance and rng.uniform() > kept:
        outcomes = [outcome for outcome, _ in state.chance_outcomes()]
        while outcomes:
            yield outcomes.pop(rng.integer(len(outcomes)))
    elif state.is_chance:
        yield from (outcome for outcome, _ in state.chance_outcomes() if outcome == step)
    elif step in state.legal_actions():
        yield step


def check_exchanged_blocks(game: Game, symmetry: Symmetry, history: list[int], rng: Rng) -> None:
    """The history with its blocks in another order looks the same but for that order."""
    permutation = list(range(len(symmetry.features)))
    for i in reversed(range(len(permutation))):
        j = rng.integer(i + 1)
        permutation[i], permutation[j] = permutation[j], permutation[i]
    features = moved(symmetry.features, permutation, game.information_state_tensor_size)
    actions = moved(symmetry.actions, permutation, game.num_actions)
    last = max((outcome for block in symmetry.outcomes for outcome in block), default=-1)
    outcomes = moved(symmetry.outcomes, permutation, last + 1)
    original, state = game.new_state(), game.new_state()
    for step in [*history, None]:
        for player in range(game.num_players):
            row = np.empty(game.information_state_tensor_size, np.float32)
            row[features] = original.information_state_tensor(player)
            assert (row == state.information_state_tensor(player)).all(), (
                f"tensors of player {player} differ by more than the permutation {permutation} "
                f"of blocks at {np.flatnonzero(row != state.information_state_tensor(player))}:"
                f"\n{original}\n{state}"
            )
        assert state.current_player == original.current_player, f"{original}\n{state}"
        assert state.legal_actions() == sorted(actions[a] for a in original.legal_actions()), (
            f"legal actions differ by more than the permutation {permutation}:\n{original}\n{state}"
        )
        if step is not None:
            places = outcomes if original.is_chance else actions
            state.apply(places[step] if step < len(places) else step)
            original.apply(step)
    assert state.returns() == original.returns(), f"returns differ:\n{original}\n{state}"


def check_seeded_state(game: Game, rng: Rng) -> None:
    """A seeded state plays chance by itself, and one seed gives one game, cloned or not."""
    seed = rng.bits()
    states = [game.new_state(seed), game.new_state(seed), game.new_state(Rng(seed))]
    assert_raises(GameError, states[0].undo)
    while not states[0].is_terminal:
        assert not states[0].is_chance, f"a seeded state waits for chance:\n{states[0]}"
        snapshot = take_snapshot(states[0])
        action = choose(states[0], rng)
        undone = states[0].clone()
        undone.apply(action)
        undone.undo()
        assert take_snapshot(undone) == snapshot, f"undo of a seeded state:\n{undone}"
        states[1] = states[1].clone()
        for state in states:
            state.apply(action)
            assert take_snapshot(state) == take_snapshot(states[0]), (
                f"one seed, two games:\n{state}"
            )
    assert states[0].returns() == states[1].returns() == states[2].returns()


def assert_raises(error: type[Exception], call: object, *arguments: object) -> None:
    assert callable(call)
    try:
        call(*arguments)
    except error:
        return
    raise AssertionError(f"{call} accepts {arguments}; expected {error.__name__}")

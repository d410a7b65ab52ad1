"""What a player has seen happen, told by the names of actions: a text for games without one."""

from collections.abc import Sequence

from asynccfr.games.contract import Game, State


def seen_history(game: Game, history: Sequence[int], player: int) -> str:
    """The steps of a history, one after the other, with `?` for what the player could not tell."""
    state = game.new_state()
    steps = []
    for step in history:
        name = state.action_to_string(step) if is_seen(state, step, player) else "?"
        steps.append(f"{actor(state, player)}: {name}")
        state.apply(step)
    return "; ".join(steps) or "nothing has happened yet"


def actor(state: State, player: int) -> str:
    """Who is to move, as the player calls them."""
    if state.is_chance:
        return "chance"
    if state.current_player == player:
        return "you"
    return "opponent" if state.game.num_players == 2 else f"player {state.current_player}"


def is_seen(state: State, action: int, player: int) -> bool:
    """Whether the player can tell an action, or an outcome, from everything else that could be.

    What had to happen counts as unseen: that there was no choice may be hidden too.
    """
    if state.current_player == player:
        return True

    def key_after(choice: int) -> bytes:
        twin = state.clone()
        twin.apply(choice)
        return twin.information_state_key(player)

    if state.is_chance:
        choices = [outcome for outcome, _ in state.chance_outcomes()]
    else:
        choices = state.legal_actions()
    if len(choices) == 1:
        return False
    others = {key_after(other) for other in choices if other != action}
    return key_after(action) not in {state.information_state_key(player), *others}

"""What a seat sees of the others' moves."""

from asynccfr.games import State


def is_seen(state: State, action: int, seat: int) -> bool:
    """Whether the seat can tell a move of chance, or another player, from all others possible."""

    def key_after(choice: int) -> bytes:
        twin = state.clone()
        twin.apply(choice)
        return twin.information_state_key(seat)

    choices = [outcome for outcome, _ in state.chance_outcomes()] if state.is_chance else None
    others = {key_after(other) for other in choices or state.legal_actions() if other != action}
    return key_after(action) not in {state.information_state_key(seat), *others}

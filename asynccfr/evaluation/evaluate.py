"""How strong players are: matches of several players over the same mirrored deals."""

from collections.abc import Callable, Sequence
from itertools import combinations, product

from asynccfr.evaluation.arena import MatchPlan, PlayedMatch, play_matches
from asynccfr.games import Game, load_game
from asynccfr.players import Player, game_of_agents, seated


async def evaluate(
    players: Sequence[str | Player],
    against: Sequence[str | Player] = (),
    *,
    game: Game | None = None,
    plan: MatchPlan = MatchPlan(),  # noqa: B008 (frozen)
    on_game: Callable[[int, int], None] = lambda played, games: None,
) -> list[PlayedMatch]:
    """Have every player meet every one of `against`, or without them each other.

    Args:
        players: players, or names as of `make_player`: a bot, `champion`, an agent's file, the
            folder of a run.
        game: the game; by default that of the first saved agent, else Lost Cities.
        on_game: called with the number of games played so far, and of all.

    Raises PlayerError for an unknown or failing player, CheckpointError for a file that holds no
    agent, GameError for a game that is not for two players.
    """
    if game is None:
        names = [player for player in (*players, *against) if isinstance(player, str)]
        game = game_of_agents(names) or load_game("lost_cities")
    async with seated([*players, *against], game) as seats:
        ours, others = seats[: len(players)], seats[len(players) :]
        pairs: list[tuple[Player, Player]] = list(
            product(ours, others) if others else combinations(ours, 2)
        )
        games = 2 * plan.deals * len(pairs)
        return await play_matches(game, pairs, plan, lambda played: on_game(played, games))

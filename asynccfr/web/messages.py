"""What the service and its clients say to each other, in JSON; requests are strict."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

Turn = Literal["you", "opponent", "nobody"]


class NewTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to play.

    Fields:
        game, opponent: as `GET /api/games` lists them; opponent "friend" waits for a person.
        rounds: 1, or a match of 3; whoever is ahead begins the next round.
        seat: 0 begins the first round.
    """

    game: str
    opponent: str
    rounds: Literal[1, 3] = 1
    seat: Literal[0, 1] = 0


class Action(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A move.

    Fields:
        position: the number of actions that have been played, as the `Position` said: a move made
            for an earlier position is refused.
        action: one of the legal actions; or
        text: what a person would type, such as "p r7".
    """

    position: int
    action: int | UnsetType = UNSET
    text: str | UnsetType = UNSET


class Replay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A round that is over, or any first part of it, to look at or to play on from.

    Fields:
        seed: of the deal, in decimals: it has more digits than JavaScript's numbers.
        seat: whose view to take.
        actions: of both seats, in order.
    """

    game: str
    seed: str
    seat: Literal[0, 1]
    actions: list[int]


class PlayOn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table that begins where a round stands after some of its actions; it counts as practice."""

    replay: Replay
    opponent: str


class Seat(Struct, frozen=True, kw_only=True):
    """A place at a table.

    Fields:
        token: names the table and the chair; whoever knows it sees that hand and moves for it.
        url: the table's page.
        invitation: a page where one friend, once, can sit down opposite; null without a friend.
    """

    token: str
    url: str
    invitation: str | None = None


class Card(Struct, frozen=True, kw_only=True):
    """A card of Lost Cities: rank 0 is a wager. `play` and `discard` are actions, where legal."""

    color: int
    rank: int
    play: int | None = None
    discard: int | None = None


class Color(Struct, frozen=True, kw_only=True):
    """One colour's column: expeditions ascending, the pile from bottom to top.

    Fields:
        draw: the action that takes the pile's top card, where legal.
        forbidden: its card was just discarded and cannot be taken now.
    """

    name: str
    own: tuple[int, ...]
    own_score: int
    opponent: tuple[int, ...]
    opponent_score: int
    pile: tuple[int, ...]
    draw: int | None
    forbidden: bool


class Board(Struct, frozen=True, kw_only=True):
    """The table of Lost Cities as one seat knows it.

    Fields:
        known: cards that the opponent took from piles and still holds.
        unknown: how many more cards the opponent holds.
        drawn: the card that this seat drew last.
        deck: cards left. draw_deck: the action, where legal.
        pile_draws_left: draws from piles that both together still have.
        shown: the opponent's hand, in a replay of a round that is over; else null.
    """

    phase: str
    colors: list[Color]
    hand: list[Card]
    known: list[Card]
    unknown: int
    drawn: Card | None
    deck: int
    draw_deck: int | None
    pile_draws_left: int
    shown: list[Card] | None = None


class Choice(Struct, frozen=True, kw_only=True):
    """A legal action and its name."""

    action: int
    name: str


class Entry(Struct, frozen=True, kw_only=True):
    """A move, as this chair saw it."""

    who: Literal["you", "opponent"]
    text: str


class Position(Struct, frozen=True, kw_only=True):
    """What one chair of a table knows now.

    Fields:
        position: actions played in this round.
        seat: of this chair in this round; seat 0 begins.
        results: what this chair made of each round that is over.
        practice: moves were taken back, or the deal was known: it does not count.
        waiting: a friend is expected.
        can_undo, can_ask: whether moves can be taken back, and the agent be asked, at this table.
        log: the moves of this round; in a replay, only the last position has them.
        board: of Lost Cities; null in other games. text: the same for every game, to be read.
        replay: the page of this round, once it is over.
    """

    game: str
    opponent: str
    position: int
    turn: Turn
    seat: int
    round: int
    rounds: int
    results: list[float]
    practice: bool
    waiting: bool
    can_undo: bool
    can_ask: bool
    choices: list[Choice]
    log: list[Entry]
    text: str
    board: Board | None
    replay: str | None


class Likely(Struct, frozen=True, kw_only=True):
    """A legal action, its name, and the probability with which the agent would play it."""

    action: int
    name: str
    probability: float


class Advice(Struct, frozen=True, kw_only=True):
    """What an agent would do in this chair's position, the likeliest first."""

    agent: str
    likely: list[Likely]


class Estimate(Struct, frozen=True, kw_only=True):
    """What this chair may expect of the round, by playouts of the agent's policy in both seats.

    Fields:
        mean, low, high: points; the 95% interval covers the luck of the playouts only.
        playouts: deals of the unknown cards, each played out once.
    """

    agent: str
    mean: float
    low: float
    high: float
    playouts: int


class GameOnOffer(Struct, frozen=True, kw_only=True):
    """A game, who plays it here, the default opponent first, and its rules in paragraphs."""

    game: str
    opponents: list[str]
    rules: list[str]


class Batches(Struct, frozen=True, kw_only=True):
    """What the forwards of an agent, shared by all tables, have done so far."""

    agent: str
    decisions: int
    forwards: int
    rows_per_forward: float
    queue_wait_p95_us: float
    execution_p95_us: float


class ServerStatistics(Struct, frozen=True, kw_only=True):
    """Tables kept, tables in memory, and the forwards of each agent."""

    tables: int
    in_memory: int
    batches: list[Batches]


class Problem(Struct, frozen=True, kw_only=True):
    """Why a request was refused."""

    error: str

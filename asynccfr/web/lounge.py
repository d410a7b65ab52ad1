"""All tables of a server, those who play at them, and what may be asked about a position.

The agents are shared: decisions of all tables meet in one batcher for each agent.
"""

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from asynccfr.cfr.query import Query
from asynccfr.errors import AsyncCFRError, GameError
from asynccfr.evaluation.intervals import mean_interval
from asynccfr.games import Game, State, load_game, registered_games
from asynccfr.players import Player, make_player, opponents_for
from asynccfr.players.network import BatchedPlayer, NetworkPlayer
from asynccfr.players.protocol import take_turn
from asynccfr.players.typed_action import NotUnderstood, typed_action
from asynccfr.seeding import Rng
from asynccfr.web.lost_cities import board_of
from asynccfr.web.messages import (
    Action,
    Advice,
    Batches,
    Estimate,
    GameOnOffer,
    Likely,
    NewTable,
    PlayOn,
    Position,
    Replay,
    Seat,
    ServerStatistics,
)
from asynccfr.web.store import INVITATION, KEEP_DAYS, Record, Round, Store
from asynccfr.web.table import Table, choices_of, new_seed

FRIEND = "friend"
TOKEN_BYTES = 24
PLAYOUTS = 64
DAY = 24 * 3600


class Refused(AsyncCFRError):
    """A request that cannot be granted; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Limits(NamedTuple):
    """How much a server takes on: tables kept, and those held in memory while nobody moves."""

    tables: int = 100_000
    in_memory: int = 2000


DEFAULT_LIMITS = Limits()


class Seated(NamedTuple):
    """A table and the chair of whoever asked."""

    table: Table
    chair: int


class Lounge:
    """The tables of a server; made by `open_lounge`."""

    def __init__(self, store: Store, limits: Limits, stack: AsyncExitStack) -> None:
        self.store = store
        self.limits = limits
        self.stack = stack
        self.games: dict[str, Game] = {}
        self.opponents: dict[str, list[str]] = {}
        self.tables: OrderedDict[int, Table] = OrderedDict()
        self.players: dict[tuple[str, str], Player] = {}

    async def offer(self, game: Game, opponents: list[str]) -> None:
        """Let people play a game against these opponents, who are loaded now."""
        name = str(game)
        self.games[name] = game
        self.opponents[name] = opponents
        for spec in opponents:
            player = make_player(spec, game)
            if isinstance(player, BatchedPlayer):
                await self.stack.enter_async_context(player)
            self.players[name, spec] = player

    def on_offer(self) -> list[GameOnOffer]:
        """The games, and who plays them."""
        return [
            GameOnOffer(
                game=name,
                opponents=[*specs, FRIEND],
                rules=self.games[name].rules_text().split("\n\n"),
            )
            for name, specs in self.opponents.items()
        ]

    async def new_table(self, wanted: NewTable) -> Seat:
        """Set up a table. Raises Refused for what is not on offer."""
        self.check(wanted.game, wanted.opponent)
        record = Record(
            game=wanted.game,
            opponent=None if wanted.opponent == FRIEND else wanted.opponent,
            rounds=wanted.rounds,
            played=[Round(seed=new_seed(), starter=wanted.seat)],
        )
        return await self.set_up(record)

    async def play_on(self, wanted: PlayOn) -> Seat:
        """Set up a table where a replay stands; practice, for the deal may be known."""
        self.check(wanted.replay.game, wanted.opponent)
        if wanted.opponent == FRIEND:
            raise Refused(400, "opponent=friend: a known deal is for practice against an agent")
        state = self.replayed(wanted.replay)
        if state.is_terminal:
            raise Refused(400, "actions: the round is over there; leave some of them out")
        replay = wanted.replay
        record = Record(
            game=replay.game,
            opponent=wanted.opponent,
            rounds=1,
            played=[Round(seed=int(replay.seed), starter=replay.seat, actions=replay.actions)],
            practice=True,
        )
        return await self.set_up(record)

    async def set_up(self, record: Record) -> Seat:
        if self.store.count() >= self.limits.tables:
            raise Refused(503, f"{self.limits.tables} tables are kept already; try again later")
        token = secrets.token_urlsafe(TOKEN_BYTES)
        invitation = secrets.token_urlsafe(TOKEN_BYTES) if record.opponent is None else None
        tokens = {token: 0} | ({invitation: INVITATION} if invitation else {})
        number = self.store.add(record, tokens)
        table = self.seat_at(number, record)
        async with table.lock:
            await self.answer(table)
        return Seat(
            token=token,
            url=f"/table/{token}",
            invitation=f"/join/{invitation}" if invitation else None,
        )

    def check(self, game: str, opponent: str) -> None:
        """Raises Refused for a game or opponent that is not on offer."""
        if game not in self.games:
            raise Refused(400, f"game={game!r}: expected one of {', '.join(self.games)}")
        known = [*self.opponents[game], FRIEND]
        if opponent not in known:
            raise Refused(400, f"opponent={opponent!r}: expected one of {', '.join(known)}")

    def join(self, invitation: str) -> Seat:
        """Give an invited friend a chair, once. Raises Refused."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        if not self.store.accept(invitation, token):
            raise Refused(404, "no such invitation, or somebody has sat down already")
        self.find(token).table.notify()
        return Seat(token=token, url=f"/table/{token}")

    def find(self, token: str) -> Seated:
        """The table and chair that a token names. Raises Refused."""
        chair = self.store.chair(token)
        if chair is None or chair.number == INVITATION:
            raise Refused(404, "no such table; it may have been cleared")
        table = self.tables.get(chair.table)
        if table is None:
            record = self.store.load(chair.table)
            assert record is not None
            if record.game not in self.games:
                raise Refused(409, f"this server does not offer {record.game}; start it with that")
            table = self.seat_at(chair.table, record)
        self.tables.move_to_end(chair.table)
        return Seated(table, chair.number)

    def seat_at(self, number: int, record: Record) -> Table:
        """Hold a table in memory; the longest unused that nobody watches makes room."""
        table = self.tables[number] = Table(number, self.games[record.game], record)
        if len(self.tables) > self.limits.in_memory:
            for idle, other in self.tables.items():
                if not other.listeners and not other.lock.locked() and other is not table:
                    del self.tables[idle]
                    break
        return table

    async def act(self, seated: Seated, wanted: Action) -> None:
        """Play a person's move, and the opponent's answer. Raises Refused."""
        table, chair = seated
        async with table.lock:
            if wanted.position != len(table.round.actions):
                raise Refused(
                    409,
                    f"position={wanted.position}: {len(table.round.actions)} actions have been "
                    "played; look at the table again",
                )
            if table.chair_to_move() != chair:
                raise Refused(409, "it is not your turn")
            table.play(self.meant(table, wanted))
            await self.answer(table)

    def meant(self, table: Table, wanted: Action) -> int:
        """The legal action that a person means. Raises Refused."""
        choices = choices_of(table.state, table.state.current_player)
        if isinstance(wanted.text, str):
            try:
                return choices[typed_action(wanted.text, [each.name for each in choices])].action
            except NotUnderstood as error:
                raise Refused(409, str(error)) from None
        legal = [each.action for each in choices]
        if wanted.action not in legal:
            raise Refused(409, f"action={wanted.action}: expected one of {legal}")
        assert isinstance(wanted.action, int)
        return wanted.action

    async def answer(self, table: Table) -> None:
        """Play for the agent while it is to move, and keep what was played; under the lock."""
        try:
            while table.record.opponent is not None and table.chair_to_move() == 1:
                player = self.players[table.record.game, table.record.opponent]
                state = table.state.clone()
                table.play(await take_turn(player, state, table.rngs[table.seat(1)]))
        finally:
            self.store.save(table.number, table.record)

    async def position(self, seated: Seated) -> Position:
        """What a chair knows; an agent whom a crash kept from answering does so now."""
        table, chair = seated
        if table.record.opponent is not None and table.chair_to_move() == 1:
            async with table.lock:
                await self.answer(table)
        friend = table.record.opponent is None
        return table.position(
            chair,
            table.record.opponent or FRIEND,
            waiting=friend and self.store.invitation(table.number) is not None,
            can_ask=self.adviser(table) is not None and not friend,
        )

    async def next_round(self, seated: Seated) -> None:
        """Deal the next round of a match. Raises Refused."""
        table = seated.table
        async with table.lock:
            if not table.can_go_on:
                raise Refused(409, "there is no next round to deal now")
            table.next_round()
            await self.answer(table)

    async def undo(self, seated: Seated) -> None:
        """Take back a chair's last move; the table becomes practice. Raises Refused."""
        table, chair = seated
        if table.record.opponent is None:
            raise Refused(403, "moves against a friend cannot be taken back")
        async with table.lock:
            if not table.undo(chair):
                raise Refused(409, "there is no move of yours to take back")
            await self.answer(table)

    def adviser(self, table: Table) -> NetworkPlayer | None:
        """The agent that can be asked about a table's game."""
        players = (self.players[table.record.game, s] for s in self.opponents[table.record.game])
        return next((each for each in players if isinstance(each, NetworkPlayer)), None)

    def asked(self, seated: Seated) -> NetworkPlayer:
        """The agent to ask about a chair's position. Raises Refused."""
        table, chair = seated
        adviser = self.adviser(table)
        if table.record.opponent is None:
            raise Refused(403, "nobody may be asked during a game against a friend")
        if adviser is None:
            raise Refused(409, f"no agent of {table.record.game} is here to be asked")
        if table.chair_to_move() != chair:
            raise Refused(409, "it is not your turn")
        return adviser

    async def advice(self, seated: Seated) -> Advice:
        """What an agent would do in a chair's place. Raises Refused."""
        adviser, state = self.asked(seated), seated.table.state.clone()
        query = Query(state)
        await adviser.batcher(query)
        pairs = sorted(query.probabilities(adviser.prior), key=lambda pair: -pair[1])
        return Advice(
            agent=adviser.name,
            likely=[
                Likely(action=a, name=state.action_to_string(a), probability=p) for a, p in pairs
            ],
        )

    async def estimate(self, seated: Seated) -> Estimate:
        """What a chair may expect of the round. Raises Refused."""
        adviser, state = self.asked(seated), seated.table.state.clone()
        seat, rng = state.current_player, Rng(new_seed())
        try:
            deals = [state.determinised(seat, rng.bits()) for _ in range(PLAYOUTS)]
        except GameError as error:
            raise Refused(409, str(error)) from None
        returns = await asyncio.gather(
            *(adviser.play_out(deal, seat, Rng(rng.bits())) for deal in deals)
        )
        mean, low, high = mean_interval(np.array(returns))
        return Estimate(agent=adviser.name, mean=mean, low=low, high=high, playouts=PLAYOUTS)

    def replayed(self, replay: Replay) -> State:
        """The state after a replay's actions. Raises Refused."""
        if replay.game not in self.games:
            raise Refused(400, f"game={replay.game!r}: expected one of {', '.join(self.games)}")
        digits = replay.seed.isascii() and replay.seed.isdecimal() and len(replay.seed) < 20
        if not digits or int(replay.seed) >= 2**63:
            raise Refused(400, "seed: expected a whole number below 2 ** 63")
        state = self.games[replay.game].new_state(int(replay.seed))
        for action in replay.actions:
            try:
                state.apply(action)
            except (GameError, OverflowError) as error:
                reason = str(error).partition("\n")[0]
                raise Refused(400, f"actions: not those of this round: {reason}") from None
        return state

    def replay(self, replay: Replay) -> list[Position]:
        """A chair's position after each action of a round that is over. Raises Refused.

        Only of a finished round: for another, a guessed seed would tell more than a seat knows.
        """
        if not self.replayed(replay).is_terminal:
            raise Refused(400, "actions: the round is not over after them")
        round_ = Round(seed=int(replay.seed), starter=replay.seat)
        record = Record(game=replay.game, opponent="", rounds=1, played=[round_])
        table = Table(0, self.games[replay.game], record)
        return [replay_position(table), *self.steps(table, replay.actions)]

    def steps(self, table: Table, actions: list[int]) -> Iterator[Position]:
        for action in actions:
            table.play(action)
            yield replay_position(table)

    def statistics(self) -> ServerStatistics:
        """What the server has done."""
        batches = []
        for (game, spec), player in self.players.items():
            if isinstance(player, BatchedPlayer):
                done = player.batcher.statistics()
                batches.append(
                    Batches(
                        agent=f"{spec}, {game}",
                        decisions=done.succeeded,
                        forwards=done.batches,
                        rows_per_forward=done.batch_size.mean,
                        queue_wait_p95_us=done.queue_wait_us.p95,
                        execution_p95_us=done.execution_us.p95,
                    )
                )
        return ServerStatistics(
            tables=self.store.count(), in_memory=len(self.tables), batches=batches
        )

    async def clear_daily(self) -> None:
        """Forget old tables, now and once a day."""
        while True:
            self.store.clear(time.time() - KEEP_DAYS * DAY)
            await asyncio.sleep(DAY)


def replay_position(table: Table) -> Position:
    """What chair 0 knew, with its opponent's hand shown: the round is over."""
    position = table.position(0, "opponent", waiting=False, can_ask=False)
    over = table.state.is_terminal
    board = board_of(table.state, table.seat(0), table.hands[0].drawn, show=True)
    return msgspec.structs.replace(position, board=board, log=list(position.log) if over else [])


@asynccontextmanager
async def open_lounge(
    folder: Path, game: Game, agent: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> AsyncIterator[Lounge]:
    """A lounge whose tables are kept in `folder`, with `agent` first among those who play `game`.

    Every registered game for two is on offer as it is, against whoever comes with the package.
    """
    async with AsyncExitStack() as stack:
        lounge = Lounge(stack.enter_context(Store(folder)), limits, stack)
        first = [agent] if agent is not None else []
        strongest_first = list(reversed(opponents_for(game)))
        await lounge.offer(game, list(dict.fromkeys([*first, *strongest_first])))
        for name in registered_games():
            other = load_game(name)
            if str(other) not in lounge.games and other.num_players == 2:
                await lounge.offer(other, list(reversed(opponents_for(other))))
        clearing = asyncio.create_task(lounge.clear_daily())
        try:
            yield lounge
        finally:
            clearing.cancel()
            await asyncio.wait([clearing])

"""Lost Cities (Knizia 1999) for two players, one round.

Every colour has `numbers` cards, 2 upwards, and some wagers. A turn is two decisions of one player: play
a card to the own expedition of its colour (numbers strictly ascending, wagers only before the first
number) or discard it face up; then draw from the deck or take the top card of a pile, but not the card
just discarded. The round ends at once when the last card of the deck is drawn. An expedition that has
been opened scores (sum of numbers - cost) * (1 + multiplier * wagers), and the bonus, not multiplied,
if it has `bonus_threshold` cards or more, wagers counted. A return is the difference of the scores.

The rules let players take discards for ever. `max_pile_draws` ends that: once both together have taken
so many, only the deck may be drawn. By default it is the number of cards in the deck after the deal, so
that it never binds while only one of the players avoids the deck.

Chance: the deal alternates card by card, player 0 first; player 0 also begins. A deck draw is a uniform
draw of the cards that neither were dealt nor drawn, at a chance node of its own after "draw deck".

Actions: a block for each colour (play each rank, wagers first; discard each rank; draw the pile), then
"draw deck". The wagers of a colour are interchangeable: one action. The outcomes of chance are the kinds
of card, `16 * color + rank`, where rank 0 is the wagers and rank r the number r + 1.
"""

from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from asynccfr.errors import GameError
from asynccfr.games.contract cimport CHANCE_PLAYER, TERMINAL_PLAYER, Game, State
from asynccfr.games.lost_cities_table cimport (
    CARD_PHASE, DEAL_PHASE, DECK_PHASE, DISCARD, DRAW_DECK, DRAW_PILE, DRAW_PHASE, LANES, MAX_COLORS,
    MAX_PILE_DRAWS, MAX_RANKS, MAX_WAGERS, NO_COLOR, OVER_PHASE, PLAY, Action, Expedition, Rules, Step,
    Table, advance, expedition_score, redeal, retreat, sample_deck, score, set_up, write_legal,
)
from asynccfr.games.lost_cities_tensor cimport write_tensor
from asynccfr.games.lost_cities_tensor import color_layout, global_layout
from asynccfr.games.lost_cities_view import (
    COLORS, LINE_COLORS, STATISTICS, WAGER, Card, Move, View, told_rules,
)
from asynccfr.games.parameters import Parameter, check_parameters
from asynccfr.games.symmetry import Symmetry, equal_blocks
from asynccfr.seeding cimport Rng

cdef int HIDDEN = 255

KINDS = ("play", "discard", "draw pile", "draw deck")
PHASES = ("deal", "card", "draw", "deck", "over")


cdef class LostCities(Game):
    """Lost Cities for two players, one round.

    Attributes:
        colors: the number of colours, and of equal blocks in tensors and actions.
        color_features: tensor entries of a colour's block; the blocks come first, colour by colour.
        color_actions: actions of a colour's block; the blocks come first, colour by colour.
        moves: what each action does, indexed by action.
    """

    STATISTICS = STATISTICS
    LINE_COLORS = LINE_COLORS
    PARAMETERS = (
        Parameter("colors", 5, 1, MAX_COLORS, "colours; 6 is the six-colour edition"),
        Parameter("numbers", 9, 2, MAX_RANKS - 1, "number cards of each colour, from 2 upwards"),
        Parameter("wagers", 3, 0, MAX_WAGERS, "wager cards of each colour"),
        Parameter("hand_size", 8, 1, 30, "cards in a hand"),
        Parameter("cost", 20, 0, 100, "points that opening an expedition costs"),
        Parameter("multiplier", 1, 0, 10, "what each wager adds to the factor 1"),
        Parameter("bonus_threshold", 8, 1, 100, "cards that earn an expedition the bonus"),
        Parameter("bonus", 20, 0, 100, "points of the bonus"),
        Parameter(
            "max_pile_draws", None, 0, MAX_PILE_DRAWS,
            "draws from piles before only the deck is left; by default the deck's size after the deal",
        ),
    )

    def rules_text(self):
        return told_rules(self.parameters)

    def __init__(self, **parameters):
        """Raises GameError for parameters that are unknown, out of range or leave no deck."""
        self.name = "lost_cities"
        values = check_parameters(self.name, self.PARAMETERS, parameters)
        cards = values["colors"] * (values["numbers"] + values["wagers"])
        deck_size = cards - 2 * values["hand_size"]
        if deck_size < 1:
            raise GameError(
                f"lost_cities: hand_size={values['hand_size']}: the {cards} cards of "
                f"colors={values['colors']}, numbers={values['numbers']}, wagers={values['wagers']} "
                "do not make two hands and a deck; expected fewer cards in a hand or more in all"
            )
        if values["max_pile_draws"] is None:
            values["max_pile_draws"] = deck_size
        self.parameters = values
        self.num_players = 2
        self.set_rules(values)
        self.set_actions()
        self.max_utility = largest_lead(&self.rules, deck_size)
        self.min_utility = -self.max_utility
        self.color_features = sum(width for _, width in self.tensor_layout()[0])
        self.information_state_tensor_size = self.colors * self.color_features + sum(
            width for _, width in self.tensor_layout()[1]
        )
        self.tensor_quantum = 1.0 / 64
        self.symmetry = Symmetry(
            features=equal_blocks(self.colors, self.color_features),
            actions=equal_blocks(self.colors, self.color_actions),
            outcomes=equal_blocks(self.colors, self.rules.ranks, LANES),
        )

    cdef set_rules(self, dict values):
        cdef Rules* rules = &self.rules
        rules.colors = self.colors = values["colors"]
        rules.ranks = values["numbers"] + 1
        rules.wagers = values["wagers"]
        rules.hand_size = values["hand_size"]
        rules.cost = values["cost"]
        rules.multiplier = values["multiplier"]
        rules.bonus_threshold = values["bonus_threshold"]
        rules.bonus = values["bonus"]
        rules.max_pile_draws = values["max_pile_draws"]
        cdef int numbers
        for numbers in range(1 << (MAX_RANKS - 1)):
            ranks = [i + 1 for i in range(MAX_RANKS - 1) if numbers >> i & 1]
            rules.count[numbers] = len(ranks)
            rules.sum[numbers] = sum([face(rank) for rank in ranks])
        scores = [
            score(rules, w, w + k, total)
            for w, k in expedition_counts(rules)
            for total in sums(rules, k)
        ]
        rules.lowest_score = min(scores)
        rules.score_shift = max(0, (max(scores) - min(scores)).bit_length() - 8)

    cdef set_actions(self):
        cdef Rules* rules = &self.rules
        cdef int ranks = rules.ranks
        cdef int action = 0
        cdef int color, rank
        for color in range(rules.colors):
            for kind in (PLAY, DISCARD):
                for rank in range(ranks):
                    rules.actions[action] = Action(kind, color, rank)
                    action += 1
            rules.actions[action] = Action(DRAW_PILE, color, 0)
            action += 1
        rules.draw_deck = action
        rules.actions[action] = Action(DRAW_DECK, 0, 0)
        self.color_actions = 2 * ranks + 1
        self.num_actions = action + 1
        kinds_in_hand = min(rules.hand_size, rules.colors * (ranks - (rules.wagers == 0)))
        self.max_legal_actions = max(2 * kinds_in_hand, rules.colors + 1)
        self.moves = tuple([as_move(&rules.actions[i]) for i in range(self.num_actions)])

    def tensor_layout(self):
        """The `(feature, width)` pairs of a colour's block, and those that follow the blocks."""
        return color_layout(self.rules.ranks, self.rules.wagers), global_layout()

    cdef State initial_state(self):
        cdef LostCitiesState state = LostCitiesState.__new__(LostCitiesState)
        state.game = self
        state.rules = &self.rules
        state.current_player = CHANCE_PLAYER
        set_up(&state.table, state.rules)
        return state


cdef int largest_lead(const Rules* rules, int deck_size):
    """A bound on the difference of two scores.

    It is that of the best division of the cards among both players, of which no more are played than
    there are deck draws: for each turn that ends at a pile, an earlier one was spent on the discard.
    """
    color = [
        (
            w + k + v + j,
            score(rules, w, w + k, sums(rules, k)[1]) - score(rules, v, v + j, sums(rules, j)[0]),
        )
        for w, k in expedition_counts(rules)
        for v, j in expedition_counts(rules)
        if w + v <= rules.wagers and k + j < rules.ranks
    ]
    leads = {0: 0}
    for _ in range(rules.colors):
        leads = highest([
            (played + cards, lead + gain)
            for played, lead in leads.items()
            for cards, gain in highest(color).items()
            if played + cards <= deck_size
        ])
    return max(leads.values())


cdef dict highest(list pairs):
    """The highest value of each key."""
    best = {}
    for key, value in pairs:
        best[key] = max(value, best.get(key, value))
    return best


cdef list expedition_counts(const Rules* rules):
    """Every `(wagers, numbers)` that an expedition can have."""
    return [(w, k) for w in range(rules.wagers + 1) for k in range(rules.ranks)]


cdef tuple sums(const Rules* rules, int count):
    """The least and the greatest sum of so many different numbers."""
    return sum(range(2, count + 2)), sum(range(rules.ranks - count + 1, rules.ranks + 1))


cdef int face(int rank):
    """The number on a card of this rank."""
    return rank + 1 if rank else WAGER


cdef as_move(const Action* action):
    cdef bint has_card = action.kind == PLAY or action.kind == DISCARD
    return Move(
        KINDS[action.kind],
        None if action.kind == DRAW_DECK else action.color,
        face(action.rank) if has_card else None,
    )


cdef class LostCitiesState(State):
    """One history of a round. `view` tells what a player knows; the rest tells everything."""

    cdef int write_legal(self, int* actions) except -1:  # no-cython-lint
        return write_legal(&self.table, self.rules, actions)

    cdef int advance(self, int action) except -1:  # no-cython-lint
        advance(&self.table, self.rules, action)
        self.current_player = player_to_move(&self.table)
        return 0

    cdef int retreat(self) except -1:  # no-cython-lint
        retreat(&self.table, self.rules)
        self.current_player = player_to_move(&self.table)
        return 0

    cdef int sample_chance(self, Rng rng) except -1:
        return sample_deck(&self.table, rng)

    cdef int write_tensor(self, int player, float* row) except -1:  # no-cython-lint
        write_tensor(&self.table, self.rules, player, row)
        return 0

    cdef double utility(self, int player) except? -1e300:
        cdef int color
        cdef int lead = 0
        for color in range(self.rules.colors):
            lead += expedition_score(self.rules, &self.table.expedition[player][color])
            lead -= expedition_score(self.rules, &self.table.expedition[1 - player][color])
        return lead

    cdef State copy(self):
        cdef LostCitiesState twin = LostCitiesState.__new__(LostCitiesState)
        twin.game = self.game
        twin.rules = self.rules
        twin.current_player = self.current_player
        memcpy(&twin.table, &self.table, sizeof(Table))
        return twin

    def history_length(self):
        return self.table.length

    def chance_outcomes(self):
        if self.current_player != CHANCE_PLAYER:
            raise GameError("chance_outcomes: not a chance node")
        cdef const uint8_t* deck = &self.table.deck[0][0]
        return [
            (card, deck[card] / <double>self.table.deck_size)
            for card in range(LANES * self.rules.colors)
            if deck[card]
        ]

    cdef int hide(self, int player, Rng rng) except -1:
        redeal(&self.table, self.rules, 1 - player, rng)
        return 0

    def information_state_key(self, int player):
        """The player, then every step as one byte: 255 for a card that the opponent got unseen."""
        self.check_player(player)
        cdef bytearray key = bytearray([player])
        cdef Step* step
        cdef int i
        cdef int turn = 0
        for i in range(self.table.length):
            step = &self.table.steps[i]
            receiver = i % 2 if step.phase == DEAL_PHASE else turn
            hidden = step.phase in (DEAL_PHASE, DECK_PHASE) and receiver != player
            key.append(HIDDEN if hidden else step.action)
            turn ^= ends_turn(self.rules, step)
        return bytes(key)

    def information_state_string(self, int player):
        return str(self.view(player))

    def statistics(self, int player):
        opened = sum([self.table.expedition[player][c].size > 0 for c in range(self.rules.colors)])
        return (
            (self.pile_draws_exhausted, 1),
            self.draws(player),
            (opened, 1),
            (sum(self.scores(player)), opened),
        )

    def action_to_short_string(self, int action):
        return self.game.moves[action].short

    def action_to_string(self, int action):
        if self.current_player == CHANCE_PLAYER:
            return str(as_card(action))
        return str(self.game.moves[action])

    def view(self, int player):
        """What `player` knows now, as a `View`; GameError for another player."""
        self.check_player(player)
        return View(
            player=player,
            current_player=self.current_player,
            turn=self.table.turn,
            phase=PHASES[self.table.phase],
            hand=self.hand(player),
            own_expeditions=self.expeditions(player),
            opponent_expeditions=self.expeditions(1 - player),
            own_scores=self.scores(player),
            opponent_scores=self.scores(1 - player),
            piles=self.piles(),
            forbidden=None if self.table.forbidden == NO_COLOR else self.table.forbidden,
            opponent_known=self.known(1 - player),
            deck_size=self.table.deck_size,
            pile_draws_left=self.rules.max_pile_draws - self.table.pile_draws,
            legal_actions=tuple(self.legal_actions()) if player == self.current_player else (),
            moves=self.game.moves,
        )

    def scores(self, int player):
        """The player's points so far, for each colour."""
        self.check_player(player)
        return tuple([
            expedition_score(self.rules, &self.table.expedition[player][color])
            for color in range(self.rules.colors)
        ])

    def expedition_sizes(self, int player):
        """How many cards the player has played, wagers included, for each colour."""
        self.check_player(player)
        return tuple([
            self.table.expedition[player][color].size for color in range(self.rules.colors)
        ])

    def draws(self, int player):
        """How many cards the player has drawn since the deal: from piles, and in all."""
        self.check_player(player)
        cdef Step* step
        cdef int i
        cdef int turn = 0
        cdef int piles = 0
        cdef int total = 0
        for i in range(self.table.length):
            step = &self.table.steps[i]
            if ends_turn(self.rules, step):
                piles += turn == player and step.phase == DRAW_PHASE
                total += turn == player
                turn ^= 1
        return piles, total

    @property
    def turn_count(self):
        """Turns completed by both players."""
        return sum([
            ends_turn(self.rules, &self.table.steps[i]) for i in range(self.table.length)
        ])

    @property
    def pile_draws_exhausted(self):
        """Whether the cap has been reached: only the deck is left to draw from."""
        return self.table.pile_draws == self.rules.max_pile_draws

    cdef tuple hand(self, int player):
        return as_cards(self.rules, &self.table.hand[player][0][0])

    cdef tuple known(self, int player):
        return as_cards(self.rules, &self.table.known[player][0][0])

    cdef tuple expeditions(self, int player):
        return tuple([
            ranks_played(&self.table.expedition[player][color]) for color in range(self.rules.colors)
        ])

    cdef tuple piles(self):
        return tuple([
            tuple([face(self.table.pile[color][i]) for i in range(self.table.pile_size[color])])
            for color in range(self.rules.colors)
        ])

    def __str__(self):
        who = {CHANCE_PLAYER: "chance", TERMINAL_PLAYER: "nobody", 0: "player 0", 1: "player 1"}
        lines = [
            f"phase {PHASES[self.table.phase]}, {who[self.current_player]} to move, "
            f"deck {self.table.deck_size}, "
            f"pile draws left {self.rules.max_pile_draws - self.table.pile_draws}"
        ]
        for color, pile in enumerate(self.piles()):
            lines.append(
                f"{COLORS[color]:>7}: player 0 [{as_text(self.expeditions(0)[color])}] "
                f"player 1 [{as_text(self.expeditions(1)[color])}] pile [{as_text(pile)}]"
                + (" (just discarded)" if color == self.table.forbidden else "")
            )
        for player in range(2):
            lines.append(
                f"player {player}: {sum(self.scores(player))} points, "
                f"hand [{', '.join(str(card) for card in self.hand(player))}], "
                f"known [{', '.join(str(card) for card in self.known(player))}]"
            )
        return "\n".join(lines)


cdef inline int player_to_move(const Table* table) noexcept nogil:
    if table.phase == CARD_PHASE or table.phase == DRAW_PHASE:
        return table.turn
    return TERMINAL_PLAYER if table.phase == OVER_PHASE else CHANCE_PLAYER


cdef bint ends_turn(const Rules* rules, const Step* step):
    return step.phase == DECK_PHASE or (
        step.phase == DRAW_PHASE and step.action != rules.draw_deck
    )


cdef as_card(int card):
    return Card(card // LANES, face(card % LANES))


cdef tuple as_cards(const Rules* rules, const uint8_t* counts):
    """The cards that an array [color][rank] of counts holds, by colour and rank."""
    return tuple([
        as_card(card) for card in range(LANES * rules.colors) for _ in range(counts[card])
    ])


cdef tuple ranks_played(const Expedition* expedition):
    numbers = [face(rank) for rank in range(MAX_RANKS) if (expedition.ranks >> rank) & 1]
    return tuple([WAGER] * expedition.wagers + numbers)


cdef str as_text(tuple ranks):
    return " ".join([str(rank) if rank else "wager" for rank in ranks])

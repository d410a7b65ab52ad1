"""The table of Lost Cities and its moves, forwards and backwards: plain C, without Python objects.

Rank 0 is the wagers of a colour (interchangeable, so one kind of card), rank r >= 1 the number r + 1.
A kind of card is `LANES * color + rank`; arrays [color][rank] count the cards of each kind. `held` and
an expedition's `ranks` are sets of ranks, as bits.

Every step remembers what it destroys: the phase, the rank drawn from a pile, and whether it used up a
card that the opponent knew of. That and the rules are enough to take it back.
"""

from libc.string cimport memset


cdef extern from *:
    int lowest_bit "__builtin_ctz"(unsigned int bits) noexcept nogil


cdef void set_up(Table* table, const Rules* rules) noexcept nogil:
    """An empty table with every card in the deck."""
    cdef int color, rank
    memset(table, 0, sizeof(Table))
    table.phase = DEAL_PHASE
    table.forbidden = NO_COLOR
    table.deck_size = rules.colors * (rules.ranks - 1 + rules.wagers)
    for color in range(rules.colors):
        table.deck_colors[color] = rules.ranks - 1 + rules.wagers
        for rank in range(rules.ranks):
            table.deck[color][rank] = 1 if rank > 0 else rules.wagers


cdef int write_legal(const Table* table, const Rules* rules, int* actions) noexcept nogil:
    """Write what the player to move may do, ascending; return the number of actions."""
    if table.phase == CARD_PHASE:
        return write_card_actions(table, rules, actions)
    return write_draws(table, rules, actions)


cdef inline int write_card_actions(
    const Table* table, const Rules* rules, int* actions
) noexcept nogil:
    cdef int n = 0
    cdef int first = 0  # action of the colour's block
    cdef int color
    cdef unsigned int held, bits
    for color in range(rules.colors):
        held = table.held[table.turn][color]
        bits = held & playable_ranks(&table.expedition[table.turn][color]) | held << rules.ranks
        while bits:
            actions[n] = first + lowest_bit(bits)
            bits &= bits - 1
            n += 1
        first += 2 * rules.ranks + 1
    return n


cdef inline int write_draws(const Table* table, const Rules* rules, int* actions) noexcept nogil:
    cdef int n = 0
    cdef int action = 2 * rules.ranks
    cdef bint allowed = table.pile_draws < rules.max_pile_draws
    cdef int color
    for color in range(rules.colors):
        actions[n] = action
        n += allowed & (table.pile_size[color] > 0) & (color != table.forbidden)
        action += 2 * rules.ranks + 1
    actions[n] = rules.draw_deck
    return n + 1


cdef int sample_deck(const Table* table, Rng rng) noexcept nogil:
    """Draw a kind of card, uniformly over the cards of the deck."""
    cdef int left = rng.next_below(table.deck_size)
    cdef int color = 0
    cdef int rank = 0
    while left >= table.deck_colors[color]:
        left -= table.deck_colors[color]
        color += 1
    while left >= table.deck[color][rank]:
        left -= table.deck[color][rank]
        rank += 1
    return LANES * color + rank


cdef void redeal(Table* table, const Rules* rules, int player, Rng rng) noexcept nogil:
    """Deal what `player` holds, apart from the cards known to the opponent, anew from the deck."""
    cdef int color, rank, _i
    cdef int dealt = 0
    for color in range(rules.colors):
        for rank in range(rules.ranks):
            for _i in range(table.hand[player][color][rank] - table.known[player][color][rank]):
                return_to_deck(table, LANES * color + rank, player)
                dealt += 1
    for _i in range(dealt):
        take_from_deck(table, sample_deck(table, rng), player)


cdef void advance(Table* table, const Rules* rules, int action) noexcept nogil:
    """Apply a legal action, or the kind of card that chance deals."""
    cdef Step* step = &table.steps[table.length]
    step.action = action
    step.phase = table.phase
    table.length += 1
    if step.phase == CARD_PHASE:
        step.was_known = lay_down(table, &rules.actions[action])
        table.phase = DRAW_PHASE
    elif step.phase == DRAW_PHASE:
        table.forbidden = NO_COLOR
        if action == rules.draw_deck:
            table.phase = DECK_PHASE
        else:
            step.drawn = take_from_pile(table, rules.actions[action].color)
            end_turn(table)
    elif step.phase == DECK_PHASE:
        take_from_deck(table, action, table.turn)
        if table.deck_size == 0:
            table.phase = OVER_PHASE
        else:
            end_turn(table)
    else:
        take_from_deck(table, action, receiver(table.length - 1))
        if table.length == 2 * rules.hand_size:
            table.phase = CARD_PHASE


cdef void retreat(Table* table, const Rules* rules) noexcept nogil:
    """Take the last step back."""
    table.length -= 1
    cdef Step* step = &table.steps[table.length]
    if step.phase == CARD_PHASE:
        table.forbidden = NO_COLOR
        pick_up(table, &rules.actions[step.action], step.was_known)
    elif step.phase == DRAW_PHASE:
        if step.action != rules.draw_deck:
            table.turn = 1 - table.turn
            return_to_pile(table, rules.actions[step.action].color, step.drawn)
        table.forbidden = just_discarded(table, rules)
    elif step.phase == DECK_PHASE:
        if table.phase != OVER_PHASE:
            table.turn = 1 - table.turn
        return_to_deck(table, step.action, table.turn)
    else:
        return_to_deck(table, step.action, receiver(table.length))
    table.phase = step.phase


cdef inline int receiver(int deal) noexcept nogil:
    """The deal alternates, player 0 first."""
    return deal & 1


cdef inline void end_turn(Table* table) noexcept nogil:
    table.turn = 1 - table.turn
    table.phase = CARD_PHASE


cdef inline void give(Table* table, int player, int color, int rank) noexcept nogil:
    table.hand[player][color][rank] += 1
    table.held[player][color] |= 1 << rank


cdef inline void remove(Table* table, int player, int color, int rank) noexcept nogil:
    table.hand[player][color][rank] -= 1
    if table.hand[player][color][rank] == 0:
        table.held[player][color] ^= 1 << rank


cdef inline void take_from_deck(Table* table, int card, int player) noexcept nogil:
    cdef int color = card // LANES
    table.deck[color][card % LANES] -= 1
    table.deck_colors[color] -= 1
    table.deck_size -= 1
    give(table, player, color, card % LANES)


cdef inline void return_to_deck(Table* table, int card, int player) noexcept nogil:
    cdef int color = card // LANES
    remove(table, player, color, card % LANES)
    table.deck_size += 1
    table.deck_colors[color] += 1
    table.deck[color][card % LANES] += 1


cdef inline void push(Table* table, int color, int rank) noexcept nogil:
    table.pile[color][table.pile_size[color]] = rank
    table.pile_size[color] += 1
    table.discarded[color][rank] += 1


cdef inline int pop(Table* table, int color) noexcept nogil:
    table.pile_size[color] -= 1
    cdef int rank = table.pile[color][table.pile_size[color]]
    table.discarded[color][rank] -= 1
    return rank


cdef inline int take_from_pile(Table* table, int color) noexcept nogil:
    """Take the top card; return its rank."""
    cdef int rank = pop(table, color)
    give(table, table.turn, color, rank)
    table.known[table.turn][color][rank] += 1
    table.pile_draws += 1
    return rank


cdef inline void return_to_pile(Table* table, int color, int rank) noexcept nogil:
    table.pile_draws -= 1
    table.known[table.turn][color][rank] -= 1
    remove(table, table.turn, color, rank)
    push(table, color, rank)


cdef inline bint lay_down(Table* table, const Action* action) noexcept nogil:
    """Play or discard; return whether the opponent knew of such a card in the hand."""
    cdef uint8_t* known = &table.known[table.turn][action.color][action.rank]
    cdef bint was_known = known[0] > 0
    known[0] -= was_known
    remove(table, table.turn, action.color, action.rank)
    if action.kind == DISCARD:
        push(table, action.color, action.rank)
        table.forbidden = action.color
    else:
        extend(&table.expedition[table.turn][action.color], action.rank)
    return was_known


cdef inline void pick_up(Table* table, const Action* action, bint was_known) noexcept nogil:
    if action.kind == DISCARD:
        pop(table, action.color)
    else:
        shorten(&table.expedition[table.turn][action.color], action.rank)
    give(table, table.turn, action.color, action.rank)
    table.known[table.turn][action.color][action.rank] += was_known


cdef inline void extend(Expedition* expedition, int rank) noexcept nogil:
    expedition.size += 1
    if rank == 0:
        expedition.wagers += 1
        return
    expedition.top = rank
    expedition.sum += rank + 1
    expedition.ranks |= 1 << rank


cdef inline void shorten(Expedition* expedition, int rank) noexcept nogil:
    expedition.size -= 1
    if rank == 0:
        expedition.wagers -= 1
        return
    expedition.ranks ^= 1 << rank
    expedition.sum -= rank + 1
    while expedition.top and not (expedition.ranks >> expedition.top) & 1:
        expedition.top -= 1


cdef inline int just_discarded(const Table* table, const Rules* rules) noexcept nogil:
    """The colour discarded by the card action that is now the last step, or NO_COLOR."""
    cdef const Action* action = &rules.actions[table.steps[table.length - 1].action]
    return action.color if action.kind == DISCARD else NO_COLOR

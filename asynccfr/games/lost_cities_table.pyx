"""The table of Lost Cities and its moves, forwards and backwards: plain C, without Python objects.

A kind of card is `color * ranks + rank`, where rank 0 is the wagers of the colour (interchangeable, so
one kind) and rank r >= 1 the number r + 1. Hands and deck hold how many cards of each kind they have.

Every step remembers what it destroys: the phase, the rank drawn from a pile, and whether it used up a
card that the opponent knew of. That and the rules are enough to take it back.
"""

from libc.string cimport memset


cdef void set_up(Table* table, const Rules* rules) noexcept nogil:
    """An empty table with every card in the deck."""
    cdef int color, rank
    memset(table, 0, sizeof(Table))
    table.phase = DEAL_PHASE
    table.forbidden = NO_COLOR
    table.deck_size = rules.colors * (rules.ranks - 1 + rules.wagers)
    for color in range(rules.colors):
        for rank in range(rules.ranks):
            table.deck[color * rules.ranks + rank] = 1 if rank > 0 else rules.wagers


cdef int write_legal(const Table* table, const Rules* rules, int* actions) noexcept nogil:
    """Write what the player to move may do, ascending; return the number of actions."""
    cdef int n = 0
    cdef int first = 0  # action of the colour's block
    cdef int color, rank, top
    cdef const uint8_t* hand = table.hand[table.turn]
    for color in range(rules.colors):
        if table.phase == CARD_PHASE:
            top = table.expedition[table.turn][color].top
            for rank in range(rules.ranks):
                if hand[rank] and (rank > top or top == 0):
                    actions[n] = first + rank
                    n += 1
            for rank in range(rules.ranks):
                if hand[rank]:
                    actions[n] = first + rules.ranks + rank
                    n += 1
            hand += rules.ranks
        elif (
            table.pile_size[color]
            and color != table.forbidden
            and table.pile_draws < rules.max_pile_draws
        ):
            actions[n] = first + 2 * rules.ranks
            n += 1
        first += 2 * rules.ranks + 1
    if table.phase == DRAW_PHASE:
        actions[n] = rules.draw_deck
        n += 1
    return n


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
            step.drawn = take_from_pile(table, rules, rules.actions[action].color)
            end_turn(table)
    elif step.phase == DECK_PHASE:
        take_from_deck(table, action, table.turn)
        if table.deck_size == 0:
            table.phase = OVER_PHASE
        else:
            end_turn(table)
    else:
        take_from_deck(table, action, step_receiver(table.length - 1))
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
            return_to_pile(table, rules, rules.actions[step.action].color, step.drawn)
        table.forbidden = just_discarded(table, rules)
    elif step.phase == DECK_PHASE:
        if table.phase != OVER_PHASE:
            table.turn = 1 - table.turn
        return_to_deck(table, step.action, table.turn)
    else:
        return_to_deck(table, step.action, step_receiver(table.length))
    table.phase = step.phase


cdef inline int step_receiver(int step) noexcept nogil:
    """The deal alternates, player 0 first."""
    return step & 1


cdef inline void end_turn(Table* table) noexcept nogil:
    table.turn = 1 - table.turn
    table.phase = CARD_PHASE


cdef inline void take_from_deck(Table* table, int card, int player) noexcept nogil:
    table.deck[card] -= 1
    table.deck_size -= 1
    table.hand[player][card] += 1


cdef inline void return_to_deck(Table* table, int card, int player) noexcept nogil:
    table.hand[player][card] -= 1
    table.deck_size += 1
    table.deck[card] += 1


cdef inline int take_from_pile(Table* table, const Rules* rules, int color) noexcept nogil:
    """Take the top card; return its rank."""
    table.pile_size[color] -= 1
    table.pile_draws += 1
    cdef int rank = table.pile[color][table.pile_size[color]]
    cdef int card = color * rules.ranks + rank
    table.hand[table.turn][card] += 1
    table.known[table.turn][card] += 1
    return rank


cdef inline void return_to_pile(Table* table, const Rules* rules, int color, int rank) noexcept nogil:
    cdef int card = color * rules.ranks + rank
    table.known[table.turn][card] -= 1
    table.hand[table.turn][card] -= 1
    table.pile[color][table.pile_size[color]] = rank
    table.pile_draws -= 1
    table.pile_size[color] += 1


cdef inline bint lay_down(Table* table, const Action* action) noexcept nogil:
    """Play or discard; return whether the opponent knew of such a card in the hand."""
    cdef uint8_t* known = &table.known[table.turn][action.card]
    cdef bint was_known = known[0] > 0
    cdef Expedition* expedition
    table.hand[table.turn][action.card] -= 1
    known[0] -= was_known
    if action.kind == DISCARD:
        table.pile[action.color][table.pile_size[action.color]] = action.rank
        table.pile_size[action.color] += 1
        table.forbidden = action.color
        return was_known
    expedition = &table.expedition[table.turn][action.color]
    expedition.size += 1
    if action.rank == 0:
        expedition.wagers += 1
    else:
        expedition.top = action.rank
        expedition.sum += action.rank + 1
        expedition.ranks |= 1 << action.rank
    return was_known


cdef inline void pick_up(Table* table, const Action* action, bint was_known) noexcept nogil:
    cdef Expedition* expedition
    table.hand[table.turn][action.card] += 1
    table.known[table.turn][action.card] += was_known
    if action.kind == DISCARD:
        table.pile_size[action.color] -= 1
        return
    expedition = &table.expedition[table.turn][action.color]
    expedition.size -= 1
    if action.rank == 0:
        expedition.wagers -= 1
        return
    expedition.sum -= action.rank + 1
    expedition.ranks ^= 1 << action.rank
    while expedition.top and not (expedition.ranks >> expedition.top) & 1:
        expedition.top -= 1


cdef inline int just_discarded(const Table* table, const Rules* rules) noexcept nogil:
    """The colour discarded by the card action that is now the last step, or NO_COLOR."""
    cdef const Action* action = &rules.actions[table.steps[table.length - 1].action]
    return action.color if action.kind == DISCARD else NO_COLOR


cdef int score(const Rules* rules, int wagers, int size, int sum) noexcept nogil:
    """Points of an expedition with so many wagers and cards in all, and this sum of numbers."""
    if size == 0:
        return 0
    cdef int bonus = rules.bonus if size >= rules.bonus_threshold else 0
    return (sum - rules.cost) * (1 + rules.multiplier * wagers) + bonus


cdef int expedition_score(const Rules* rules, const Expedition* expedition) noexcept nogil:
    return score(rules, expedition.wagers, expedition.size, expedition.sum)

def color_layout(ranks: int, wagers: int) -> list[tuple[str, int]]:
    """The `(feature, width)` pairs of a colour's block, in order.

    Cards are one entry a rank, wagers first. In units of one: cards, flags, and thermometers, of which
    the k-th entry says whether the level is at least k. A pile shows 1 for its top card, then 1/2, 1/4,
    and 1/8 for all below. In units of 1/8: counts. In units of 1/64: sums, and scores, told from the
    lowest possible one (2, 4, ... points to the unit where the highest would not fit).
    """

def global_layout() -> list[tuple[str, int]]:
    """The `(feature, width)` pairs after the blocks of colours, in order.

    The deck, the lead and the pile draws left are told in units of 1/64; the rest are flags.
    """

"""The rules of a game, in words, as its own documentation has them."""

import inspect
import sys

from asynccfr.games.contract import Game
from asynccfr.games.registry import OPENSPIEL


def rules(game: Game) -> list[str]:
    """The rules and the scoring, a text for each paragraph.

    They are the documentation of the game's module, or of its class where that has more to say.
    """
    if game.name.startswith(OPENSPIEL):
        return [f"{game}: a game of OpenSpiel, whose documentation has the rules."]
    kind = type(game)
    texts = inspect.getdoc(sys.modules.get(kind.__module__)) or "", inspect.getdoc(kind) or ""
    paragraphs = [" ".join(text.split()) for text in max(texts, key=len).split("\n\n")]
    return [text for text in paragraphs if not text.startswith(("Information-state", "Attributes"))]

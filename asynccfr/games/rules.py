"""The rules of a game, in words, as its own documentation has them."""

import inspect
import sys


def documented_rules(kind: type) -> str:
    """The documentation of a game's module, or of its class where that has more to say."""
    texts = inspect.getdoc(sys.modules.get(kind.__module__)) or "", inspect.getdoc(kind) or ""
    paragraphs = [" ".join(text.split()) for text in max(texts, key=len).split("\n\n")]
    return "\n\n".join(
        text for text in paragraphs if not text.startswith(("Information-state", "Attributes"))
    )

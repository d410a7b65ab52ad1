from typing import Any

from asynccfr.games.hidden_board import HiddenBoard

class DarkHex(HiddenBoard):
    """Hex in which neither player sees the other's stones."""
    def __init__(self, **parameters: Any) -> None: ...

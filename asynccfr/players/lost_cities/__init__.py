"""Rule bots of Lost Cities, of intermediate strength, for every set of parameters."""

from asynccfr.players.lost_cities.discard_only import DiscardOnly
from asynccfr.players.lost_cities.planner import bold, cautious
from asynccfr.players.lost_cities.threshold import Threshold

__all__ = ["DiscardOnly", "Threshold", "bold", "cautious"]

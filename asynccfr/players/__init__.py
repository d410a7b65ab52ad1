"""Whoever sits at the table: bots, and agents that ask a network."""

from asynccfr.players.protocol import Player
from asynccfr.players.registry import make_player, players_for

__all__ = ["Player", "make_player", "players_for"]

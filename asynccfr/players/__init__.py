"""Whoever sits at the table: bots, the champion, and agents that ask a network."""

from asynccfr.players.protocol import Player
from asynccfr.players.registry import (
    CHAMPION,
    described,
    game_of_agents,
    make_player,
    opponents_for,
    players_for,
    seated,
)

__all__ = [
    "CHAMPION",
    "Player",
    "described",
    "game_of_agents",
    "make_player",
    "opponents_for",
    "players_for",
    "seated",
]

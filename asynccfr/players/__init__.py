"""Whoever sits at the table: bots, and agents that ask a network."""

from asynccfr.players.protocol import Player
from asynccfr.players.registry import game_of_agents, make_player, players_for, seated

__all__ = ["Player", "game_of_agents", "make_player", "players_for", "seated"]

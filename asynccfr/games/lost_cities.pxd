from asynccfr.games.contract cimport Game, State
from asynccfr.games.lost_cities_table cimport Rules, Table


cdef class LostCities(Game):
    cdef Rules rules
    cdef readonly int colors
    cdef readonly int color_features
    cdef readonly int color_actions
    cdef readonly tuple moves

    cdef set_rules(self, dict values)
    cdef set_actions(self)


cdef class LostCitiesState(State):
    cdef Table table
    cdef const Rules* rules

    cdef tuple hand(self, int player)
    cdef tuple known(self, int player)
    cdef tuple expeditions(self, int player)
    cdef tuple piles(self)

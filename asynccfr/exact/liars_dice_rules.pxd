from libc.stdint cimport uint8_t, uint64_t

from asynccfr.exact.play cimport Dice
from asynccfr.exact.private_rules cimport Node, PrivateRules
from asynccfr.games.liars_dice cimport LiarsDice


cdef class LiarsDiceRules(PrivateRules):
    cdef LiarsDice dice
    cdef readonly list hands, weights
    cdef Dice play
    cdef uint8_t[:, ::1] matches
    cdef uint8_t[::1] quantity

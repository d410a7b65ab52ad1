from asynccfr.games.lost_cities_table cimport Rules, Table

cdef void write_tensor(const Table* table, const Rules* rules, int player, float* row) noexcept nogil

# C only: see lost_cities_table.pxd.

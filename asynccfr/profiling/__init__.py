"""Where the time of a traversal goes: the parts, the whole, and whether they add up.

Each module measures one thing and returns a record of `records`; `profile` runs them all.
"""

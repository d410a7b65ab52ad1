from collections.abc import Hashable

class Lane:
    def __new__(cls, key: Hashable = None) -> Lane: ...

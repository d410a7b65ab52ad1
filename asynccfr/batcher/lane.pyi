from collections.abc import Hashable

class Lane:
    """Calls in order of arrival; one that has given up stays as a hole until the lane is tidied."""
    def __new__(cls, key: Hashable = None) -> Lane: ...

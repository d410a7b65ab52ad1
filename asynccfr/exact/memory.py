"""How much memory there is, for those who would take much of it."""

import os
from pathlib import Path

GROUP = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Bytes that this process can still take: of the machine, and of its control group if any."""
    amounts = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for line in read(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            amounts.append(1024 * int(line.split()[1]))
    limit, used = read(GROUP / "memory.max").strip(), read(GROUP / "memory.current").strip()
    if limit.isdecimal() and used.isdecimal():
        amounts.append(int(limit) - int(used))
    return min(amounts)


def read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

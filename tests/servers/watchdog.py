"""Ends a server and removes its folder when the process that started them has died.

Runs as a program of its own, `python watchdog.py FOLDER`, in its own session, so that neither Ctrl-C nor
`kill -9` of the tests reaches it. Lines enter on standard input: `watch PID` names the server, `done` says that all
was put away. The end of input without `done` means that the starter died. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import sys
import time
from pathlib import Path

STOPPED_WITHIN_SECONDS = 2.0
REMOVE_SEGMENT = 0  # IPC_RMID of <sys/ipc.h>


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on (proc(5), field 3), or none if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()  # the name before it may hold spaces and parentheses


def is_gone(pid: int) -> bool:
    """Whether a process no longer runs; one that waits only for its parent to take note is gone."""
    fields = _stat_fields(pid)
    return not fields or fields[0] in "ZX"


def started_at(pid: int) -> str | None:
    """A process's start time in clock ticks: with the pid, its identity."""
    fields = _stat_fields(pid)
    return fields[19] if fields else None


def children_of(pid: int) -> list[int]:
    """The pids of a process's direct children."""
    pids = (int(entry) for entry in os.listdir("/proc") if entry.isdigit())
    return [child for child in pids if (fields := _stat_fields(child)) and int(fields[1]) == pid]


def end_by_force(pid: int) -> list[int]:
    """Kill a process and its children as a power cut would, and say which they were.

    The parent is stopped first: it can neither make more children nor reap those it has, so every pid stays theirs.
    PostgreSQL's children each lead a session of their own; a signal to the group would miss them.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + STOPPED_WITHIN_SECONDS
    while not is_gone(pid) and _stat_fields(pid)[:1] != ["T"] and time.monotonic() < deadline:
        time.sleep(0.001)
    pids = [*children_of(pid), pid]
    for each in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    return pids


def remove_shared_memory(folder: Path) -> None:
    """Free the System V segment that a killed PostgreSQL leaves in the kernel; its postmaster.pid names it."""
    try:
        segment = int((folder / "data" / "postmaster.pid").read_text().splitlines()[6].split()[1])
    except (OSError, IndexError, ValueError):
        return
    ctypes.CDLL(None).shmctl(segment, REMOVE_SEGMENT, None)


def main() -> None:
    """Watch until the starter is done or dead."""
    folder = Path(sys.argv[1])
    server: tuple[int, str | None] | None = None
    for line in sys.stdin:
        match line.split():
            case ["done"]:
                return
            case ["watch", pid]:
                server = (int(pid), started_at(int(pid)))
    if server is not None and server[1] is not None and started_at(server[0]) == server[1]:
        end_by_force(server[0])
    remove_shared_memory(folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

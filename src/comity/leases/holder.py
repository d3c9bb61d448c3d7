"""The holder of a lease: a name by which any process on the same machine can tell whether the holder is alive.

The name is `machine:process:start:nonce`. The machine part covers the boot and the PID namespace, so that
a process number is only looked up where it is meaningful. A holder in another container or on another machine is never
assumed dead; its leases expire instead.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from pathlib import Path

_SEPARATOR = ":"
_PROCESS = re.compile("[1-9][0-9]{0,8}")


def machine_name() -> str:
    """This machine, boot and PID namespace, with the host name in front for people to read."""
    parts = [socket.gethostname(), _read("/proc/sys/kernel/random/boot_id"), _pid_namespace()]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    return f"{socket.gethostname()[:60].replace(_SEPARATOR, '-')}-{digest}"


def new_holder() -> str:
    """A name for a holder in this process, never used before."""
    process = os.getpid()
    return _SEPARATOR.join([machine_name(), str(process), started_at(process) or "0", secrets.token_hex(4)])


def is_dead(holder: str) -> bool:
    """Whether a holder on this machine is certainly gone; False if in doubt."""
    parts = holder.split(_SEPARATOR)
    if len(parts) != 4 or parts[0] != machine_name() or not _PROCESS.fullmatch(parts[1]):
        return False
    process, start = int(parts[1]), parts[2]
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it runs as another user; its start time shows whether it is the same process
    found = started_at(process)
    return found is not None and start != "0" and found != start


def is_dead_store_name(name: str) -> bool:
    """The same for a holder's name in file names, with dashes for colons."""
    head, _, nonce = name.rpartition("-")
    head, _, start = head.rpartition("-")
    machine, _, process = head.rpartition("-")
    return is_dead(_SEPARATOR.join([machine, process, start, nonce]))


def started_at(process: int) -> str | None:
    """When a process started, in clock ticks since boot; None where the system does not say."""
    stat = _read(f"/proc/{process}/stat")
    # The command's name may contain anything, also parentheses: count from the last one.
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else ("zombie" if fields else None)


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""

"""A lease: the sole right to talk to a host, for a while."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from comity.model.gate import GateMemory
from comity.model.host import HostStatus


@dataclass(frozen=True, slots=True)
class Lease:
    """The sole right to talk to a host until `expires_at`.

    `token` is minted when the lease is taken and never by a heartbeat; every write made under
    the lease names it, so that a hand that comes late changes nothing.
    """

    host_id: UUID
    host: str
    holder: str
    token: int
    expires_at: datetime
    status: HostStatus
    cooldown_count: int
    max_pages_per_run: int | None
    memory: GateMemory

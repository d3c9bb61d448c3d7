"""Which stored audit a user means: by its name, its folder, or its site."""

from __future__ import annotations

from pathlib import Path

from comity.model.errors import BadInput, NotFound, Remedy, RemedyCode
from comity.reports.audit.stored import INFO, StoredAudit, stored_audits
from comity.rules.canonical import web_address


def find_audit(audits: Path, name: str) -> StoredAudit:
    """The audit of that name or in that folder, or the newest of that site; `NotFound` if there is none."""
    folder = Path(name).expanduser()
    if (folder / INFO).is_file():
        return StoredAudit(folder)
    if name not in ("", ".", "..") and "/" not in name and (audits / name / INFO).is_file():
        return StoredAudit(audits / name)
    host = _host(name)
    if host is not None:
        for info in stored_audits(audits):
            if info.ended_at is not None and _host(info.site) == host:
                return StoredAudit(audits / info.audit_id)
    raise NotFound(f"there is no audit {name!r}", remedy=Remedy(RemedyCode.LIST_AUDITS))


def _host(text: str) -> str | None:
    try:
        return web_address(text).host
    except BadInput:
        return None

"""Which stored audit a user means: by its name, its folder, or its site."""

from __future__ import annotations

from pathlib import Path

from comity.model.audit import AuditInfo
from comity.model.errors import BadInput, NotFound, Remedy, RemedyCode
from comity.reports.audit.stored import INFO, StoredAudit, stored_audits
from comity.rules.canonical import web_address


def find_audit(
    audits: Path, name: str, *, earlier_than: AuditInfo | None = None, may_be_folder: bool = True
) -> StoredAudit:
    """The audit of that name or in that folder, or the newest of that site; `NotFound` if there is none.

    With `earlier_than`, a site means its newest audit before that one: an audit compared with itself shows no change.
    A name that comes from the network must not be a folder: it could lead anywhere.
    """
    folder = Path(name).expanduser() if may_be_folder else None
    if folder is not None and _holds_audit(folder):
        return StoredAudit(folder)
    if name not in ("", ".", "..") and "/" not in name and _holds_audit(audits / name):
        return StoredAudit(audits / name)
    host = _host(name)
    if host is not None:
        for info in stored_audits(audits):
            is_early = earlier_than is None or (
                info.audit_id != earlier_than.audit_id and info.started_at <= earlier_than.started_at
            )
            if is_early and info.ended_at is not None and _host(info.site) == host:
                return StoredAudit(audits / info.audit_id)
    if host is not None and earlier_than is not None and _host(earlier_than.site) == host:
        raise NotFound(
            f"there is no audit of {name} before {earlier_than.audit_id}", remedy=Remedy(RemedyCode.LIST_AUDITS)
        )
    raise NotFound(f"there is no audit {name!r}", remedy=Remedy(RemedyCode.LIST_AUDITS))


def _holds_audit(folder: Path) -> bool:
    try:
        return (folder / INFO).is_file()
    except OSError:  # longer than a name of a file may be, or not ours to read
        return False


def _host(text: str) -> str | None:
    try:
        return web_address(text).host
    except BadInput:
        return None

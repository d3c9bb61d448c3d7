"""Response schemas of audits: the findings of one, the list of them, and what changed between two."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from comity.doors.schemas.base import Instant, Schema
from comity.model.audit import FindingCode, Severity

if TYPE_CHECKING:
    from comity.model.audit import AuditComparison, AuditReport
    from comity.run.audit.tables import WrittenTable


class WarnedView(Schema):
    """A budget that is nearly spent, or something that went wrong on the way."""

    code: str
    sentence: str


class AuditInfoView(Schema):
    """Which audit it is, and how it went."""

    audit_id: str
    site: str = Field(description="The start URL.")
    started_at: Instant
    ended_at: Instant | None = Field(description="null while it has not ended.")
    ended_by: str = Field(description="A reason of docs/endings.md.")
    sentence: str
    is_complete: bool = Field(description="Whether everything that was found was visited.")
    pages: int
    requests: int
    left: int = Field(description="URLs known and not visited.")
    max_pages: int = Field(description="0: no limit.")
    max_minutes: float = Field(description="0: no limit.")
    user_agent: str
    warnings: list[WarnedView]

    @field_validator("started_at", "ended_at", mode="before")
    @classmethod
    def _as_time(cls, value: Any) -> Any:
        return datetime.fromtimestamp(value, UTC) if isinstance(value, int | float) else value


class RunningAuditView(Schema):
    """An audit under way in this process."""

    info: AuditInfoView
    pages: int = Field(description="Pages fetched so far.")
    is_stopping: bool
    waits_for: list[str] = Field(description="Hosts that another process is crawling; the audit goes on after it.")


class AuditList(Schema):
    """The audits, the newest first, and those that run in this process."""

    audits: list[AuditInfoView]
    running: list[RunningAuditView]
    limit: int
    total: int


class FoundOnView(Schema):
    """A page that has a finding."""

    url: str
    detail: str
    sources: list[str] = Field(description="Pages that hold it or share it; the first twenty.")


class FindingView(Schema):
    """One kind of fault, with every page that has it."""

    code: FindingCode
    severity: Severity
    title: str
    meaning: str
    remedy: str
    count: int
    pages: list[FoundOnView]


class BarView(Schema):
    """One bar of a plot."""

    label: str
    pages: int


class SectionView(Schema):
    """A folder of the site, with everything below it."""

    path: str
    pages: int
    errors: int


class AgentRuleView(Schema):
    """What robots.txt allows an agent in a section, and the line that decides."""

    allowed: bool
    line_number: int | None
    rule: str | None


class AgentView(Schema):
    """What a known crawler may read."""

    agent: str
    operator: str
    purpose: str
    by_section: dict[str, AgentRuleView]


class RobotsFileView(Schema):
    """The robots.txt of an origin."""

    origin: str
    status: int | None
    text: str | None
    reason: str


class SitemapView(Schema):
    """A sitemap, and how reading it went."""

    url: str
    state: str
    urls: int
    problem: str | None


class DecisionView(Schema):
    """A stored decision by robots.txt."""

    url: str
    allowed: bool
    matched_rule: str | None
    line: int | None
    crawl_delay: float | None
    timestamp: str
    confidence: str


class TableView(Schema):
    """A table that was written."""

    name: str
    rows: int
    csv: str
    parquet: str


class AuditView(Schema):
    """An audit with its findings and figures."""

    audit: AuditInfoView
    folder: str = Field(description="Where the audit is stored.")
    advice: str | None = Field(description="What to do if no page could be read.")
    counts: dict[str, int] = Field(description="How many kinds of fault there are, by severity.")
    findings: list[FindingView] = Field(description="By severity, then by how many pages have it.")
    totals: dict[str, int]
    statuses: list[BarView]
    depths: list[BarView]
    times: list[BarView]
    sizes: list[BarView]
    tree: list[SectionView]
    sections: list[str]
    agents: list[AgentView]
    robots: list[RobotsFileView]
    sitemaps: list[SitemapView]
    decisions: list[DecisionView] = Field(
        description="Those that denied a URL, and a sample of those that allowed one."
    )
    report: str | None = Field(description="The HTML file, if one was written.")
    tables: list[TableView] = Field(description="The tables, if they were written.")


class FindingChangeView(Schema):
    """How one kind of fault changed."""

    code: FindingCode
    severity: Severity
    title: str
    better: list[FoundOnView] = Field(description="Pages that no longer have it.")
    worse: list[FoundOnView] = Field(description="Pages that have it now.")
    same: list[FoundOnView]
    not_checked: list[FoundOnView] = Field(description="Pages that had it and that the later audit did not reach.")
    newly_seen: list[FoundOnView] = Field(description="Pages that have it and that the earlier audit did not reach.")


class AuditComparisonView(Schema):
    """What changed between two audits; each page of each finding counts."""

    before: AuditInfoView
    after: AuditInfoView
    better: int
    worse: int
    same: int
    urls_gone: int
    urls_new: int
    changes: list[FindingChangeView]


def audit_document(
    report: AuditReport,
    *,
    folder: str,
    advice: str | None = None,
    html: str | None = None,
    tables: Sequence[WrittenTable] = (),
) -> dict[str, Any]:
    """The document of an audit."""
    return audit_view(report, folder=folder, advice=advice, html=html, tables=tables).document()


def audit_view(
    report: AuditReport,
    *,
    folder: str,
    advice: str | None = None,
    html: str | None = None,
    tables: Sequence[WrittenTable] = (),
) -> AuditView:
    """An audit with its findings and figures."""
    shown = {name: getattr(report, name) for name in AuditView.model_fields if hasattr(report, name)}
    return AuditView.model_validate(
        {
            **shown,
            "audit": report.info,
            "folder": folder,
            "advice": advice,
            "counts": counts_by_severity(report),
            "report": html,
            "tables": list(tables),
        }
    )


def counts_by_severity(report: AuditReport) -> dict[str, int]:
    """How many kinds of fault there are of each severity, also of those that have none."""
    return {str(level): sum(each.severity is level for each in report.findings) for level in Severity}


def comparison_document(comparison: AuditComparison) -> dict[str, Any]:
    """The document of a comparison."""
    return AuditComparisonView.model_validate(comparison).document()

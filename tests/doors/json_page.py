"""docs/json.md: every noun with its commands, its routes and its fields, generated from the schemas.

To write the page again after a change of a schema: `python -m tests.doors.json_page`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from comity.doors.schemas import (
    audits,
    commands,
    console,
    decisions,
    host_lists,
    hosts,
    queue,
    runs,
    sources,
    stored_pages,
)
from comity.doors.schemas.base import Schema

PAGE: Final = Path(__file__).parents[2] / "docs" / "json.md"
_FIRST: Final = "## Host in a list"


class Noun(NamedTuple):
    """A noun: its schema, and the commands and routes that return it."""

    name: str
    schema: type[Schema]
    commands: tuple[str, ...]
    routes: tuple[str, ...]
    note: str = ""


NOUNS: Final = (
    Noun("host in a list", hosts.ListedHost, ("domains list", "domains top"), ("GET /admin/hosts",)),
    Noun("host", hosts.HostView, ("domains info",), ("GET /admin/hosts/{host}",)),
    Noun(
        "policy", hosts.PolicyView, ("policy show", "policy set"), ("GET, POST /admin/domain_policies/{host}",),
        "The field `policy` of a host has the same schema, or is null.",
    ),
    Noun(
        "crawl statement", commands.CrawlStatementResult, ("sql",), (),
        "`comity sql --json` prints the rows of the last statement as a list of objects: of a CRAWL statement one of "
        "these, of any other statement its own columns.",
    ),
    Noun("claims", hosts.ClaimsView, ("domains claims",), ("GET /admin/claims",)),
    Noun("status", hosts.StatusView, ("status",), ("GET /admin/status",)),
    Noun(
        "run", hosts.RecentRunView, (), (),
        "The field `runs` of a status is a list of these. The summary of a crawl (`summary` of `comity crawl --json`, "
        "a line of `comity work --json`) has the same fields and more.",
    ),
    Noun("added seeds", decisions.SeedsAdded, ("seeds add", "seeds load", "enqueue"), ("POST /admin/seeds",)),
    Noun("takedown", decisions.TakedownView, ("takedown list",), ("GET /admin/takedowns",)),
    Noun("added takedown", decisions.TakedownAdded, ("takedown add",), ("POST /admin/takedowns",)),
    Noun("removed takedown", decisions.TakedownRemoved, ("takedown remove",), ("DELETE /admin/takedowns",)),
    Noun("why", decisions.WhyView, ("why",), ("GET /admin/why",)),
    Noun("evidence", decisions.EvidenceView, (), ("GET /admin/evidence", "GET /admin/hosts/{host}/evidence")),
    Noun("request to a host", host_lists.RequestView, (), ("GET /admin/hosts/{host}/requests",)),
    Noun("visit of a page", host_lists.FetchView, (), ("GET /admin/hosts/{host}/fetches",)),
    Noun("URL of a host", host_lists.UrlView, (), ("GET /admin/hosts/{host}/urls",)),
    Noun("transition of a host", host_lists.MoveView, (), ("GET /admin/hosts/{host}/moves",)),
    Noun("reset host", host_lists.ResetView, (), ("POST /admin/hosts/{host}/reset",)),
    Noun("host that is left alone", host_lists.CooldownView, (), ("POST /admin/hosts/{host}/cooldown",)),
    Noun("stored page in a list", stored_pages.StoredPageView, (), ("GET /admin/pages",)),
    Noun("stored page", stored_pages.PageView, (), ("GET /admin/pages/view",)),
    Noun("answer of a query", stored_pages.QueryAnswer, (), ("GET /admin/pages/query",)),
    Noun("list of audits", audits.AuditList, (), ("GET /admin/audits", "POST /admin/audits/{audit_id}/stop")),
    Noun("robots verdict", decisions.RobotsVerdictView, ("robots",), ("GET /admin/robots_verdict",)),
    Noun(
        "source", sources.SourceView,
        tuple(f"sources {verb}" for verb in ("list", "add", "edit", "approve", "pause", "resume", "delete")),
        ("GET, POST /admin/sources", "GET, PATCH, DELETE /admin/sources/{id}"),
        "After a change, `notes` lists settings that have no effect.",
    ),
    Noun(
        "imported sources", sources.SourceImportView, ("sources add",), ("POST /admin/sources/import",),
        "With `--from FILE`. Over HTTP, a list of which nothing is added is an error 422 whose `details` are the "
        "refused rows.",
    ),
    Noun("source run", sources.SourceRunView, ("sources logs",), ("GET /admin/crawl/logs",)),
    Noun("source status", sources.SourcesStatusView, ("sources status",), ("GET /admin/crawl/status",)),
    Noun("head of a page", sources.HeadView, ("sources test-fetch",), ("POST /admin/sources/{id}/test-fetch",)),
    Noun(
        "simulation", sources.SimulationView, ("sources simulate-extract",),
        ("POST /admin/sources/{id}/simulate-extract",),
    ),
    Noun("posting", sources.PostingView, ("search",), ("GET /search",), "The `posting` of each hit."),
    Noun("search", sources.SearchResults, ("search",), ("GET /search",)),
    Noun(
        "crawl policy", queue.CrawlPolicyView,
        tuple(f"queue policies {verb}" for verb in ("list", "add", "show", "edit")),
        ("GET, POST /admin/crawl_policies", "GET, PATCH /admin/crawl_policies/{policy_id}"),
        "Prices are JSON numbers with exactly the digits that are stored, here and in all results.",
    ),
    Noun(
        "bulk report", queue.BulkReport,
        (*(f"queue policies {verb}" for verb in ("enable", "disable", "run-now", "delete")),
         *(f"queue jobs {verb}" for verb in ("reset", "expire", "pending"))),
        ("POST /admin/crawl_policies/actions", "DELETE /admin/crawl_policies/{policy_id}",
         "POST /admin/crawl_jobs/actions"),
    ),
    Noun(
        "imported policies", queue.PolicyImportView, ("queue policies import",),
        ("POST /admin/crawl_policies/import",),
        "Over HTTP, a list of which nothing is added is an error 422 whose `details` are the refused rows.",
    ),
    Noun(
        "exported rows", queue.RowsExported,
        tuple(f"queue {noun} export" for noun in ("policies", "jobs", "results")), (),
    ),
    Noun(
        "price", queue.PricePointView, ("queue policies prices",), (),
        "`GET /admin/crawl_policies/{policy_id}/prices` has a list of these in `prices`.",
    ),
    Noun("crawl job", queue.CrawlJobView, ("queue jobs list",), ("GET /admin/crawl_jobs",)),
    Noun(
        "crawl job with its history", queue.CrawlJobDetails, ("queue jobs show",),
        ("GET /admin/crawl_jobs/{job_id}",),
    ),
    Noun(
        "crawl result", queue.CrawlResultView, ("queue results list", "queue results show"),
        ("GET /admin/crawl_results", "GET /admin/crawl_results/{result_id}"),
    ),
    Noun(
        "late submission", queue.LateSubmissionView, ("queue results list",),
        ("GET /admin/crawl_results/late", "GET /admin/crawl_results/late/{late_id}"), "With `--late`.",
    ),
    Noun("queue at a glance", queue.QueueGlanceView, (), ("GET /admin/queue",)),
    Noun("queue statistics", queue.QueueStatsView, ("queue stats",), ("GET /admin/crawl_jobs/stats",)),
    Noun(
        "bot", queue.BotView, tuple(f"bots {verb}" for verb in ("list", "show", "limit", "resume", "revoke")),
        ("GET /admin/bots", "GET, PATCH /admin/bots/{bot_id}", "POST /admin/bots/{bot_id}/revoke",
         "POST /admin/bots/{bot_id}/resume"),
    ),
    Noun(
        "new bot", queue.NewBot, ("bots add", "bots new-key"),
        ("POST /admin/bots", "POST /admin/bots/{bot_id}/new-key"),
    ),
    Noun(
        "webhook", queue.WebhookView,
        tuple(f"queue webhooks {verb}" for verb in ("list", "show", "edit", "enable", "disable", "delete")),
        ("GET /admin/webhooks", "GET, PATCH, DELETE /admin/webhooks/{webhook_id}",
         "POST /admin/webhooks/{webhook_id}/enable", "POST /admin/webhooks/{webhook_id}/disable"),
        "`GET /admin/webhooks` has a list of these in `webhooks`.",
    ),
    Noun(
        "new webhook", queue.NewWebhook, ("queue webhooks add", "queue webhooks new-secret"),
        ("POST /admin/webhooks", "POST /admin/webhooks/{webhook_id}/new-secret"),
    ),
    Noun(
        "delivery of a webhook", queue.WebhookDeliveryView,
        ("queue webhooks deliveries", "queue webhooks resend", "queue webhooks test"),
        ("GET /admin/webhooks/deliveries", "GET /admin/webhooks/deliveries/{delivery_id}",
         "POST /admin/webhooks/deliveries/{delivery_id}/resend", "POST /admin/webhooks/{webhook_id}/test"),
    ),
    Noun("crawl", runs.CrawlResult, ("crawl", "demo"), ()),
    Noun("audit", audits.AuditView, ("audit", "audit report"), ("GET /admin/audits/{audit_id}",)),
    Noun("audit in a list", audits.AuditInfoView, ("audit list",), ("POST /admin/audits",)),
    Noun("comparison of audits", audits.AuditComparisonView, ("audit compare",), ("GET /admin/audits/compare",)),
    Noun("run of a worker", runs.WorkerRun, ("work",), (), "One line for each run."),
    Noun("reset host", commands.HostReset, ("domains reset",), ()),
    Noun("merged host", commands.HostMerge, ("domains merge",), ()),
    Noun("backfill", commands.BackfillView, ("domains backfill",), ()),
    Noun("priorities", commands.PrioritiesComputed, ("recalculate-priorities",), ()),
    Noun("loaded seeds", commands.SeedsLoaded, ("seeds load",), ()),
    Noun("politeness check", commands.PolitenessView, ("verify-politeness",), ()),
    Noun("schema", commands.SchemaAgeView, ("db current", "db upgrade", "db downgrade"), ()),
    Noun("moved frontier", commands.FrontierMoved, ("db move-frontier",), ()),
    Noun("page in a list", commands.PageInList, ("pages list",), ()),
    Noun("body of a page", commands.PageBody, ("pages body",), ()),
    Noun("query result", commands.PagesAnswer, ("pages query",), ()),
    Noun("export", commands.PagesExported, ("pages export",), ()),
    Noun("parts", commands.PartsView, ("pages parts", "pages verify"), ()),
    Noun("search index", commands.SearchStatusView, ("search",), (), "With `--status`."),
    Noun("rebuilt index", commands.IndexRebuilt, ("search",), (), "With `--rebuild`."),
    Noun("result of a source", commands.SourceRunResult, ("sources run", "sources serve", "serve"), ()),
    Noun("due sources", commands.DueSourcesRun, ("sources run-due",), ()),
    Noun("comparison of schedules", commands.ScheduleComparison, ("simulate schedule",), ()),
    Noun("password hash", commands.PasswordHash, ("web hash-password",), ()),
    Noun("token", commands.NewToken, ("web new-token",), ()),
    Noun("user", console.ConsoleUserView, tuple(f"users {verb}" for verb in ("list", "add", "password", "role")), ()),
    Noun("removed user", console.UserRemoved, ("users remove",), ()),
    Noun("activity", console.ActivityView, (), ("GET /admin/activity",)),
    Noun("setting", console.SettingView, (), ("GET /admin/settings",)),
    Noun("demonstration", console.DemonstrationView, (), ("GET, POST /admin/demonstration",)),
)  # fmt: skip
EVENTS: Final = tuple(
    Noun(f"event {name}", schema, (), (), "A line of `comity crawl --json-lines`.")
    for name, schema in runs.EVENTS.items()
)


def nouns_as_markdown() -> str:
    """Every noun as a section with a table of its fields, then the schemas that they contain."""
    parts: dict[str, dict[str, Any]] = {}
    for noun in (*NOUNS, *EVENTS):
        parts |= noun.schema.model_json_schema(mode="serialization", by_alias=True).get("$defs", {})
    own = {noun.schema.__name__ for noun in (*NOUNS, *EVENTS)}
    named = [_part(name, schema) for name, schema in sorted(parts.items()) if name not in own]
    return "\n\n".join([*map(_section, (*NOUNS, *EVENTS)), "## Nested schemas", *named])


def _section(noun: Noun) -> str:
    schema = noun.schema.model_json_schema(mode="serialization", by_alias=True)
    parts = [f"## {noun.name[0].upper()}{noun.name[1:]}", str(schema.get("description", ""))]
    where = [f"`comity {each} --json`" for each in noun.commands] + [f"`{each}`" for each in noun.routes]
    if where:
        parts.append(f"From {', '.join(where)}.")
    if noun.note:
        parts.append(noun.note)
    return "\n\n".join([*parts, _fields(schema)])


def _part(name: str, schema: dict[str, Any]) -> str:
    about = " ".join(str(schema.get("description", "")).split())
    if "enum" in schema:
        return f"**{name}**: {about} One of {', '.join(f'`{value}`' for value in schema['enum'])}."
    return f"**{name}**: {about}\n\n{_fields(schema)}"


def _fields(schema: dict[str, Any]) -> str:
    lines = ["| field | type | meaning |", "|---|---|---|"]
    for name, field in schema["properties"].items():
        lines.append(f"| `{name}` | {_kind(field)} | {field.get('description', '')} |")
    return "\n".join(lines)


def _kind(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(_kind(each) for each in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    if field.get("type") == "object" and isinstance(inner := field.get("additionalProperties"), dict) and inner:
        return f"object of {_kind(inner)}"
    if field.get("format") == "date-time":
        return "time"
    return str(field.get("format", field.get("type", "any")))


def write_page() -> None:
    """Replace the generated part of the page."""
    introduction, _, _ = PAGE.read_text(encoding="utf-8").partition(_FIRST)
    PAGE.write_text(introduction + nouns_as_markdown() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_page()

"""The API behaves as its OpenAPI document says, for valid and for invalid requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from comity.database.connection import Database
from comity.run.crawl import service
from comity.upkeep.sweep_queue import make_due_jobs
from tests.doors.web.served import PASSWORD_HASH, TOKEN_HASH, WITH_TOKEN, Served, served
from tests.sizes import sized

EXAMPLES = sized(4, 100)
WITH_KEY: dict[str, str] = {}
POLICIES: list[str] = []
JOBS: list[str] = []
WEBHOOKS: list[str] = []
# What only the rooms can judge (a time zone, a hint, a host) is refused although its shape is right.
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
)
OPERATIONS = {
    "import_sources",
    "list_sources", "add_source", "get_source", "edit_source", "delete_source", "pause_source", "resume_source",
    "act_on_sources", "check_hint", "explain_next_run", "list_due_sources",
    "list_runs", "start_crawl", "get_run", "stop_run", "resume_run",
    "approve_source", "run_source", "test_fetch_source", "simulate_extract_source", "run_crawl", "run_due",
    "crawl_status", "crawl_logs", "get_robots", "get_policy", "set_policy", "get_session", "log_in", "log_out",
    "log_out_everywhere", "list_activity", "list_settings", "get_demonstration", "load_demonstration",
    "list_links", "list_admin_links",
    "healthz", "readyz", "search", "list_hosts", "get_host", "get_claims", "get_status", "add_seeds", "list_takedowns",
    "add_takedowns", "remove_takedown", "explain_url", "list_evidence", "get_robots_verdict",
    "list_webhooks", "add_webhook", "get_webhook", "edit_webhook", "delete_webhook", "enable_webhook",
    "disable_webhook", "renew_webhook_secret", "test_webhook", "list_webhook_deliveries", "get_webhook_delivery",
    "resend_webhook_delivery",
    "export_webhook_deliveries", "export_webhooks", "export_bots",
    "pull_jobs", "submit_result", "keep_jobs", "release_jobs", "grant_requests", "report_requests", "release_grants",
    "list_crawl_policies", "add_crawl_policy", "act_on_crawl_policies", "export_crawl_policies",
    "import_crawl_policies", "get_crawl_policy", "edit_crawl_policy", "delete_crawl_policy", "get_price_history",
    "list_crawl_jobs", "get_queue", "get_queue_stats", "act_on_crawl_jobs", "export_crawl_jobs", "get_crawl_job",
    "list_crawl_results", "export_crawl_results", "list_late_submissions", "get_late_submission", "get_late_html",
    "get_crawl_result", "get_result_html", "list_bots", "add_bot", "get_bot", "limit_bot", "renew_bot_key",
    "revoke_bot", "resume_bot", "get_metrics", "list_requests", "list_fetches", "list_urls", "list_moves",
    "list_evidence_of_host", "reset_host", "cool_down_host", "resume_host", "search_pages", "get_page", "query_pages",
    "list_audits", "start_audit", "compare_audits", "get_audit", "stop_audit", "get_audit_report", "quarantine_bot",
}  # fmt: skip


@pytest.fixture(params=sized(["postgresql"], ["sqlite", "postgresql"]))
def api_url(request: pytest.FixtureRequest) -> str:
    """The stricter database, which refuses wrong types, ranges and characters that SQLite takes; at full size both.

    What each operation does on both databases is tested one by one elsewhere in this folder.
    """
    if request.param == "sqlite":
        url: str = request.getfixturevalue("sqlite_url")
        return url
    database: Database = request.getfixturevalue("shared_database")
    return database.engine.url.render_as_string(hide_password=False)


@pytest.fixture
def described(api_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, Any, list[str]]]:
    import schemathesis  # slow to load, and not needed to find the tests

    monkeypatch.setattr(service, "MOST_AT_ONCE", 0)  # no crawl of names made up by chance: each is answered with 429

    with served(api_url, env="prod", admin_password_hash=PASSWORD_HASH, admin_token_hash=(TOKEN_HASH,)) as running:
        schema = schemathesis.openapi.from_url(f"{running.url}/openapi.json", timeout=60)
        with running.client(headers=WITH_TOKEN) as admin:
            # The port of nothing: whatever is run or tried out fails at once.
            urls = [f"http://127.0.0.1:1/careers/{number}" for number in range(3)]
            ids = [admin.post("/admin/sources", json={"careers_url": url}).json()["id"] for url in urls]
            WITH_KEY["X-API-Key"] = admin.post("/admin/bots", json={"bot_id": "schema-bot"}).json()["key"]
            policies = [{"url": f"https://shop{number}.example/p"} for number in range(3)]
            assert admin.post("/admin/crawl_policies/import", json=policies).status_code == 200
            POLICIES[:] = [each["id"] for each in admin.get("/admin/crawl_policies").json()["policies"]]
            hook = {"url": f"{running.url}/healthz", "events": ["job.done"]}  # which takes no POST
            WEBHOOKS[:] = [admin.post("/admin/webhooks", json=hook).json()["id"] for _ in range(3)]
            make_due_jobs(running.state.database, running.state.clock)
            JOBS[:] = [each["id"] for each in admin.get("/admin/crawl_jobs").json()["jobs"]]
        yield running, schema, ids


# The server runs in this process, and is free to use chance while something is being generated.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
def test_every_operation_behaves_as_documented(described: tuple[Served, Any, list[str]]) -> None:
    running, schema, ids = described
    seen: set[str] = set()
    with requests.Session() as session:
        session.trust_env = False
        for found in schema.get_all_operations():
            operation = found.ok()
            seen.add(operation.definition.raw["operationId"])
            _ask(operation, session, ids)
        statuses = session.get(f"{running.url}/admin/crawl/status", headers=WITH_TOKEN, timeout=10)
    assert statuses.json()["locked"] <= 3
    assert seen == OPERATIONS


def _ask(operation: Any, session: requests.Session, ids: list[str]) -> None:
    from schemathesis import GenerationMode, checks

    is_for_bots = operation.path.startswith("/api/")
    # Bodies of bots may have other fields, and names that are nearly right are refused: the shape does not decide.
    names = [name for name in CHECKED if not (is_for_bots and name == "negative_data_rejection")]
    checked = [getattr(checks, name) for name in names]
    strategies = [operation.as_strategy(GenerationMode.POSITIVE)]
    if operation.body or operation.query or operation.path_parameters:
        strategies.append(operation.as_strategy(GenerationMode.NEGATIVE))
    for name, found in {"{policy_id}": POLICIES, "{job_id}": JOBS}.items():
        if name in operation.path:
            chosen = found[1] if operation.method == "delete" else found[0]
            strategies.append(operation.as_strategy(path_parameters={name.strip("{}"): chosen}))
    if "{webhook_id}" in operation.path:
        chosen = {"delete": WEBHOOKS[1], "patch": WEBHOOKS[2]}.get(operation.method, WEBHOOKS[0])
        strategies.append(operation.as_strategy(path_parameters={"webhook_id": chosen}))
    if "{source_id}" in operation.path:  # those that exist are more worth asking for
        chosen = ids[1] if operation.method == "delete" else ids[0]
        strategies.append(operation.as_strategy(path_parameters={"source_id": chosen}))

    @seed(20)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(strategies))
    def ask(case: Any) -> None:
        if is_for_bots and isinstance(case.body, dict):  # of another bot, every request would be refused
            name = "bot_id" if "bot_id" in case.body else "client_id"
            if isinstance(case.body.get(name), str):
                case.body[name] = "schema-bot"
        headers = WITH_KEY if is_for_bots else WITH_TOKEN
        case.call_and_validate(session=session, headers=headers, checks=checked, timeout=30)

    ask()


def test_the_openapi_document_is_complete(described: tuple[Served, Any, list[str]]) -> None:
    running, _, _ = described
    with running.client() as client:
        description = client.get("/openapi.json").json()
    assert set(description["components"]["securitySchemes"]) == {"token", "session", "key"}
    for path, operations in description["paths"].items():
        for operation in operations.values():
            answers = operation["responses"]
            assert operation["description"]
            if path.startswith("/admin"):
                assert {"401", "403", "422", "500", "503"} <= answers.keys()
            if path.startswith("/admin") and operation["operationId"] != "log_in":
                assert operation["security"] == [{"token": []}, {"session": []}]
            if "requestBody" in operation:
                assert {"413", "415"} <= answers.keys()
            for status, answer in answers.items():
                if int(status) >= 400:
                    schema = answer["content"]["application/json"]["schema"]
                    kind = "BotErrorResponse" if path.startswith("/api/") else "ErrorResponse"
                    assert schema == {"$ref": f"#/components/schemas/{kind}"}
            if path.startswith("/api/"):
                assert operation["security"] == [{"key": []}]
                assert {"400", "401", "403", "413", "415", "429", "500", "503"} <= answers.keys()


def test_the_api_page_names_every_route_and_every_error_code(described: tuple[Served, Any, list[str]]) -> None:
    running, _, _ = described
    root = Path(__file__).parents[3]
    page = (root / "docs" / "web-api.md").read_text(encoding="utf-8")
    with running.client() as client:
        paths = client.get("/openapi.json").json()["paths"]
    for path in paths:
        shown = path.replace("{source_id}", "{id}")
        assert shown in page or f"`/{shown.rpartition('/')[2]}`" in page, path
    source = "".join(
        file.read_text(encoding="utf-8") for file in (root / "src" / "comity" / "doors" / "web").rglob("*.py")
    )
    codes = set(re.findall(r'(?:ApiError|error_response)\(\s*\d+,\s*"(\w+)"', source))
    assert len(codes) > 10
    assert {code for code in codes | {"state_unavailable", "host_busy"} if f"`{code}`" not in page} == set()

"""/api/politeness over HTTP, with real sites on loopback, on both databases."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import requests
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from comity.reports.politeness import verify_politeness
from tests.doors.web.served import Served, served, until
from tests.servers.waiting import wait_until
from tests.sizes import sized
from tests.walk.site import Web, page

ROBOTS = "User-agent: *\nDisallow: /private\n\nUser-agent: acmebot\nDisallow: /own\n"


@pytest.fixture
def granting(api_url: str) -> Iterator[Served]:
    with served(api_url, env="dev", queue_delay_s=0.2) as running:
        yield running


@pytest.fixture(scope="module")
def refusing(migrated_sqlite_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """One server for requests that reach no database."""
    path = tmp_path_factory.mktemp("refusing") / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    with served(f"sqlite:///{path}", env="dev") as running, running.client() as client:
        yield client


@pytest.fixture
def client(granting: Served) -> Iterator[httpx.Client]:
    with granting.client() as client:
        yield client


def ask(client: httpx.Client, *urls: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/api/politeness/grant/", json={"client_id": "acme", "urls": list(urls), **more})
    assert answer.status_code == 200, answer.text
    assert answer.json()["success"] is True
    data: dict[str, Any] = answer.json()["data"]
    return data


def granted(client: httpx.Client, url: str, **more: Any) -> dict[str, Any]:
    """Ask until the answer is not to wait: robots.txt may still be on its way."""
    found: dict[str, Any] = until(
        lambda: next((one for one in ask(client, url, **more)["grants"] if one["permission"] != "wait"), None)
    )
    return found


def test_a_crawler_asks_requests_and_reports(granting: Served, client: httpx.Client, web: Web) -> None:
    site = web.site({"/": page(), "/1": page()}, robots=ROBOTS)
    one = granted(client, site.url("/1"))
    assert (one["permission"], one["delay_seconds"], one["delay_source"]) == ("allowed", 0.2, "door")
    assert one["not_before"] < one["start_by"] < one["expires_at"]
    assert site.paths == ["/robots.txt"]
    body = {"client_id": "acme", "reports": [{"grant_id": one["grant_id"], "status": 200, "latency": 0.1}]}
    for path in ("/api/politeness/report/", "/api/politeness/report"):
        answer = client.post(path, json=body).json()["data"]["reports"]
        assert answer == [{"grant_id": one["grant_id"], "result": "recorded", "blocked_until": None}]
    denied = granted(client, site.url("/private/x"))
    assert (denied["permission"], denied["rule"], denied["rule_line"]) == ("denied", "Disallow: /private", 2)
    own = granted(client, site.url("/own"), user_agent="AcmeBot/1.0")
    assert (own["permission"], own["rule"]) == ("denied", "Disallow: /own")
    audits = list(verify_politeness(granting.state.database))
    assert [audit.violations for audit in audits] == [()]
    assert [audit.requests for audit in audits] == [2]


def test_a_refusal_that_is_reported_blocks_the_host(client: httpx.Client, web: Web) -> None:
    site = web.site({"/": page()}, robots=ROBOTS)
    one = granted(client, site.url())
    report = {"grant_id": one["grant_id"], "status": 429, "retry_after": 300}
    data = ask(client, site.url(), reports=[report])
    assert data["reports"][0]["result"] == "recorded"
    assert data["reports"][0]["blocked_until"] > data["server_time"]
    assert [(each["permission"], each["reason"]) for each in data["grants"]] == [("wait", "blocked")]
    assert 0 < data["grants"][0]["retry_after"] <= 60


def test_grants_that_are_released_are_free_again(client: httpx.Client, web: Web) -> None:
    site = web.site({"/": page()}, robots=ROBOTS)
    one = granted(client, site.url())
    body = {"client_id": "acme", "grant_ids": [one["grant_id"], str(uuid4())]}
    reports = client.post("/api/politeness/release/", json=body).json()["data"]["reports"]
    assert [each["result"] for each in reports] == ["released", "unknown"]
    other = client.post("/api/politeness/grant", json={"client_id": "other", "urls": [site.url()]}).json()
    assert other["data"]["grants"][0]["permission"] == "allowed"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("grant", {"urls": ["https://a.example/"]}, "client_id"),
        ("grant", {"client_id": "acme"}, "urls"),
        ("grant", {"client_id": "acme", "urls": []}, "urls"),
        ("grant", {"client_id": "acme", "urls": ["https://a.example/"] * 101}, "urls"),
        ("grant", {"client_id": "acme", "urls": [1]}, "urls.0"),
        ("grant", {"client_id": "a b", "urls": ["https://a.example/"]}, "client_id"),
        ("report", {"client_id": "acme", "reports": []}, "reports"),
        ("report", {"client_id": "acme", "reports": [{"grant_id": "x"}]}, "reports.0.grant_id"),
        ("report", {"client_id": "acme", "reports": [{"grant_id": str(uuid4()), "status": 9}]}, "reports.0.status"),
        ("report", {"client_id": "acme", "reports": [{"grant_id": str(uuid4()), "latency": -1}]}, "reports.0.latency"),
        ("release", {"client_id": "acme", "grant_ids": []}, "grant_ids"),
    ],
)
def test_a_body_that_is_wrong_is_refused_with_the_field(
    refusing: httpx.Client, path: str, body: dict[str, Any], field: str
) -> None:
    answer = refusing.post(f"/api/politeness/{path}/", json=body)
    assert answer.status_code == 400
    assert answer.json()["success"] is False
    assert answer.json()["error"] == "validation_error"
    assert any(where.startswith(field) for where in answer.json()["details"])


def test_a_key_speaks_for_its_own_client_only(api_url: str) -> None:
    from comity.operate.bots import add_bot

    with served(api_url, env="prod") as running:
        _bot, key = add_bot(running.state.database, running.state.clock, "acme")
        body = {"client_id": "acme", "urls": ["ftp://a.example/"]}
        with running.client() as client:
            assert client.post("/api/politeness/grant/", json=body).status_code == 401
            key = {"X-API-Key": key}
            assert client.post("/api/politeness/grant/", json=body, headers=key).status_code == 200
            mine = client.post("/api/politeness/grant/", json=body | {"client_id": "acme/two"}, headers=key)
            assert mine.status_code == 200
            foreign = client.post("/api/politeness/grant/", json=body | {"client_id": "acme2"}, headers=key)
            assert (foreign.status_code, foreign.json()["error"]) == (403, "not_assigned")


def test_an_address_that_comity_does_not_ask_is_denied(client: httpx.Client) -> None:
    one = granted(client, "http://10.1.2.3/")
    assert (one["permission"], one["reason"]) == ("denied", "not_contacted")
    assert "10.1.2.3 was not contacted" in one["message"]


@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
def test_the_routes_behave_as_they_are_described(sqlite_url: str) -> None:
    import schemathesis  # slow to load, and not needed to find the tests

    with served(sqlite_url, env="dev", allow_networks=()) as running, requests.Session() as session:
        session.trust_env = False
        schema = schemathesis.openapi.from_url(f"{running.url}/openapi.json", timeout=60)
        seen = set()
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path.startswith("/api/politeness/"):
                seen.add(operation.definition.raw["operationId"])
                _try(operation, session)
    assert seen == {"grant_requests", "report_requests", "release_grants"}


def _try(operation: Any, session: requests.Session) -> None:
    from schemathesis import GenerationMode, checks

    names = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)

    @seed(20)
    @settings(
        max_examples=sized(10, 200),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of([operation.as_strategy(mode) for mode in modes]))
    def ask(case: Any) -> None:
        case.call_and_validate(session=session, checks=[getattr(checks, name) for name in names], timeout=30)

    ask()


def test_an_unknown_robots_txt_is_read_once_for_all_clients(granting: Served, web: Web) -> None:
    # An address of its own: a port that an earlier test had may be known to the state.
    site = web.site({"/": page()}, robots=ROBOTS, address="127.0.9.1")

    def first(number: int) -> str:
        with granting.client() as client:
            data = client.post("/api/politeness/grant/", json={"client_id": f"acme-{number}", "urls": [site.url()]})
            return str(data.json()["data"]["grants"][0]["permission"])

    with ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(first, range(8)))
    wait_until(lambda: bool(site.paths), 60, "robots.txt to be asked for")
    assert site.paths == ["/robots.txt"]
    assert answers.count("allowed") <= 1
    assert set(answers) <= {"allowed", "wait"}

"""Public search over HTTP: it finds, filters and counts postings, and never causes a request to a site."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.doors.web.served import Served, until
from tests.walk.site import Web
from tests.walk.sourcing import Job, listing

OPENINGS = [
    Job("Senior Water Engineer", "Nairobi, Kenya"),
    Job("Health Adviser", "Amman, Jordan"),
    Job("Finance Officer", "Juba, South Sudan"),
]


def test_postings_are_found_after_a_run_and_gone_with_their_source(api: Served, admin: httpx.Client, web: Web) -> None:
    site = web.site({"/careers": listing(OPENINGS)})
    source = admin.post("/admin/sources", json={"careers_url": site.url("/careers")}).json()["id"]
    admin.post("/admin/crawl/run_due")
    with api.client() as public:
        until(lambda: _found(public)["total"] == 3)
        asked = len(site.log)
        hit = _found(public, q="water engin")["hits"][0]
        assert (hit["posting"]["title"], hit["posting"]["country_iso"]) == ("Senior Water Engineer", "KE")
        assert {"text": "Water", "is_match": True} in hit["title"]
        assert hit["posting"]["source_id"] == source
        assert _found(public, country_iso=["KE", "JO"])["total"] == 2
        assert _found(public, country_iso="KE", q="health")["total"] == 0
        assert _found(public, source_id=source, country_iso="SS")["total"] == 1
        page = _found(public, limit=1, offset=1, sort="newest", facets=["country_iso"])
        assert (len(page["hits"]), page["total"], list(page["facets"])) == (1, 3, ["country_iso"])
        assert {each["value"]: each["count"] for each in page["facets"]["country_iso"]} == {"KE": 1, "JO": 1, "SS": 1}
        assert _found(public, deadline_before="2020-01-01")["total"] == 0
        assert _found(public, deadline_after="0001-01-01", deadline_before="9999-12-31")["total"] == 3
        assert len(site.log) == asked  # no site was asked for any of this
        admin.delete(f"/admin/sources/{source}")
        until(lambda: _found(public)["total"] == 0)
        assert _found(public, open_only="false")["total"] == 3  # closed, not deleted


def test_a_result_is_read_to_its_end_by_cursors(api: Served, admin: httpx.Client, web: Web) -> None:
    openings = [Job(f"Officer {number}", "Nairobi, Kenya") for number in range(25)]
    site = web.site({"/careers": listing(openings)})
    admin.post("/admin/sources", json={"careers_url": site.url("/careers")})
    admin.post("/admin/crawl/run_due")
    with api.client() as public:
        until(lambda: _found(public)["total"] == 25)
        for wanted in (
            {"sort": "newest"},
            {"sort": "deadline"},
            {"q": "officer"},
            {"since": "1d", "full_text": "true"},
        ):
            page = _found(public, limit=10, **wanted)
            assert page["facets"]
            seen = [hit["posting"]["id"] for hit in page["hits"]]
            while page["next"] is not None:
                page = _found(public, limit=10, cursor=page["next"], **wanted)
                assert (page["total"], page["facets"]) == (25, {})
                seen += [hit["posting"]["id"] for hit in page["hits"]]
            assert (len(seen), len(set(seen))) == (25, 25)
        first = _found(public, limit=10, sort="newest")["next"]
        refused = public.get("/search", params={"cursor": first, "offset": 3, "sort": "newest"})
        assert (refused.status_code, "offset" in refused.json()["message"]) == (422, True)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("q=" + "x" * 1001, 422),
        ("q=%00", 422),
        ("q=%22unclosed -", 200),
        ("q=%25%5F*(){}[]^%22~:%5C NEAR OR AND NOT", 200),
        ("q=%f0%9f%98%80&q=b", 422),
        ("q=%ed%a0%80", 200),
        ("country_iso=K%00", 422),
        ("country_iso=zz", 422),
        ("&".join(["org_name=x"] * 51), 422),
        ("org_name=" + "x" * 301, 422),
        ("source_id=1", 422),
        ("deadline_after=2027-02-30", 422),
        ("deadline_after=99999-01-01", 422),
        ("deadline_after=10", 422),
        ("deadline_before=9999-12-31", 200),
        ("limit=101", 422),
        ("limit=9223372036854775808", 422),
        ("offset=10001", 422),
        ("offset=10000", 200),
        ("sort=price", 422),
        ("facets=title", 422),
        ("nonsense=1", 422),
        ("since=7d", 200),
        ("since=2026-01-31", 200),
        ("since=yesterday", 422),
        ("since=999999w", 422),
        ("cursor=x", 422),
        ("cursor=%00", 422),
        ("cursor=" + "a" * 401, 422),
        ("full_text=true", 200),
        ("full_text=maybe", 422),
    ],
    ids=lambda value: str(value)[:40],
)
def test_hostile_queries_are_answered_or_refused(shared_api: httpx.Client, query: str, status: int) -> None:
    answer = shared_api.get(f"/search?{query}")
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("query", "message", "known"),
    [
        (
            "level_norm=boss",
            "level_norm: 'boss' is not known",
            "intern, junior, mid, senior, lead, director, executive",
        ),
        ("level_norm=senior&level_norm=sennior", "did you mean senior?", "intern, junior, mid"),
        ("work_modality=moon", "work_modality: 'moon' is not known", "onsite, hybrid, remote, field"),
        ("career_type=forever", "career_type: 'forever' is not known", "internship, volunteer"),
        ("mission_tags=helth", "did you mean health?", "health, nutrition, education"),
        ("country_iso=zz", "country_iso: 'zz' is not a country", "write its two letters, such as KE, or its name"),
        ("language=Germn", "language: 'Germn' is not a language", "did you mean German?"),
    ],
)
def test_a_value_that_no_posting_can_have_is_an_error_with_the_known_values(
    shared_api: httpx.Client, query: str, message: str, known: str
) -> None:
    answer = shared_api.get(f"/search?{query}")
    assert (answer.status_code, answer.json()["error"]) == (422, "bad_input"), answer.text
    assert message in answer.json()["message"]
    (detail,) = answer.json()["details"]
    assert detail["where"] == f"query.{query.partition('=')[0]}"
    assert known in detail["message"]


@pytest.mark.parametrize("query", ["country_iso=kenya", "level_norm=Senior", "language=German", "org_name=No%20Such"])
def test_filter_values_are_read_as_on_the_command_line(shared_api: httpx.Client, query: str) -> None:
    assert shared_api.get(f"/search?{query}").status_code == 200


def test_many_concurrent_searches_get_a_result_or_a_429(shared_api: httpx.Client) -> None:
    async def ask_all() -> list[int]:
        limits = httpx.Limits(max_connections=120)
        url = str(shared_api.base_url)
        async with httpx.AsyncClient(base_url=url, limits=limits, timeout=30, trust_env=False) as client:
            answers = await asyncio.gather(*(client.get("/search", params={"q": f"word {n}"}) for n in range(120)))
        return [answer.status_code for answer in answers]

    statuses = asyncio.run(ask_all())
    assert set(statuses) <= {200, 429}
    assert statuses.count(200) >= 64


def _found(client: httpx.Client, **query: Any) -> dict[str, Any]:
    answer = client.get("/search", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found

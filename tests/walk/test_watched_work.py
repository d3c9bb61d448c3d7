"""`comity work` as whoever watches it sees it: metrics that add up, health that is true, lines that can be read."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.error import HTTPError

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.servers.waiting import wait_until
from tests.walk.crawling import Place
from tests.walk.forking import Apart, children_of
from tests.walk.pictures import png
from tests.walk.site import Answer, Web, page, tree
from tests.walk.test_worker import seed

ADDRESS = re.compile(r'"address": "(127\.0\.0\.1:[0-9]+)"')


def address_of(process: Apart) -> str:
    found: list[str] = []

    def is_told() -> bool:
        with suppress(FileNotFoundError):  # the process has not begun
            found.extend(ADDRESS.findall(process.err))
        return bool(found)

    wait_until(is_told, 60, "metrics to be served")
    return found[0]


def asked(address: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def numbers(address: str) -> dict[str, float]:
    """Every sample; those of a label as name.value."""
    status, text = asked(address, "/metrics")
    assert status == 200
    return {
        ".".join([each.name, *each.labels.values()]): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def events(process: Apart) -> list[dict[str, Any]]:
    return [json.loads(line) for line in process.err.splitlines()]


def hide(place: Place, table: str, name: str) -> None:
    """A state that cannot be used for a while."""
    place.execute(f"ALTER TABLE {table} RENAME TO {name}")


def test_what_a_worker_counts_is_what_it_did_and_it_is_ready_while_the_state_answers(web: Web, place: Place) -> None:
    paths = tree(20)
    pictures = '<img src="/a.png"><img src="/broken.png">'
    paths["/"] = page("/missing", "/secret", *list(paths)[1:], body=pictures)
    routes = {"/a.png": Answer(body=png(), type="image/png"), "/broken.png": Answer(body="no", type="image/png")}
    site = web.site(paths | routes, robots="User-agent: *\nDisallow: /secret")
    seed(place, site)
    with place.begun("work", "--images", "--metrics", "127.0.0.1:0") as process:
        address = address_of(process)
        wait_until(lambda: numbers(address)["comity_hosts_left_total.exhausted"] == 1, 60, "the host to be done")
        wait_until(lambda: numbers(address)["comity_runs_total.finished"] == 1, 60, "the run to end")
        found = numbers(address)
        assert asked(address, "/healthz")[0] == 200
        assert asked(address, "/readyz")[0] == 200
        assert asked(address, "/else")[0] == 404
        hide(place, "domains", "hidden")
        wait_until(lambda: asked(address, "/readyz")[0] == 503, 60, "it to be seen")
        assert "no such table" in asked(address, "/readyz")[1]
        assert asked(address, "/healthz")[0] == 200
        hide(place, "hidden", "domains")
        wait_until(lambda: asked(address, "/readyz")[0] == 200, 60, "it to be back")
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0
    fetched = place.rows("SELECT count(*) AS n, sum(bytes_received) AS size FROM fetches WHERE outcome = 'fetched'")[0]
    assert found["comity_pages_total.fetched"] == fetched["n"]
    assert found["comity_pages_total.gone"] == 1
    assert found["comity_pages_total.rejected"] == 0, "an image is no page, whatever came of it"
    assert found["comity_fetch_seconds_count"] == fetched["n"] + 1 + 2
    assert found["comity_refusals_total.robots"] == 1
    assert found["comity_settle_seconds_count"] >= 1
    assert found["comity_received_bytes_total"] >= fetched["size"]
    assert (found["comity_hosts_held"], found["comity_requests_in_flight"]) == (0, 0)
    assert (found["comity_processes"], found["comity_state_up"]) == (1, 1)
    told = events(process)
    (left,) = [line for line in told if line["event"] == "host_left"]
    assert (left["host"], left["status"], left["pages"], left["errors"]) == (site.host, "exhausted", fetched["n"], 1)
    assert left["seconds"] > 0
    assert left["next_run_at"] is not None
    (run,) = [line for line in told if line["event"] == "run_ended"]
    assert (run["status"], run["pages"], run["hosts"]) == ("finished", fetched["n"], 1)
    assert [line["event"] for line in told][-2:] == ["stopping", "worker_ended"]


def longest_silence_s(address: str) -> float:
    """How long the process that said nothing for longest did not move, as /healthz has it."""
    checks = json.loads(asked(address, "/healthz")[1])["checks"].values()
    return max(float(check["detail"].split()[2]) for check in checks)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_one_address_answers_for_all_processes_also_for_those_that_died(web: Web, place: Place) -> None:
    sites = [web.site(tree(300)) for _ in range(2)]
    seed(place, *sites)
    with place.begun("work", "--processes", 2, "--hosts", 2, "--delay", 0.05, "--metrics", "127.0.0.1:0") as process:
        address = address_of(process)
        wait_until(lambda: numbers(address).get("comity_hosts_held", 0) == 2, 60, "both to be held")
        wait_until(lambda: all(len(site.pages()) > 5 for site in sites), 60, "both to be crawled")
        wait_until(lambda: numbers(address)["comity_processes"] == 2, 60, "both processes to report")
        with stopped(children_of(process.pid)[1]):
            wait_until(lambda: longest_silence_s(address) > 2.2, 60, "its silence to be seen")
        wait_until(lambda: longest_silence_s(address) < 2.0, 60, "it to move again")
        before = numbers(address)["comity_pages_total.fetched"]
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        wait_until(lambda: numbers(address)["comity_worker_deaths_total"] == 1, 60, "its death to be counted")
        assert numbers(address)["comity_pages_total.fetched"] >= before
        wait_until(lambda: numbers(address)["comity_processes"] == 2, 60, "another to report")
        assert len(json.loads(asked(address, "/healthz")[1])["checks"]) == 2
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.usefixtures("without_state")
@pytest.mark.parametrize("processes", [1, 2])
def test_an_address_that_is_taken_is_told_before_anything_begins(web: Web, place: Place, processes: int) -> None:
    taken = web.site(tree(1)).url().split("/")[2]
    told = place.comity_apart("work", "--idle-exit", "--processes", processes, "--metrics", taken)
    assert not place.state.exists()
    assert told.code == 2
    assert f"cannot listen on {taken} for metrics" in told.err
    assert len(told.err.splitlines()) == 1


def test_text_is_logged_where_text_is_wanted(web: Web, place: Place) -> None:
    site = web.site(tree(2))
    seed(place, site)
    place.env["COMITY_LOG_FORMAT"] = "text"
    lines = place.comity_apart("work", "--idle-exit").err.splitlines()
    assert all(line.startswith("comity: ") for line in lines)
    assert any(line.startswith(f"comity: {site.host}: 2 pages, 0 errors in ") for line in lines)
    place.env["COMITY_LOG_LEVEL"] = "WARNING"
    assert place.comity_apart("work", "--idle-exit").err == ""


def test_waits_for_a_host_are_told_at_debug_and_not_before(web: Web, place: Place) -> None:
    """Waits between requests are frequent: an operator sees them only when looking for them."""
    limited = Answer(429, headers={"Retry-After": "1"})
    answers = {"/": page("/b", "/a"), "/a": page(), "/b": lambda asked: limited if asked.count == 1 else page()}
    site = web.site(answers)
    place.env["COMITY_LOG_LEVEL"] = "debug"
    seed(place, site)
    told = place.comity_apart("work", "--idle-exit", "--delay", 0.1)
    assert told.code == 0, told.err
    lines = [json.loads(line) for line in told.err.splitlines() if line.startswith("{")]
    waits = [line for line in lines if line["event"] == "rate_limit_wait"]
    assert {line["reason"] for line in waits} >= {"delay", "block"}
    assert all(line["level"] == "debug" and line["host"] == site.host for line in waits)
    assert 0 < min(line["seconds"] for line in waits if line["reason"] == "delay") <= 0.1
    assert all(line["at"].endswith("Z") for line in lines)
    del place.env["COMITY_LOG_LEVEL"]
    other = web.site({"/": page("/a"), "/a": page()})
    seed(place, other)
    quiet = place.comity_apart("work", "--idle-exit", "--delay", 0.1)
    assert "run_ended" in quiet.err
    assert "rate_limit_wait" not in quiet.err

"""What is particular to Meilisearch: its keys, its tasks, its index, and its absence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from comity.model.errors import BadInput, SearchUnavailable
from comity.model.search import FACETS, SearchQuery
from comity.search_engine.meilisearch import SETTINGS, MeiliLink, MeiliSearch
from tests.search.meili_stand_in import MeiliStandIn
from tests.search.postings import NOW, POSTINGS, posting
from tests.servers.ports import closed_port


def test_an_index_that_is_not_there_yet_holds_nothing(meili: MeiliStandIn) -> None:
    page = MeiliSearch(MeiliLink(meili.url, "a key")).query(SearchQuery("water"), NOW)
    assert (page.hits, page.total, set(page.facets)) == ((), 0, set(FACETS))


def test_the_first_document_makes_the_index_with_its_settings(meili: MeiliStandIn) -> None:
    engine = MeiliSearch(MeiliLink(meili.url + "/", "a key"), "other-index")
    engine.put(POSTINGS)
    MeiliSearch(MeiliLink(meili.url, "a key"), "other-index").ensure()  # again, by somebody else
    index = meili.indexes["other-index"]
    assert (index["key"], index["settings"]) == ("id", SETTINGS)
    assert len(index["documents"]) == len(POSTINGS)


def test_documents_go_in_batches(meili: MeiliStandIn) -> None:
    engine = MeiliSearch(MeiliLink(meili.url, "a key"))
    engine.put([posting(number, f"Engineer {number}") for number in range(1, 1202)])
    sizes = [len(body) for method, path, body in meili.requests if method == "POST" and path.endswith("/documents")]
    assert sizes == [500, 500, 201]
    page = engine.query(SearchQuery("engineer", limit=100, offset=1150), NOW)
    assert (len(page.hits), page.total) == (51, 1201)


@pytest.mark.parametrize("key", [None, "another key"])
def test_a_key_that_is_refused_is_said_and_not_shown(meili: MeiliStandIn, key: str | None) -> None:
    with pytest.raises(SearchUnavailable, match="rejects the key") as caught:
        MeiliSearch(MeiliLink(meili.url, key)).query(SearchQuery(), NOW)
    assert "another key" not in str(caught.value)


def test_a_task_that_never_ends_is_waited_for_no_longer_than_the_limit(meili: MeiliStandIn) -> None:
    meili.is_stuck = True
    engine = MeiliSearch(MeiliLink(meili.url, "a key", task_s=0.1))
    with pytest.raises(SearchUnavailable, match=r"still busy after 0\.1 seconds"):
        engine.put(POSTINGS)


def test_a_server_that_is_not_there_is_said_in_words() -> None:
    port = closed_port()
    with pytest.raises(SearchUnavailable, match=f"http://127.0.0.1:{port} cannot be reached"):
        MeiliSearch(MeiliLink(f"http://127.0.0.1:{port}")).query(SearchQuery(), NOW)


@pytest.fixture
def odd_server() -> Iterator[tuple[str, list[bytes]]]:
    """Answers with whatever a test puts into the list."""
    answers: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.wfile.write(answers[0])

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", answers
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"[1]", b'{"hits": 3}', b'{"hits": [{}]}', b'{"hits": [{"card": {"id": "x"}}]}', b"\xff", b""],
)
def test_an_answer_that_is_something_else_is_said_in_words(odd_server: tuple[str, list[bytes]], body: bytes) -> None:
    url, answers = odd_server
    answers.append(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
    with pytest.raises(SearchUnavailable, match="Meilisearch"):
        MeiliSearch(MeiliLink(url, timeout_s=5)).query(SearchQuery(), NOW)


@pytest.mark.parametrize(
    "url", ["ftp://x", "localhost:7700", "http://", "http://u:p@x/", "http://x:port/", "http://x/?a=b"]
)
def test_an_address_that_is_none_is_bad_input(url: str) -> None:
    with pytest.raises(BadInput, match="COMITY_MEILI_URL"):
        MeiliLink(url)


@pytest.mark.parametrize("index", ["", "a b", "a/b", "é", "x" * 401])
def test_an_index_name_that_cannot_be_one_is_bad_input(index: str) -> None:
    with pytest.raises(BadInput, match="COMITY_MEILI_INDEX"):
        MeiliSearch(MeiliLink("http://localhost:7700"), index)


def test_what_is_sent_is_plain_json(meili: MeiliStandIn) -> None:
    engine = MeiliSearch(MeiliLink(meili.url, "a key"))
    engine.put(POSTINGS)
    engine.query(SearchQuery('"water engineer" -nurse gen', country_iso=("KE",), international_eligible=True), NOW)
    _, path, body = meili.requests[-1]
    assert path == "/indexes/comity_jobs/search"
    assert body["q"] == '-nurse "water engineer" gen'
    assert body["filter"][:2] == [['country_iso = "KE"'], "international_eligible = true"]
    assert json.dumps(body)

"""Search by a Meilisearch server, through its documented HTTP API.

It gets the words folded as every engine does, so that the same queries find the same; its own ranking and its
tolerance of typing errors are added.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, SearchRefused, SearchUnavailable
from comity.model.search import (
    MOST_FACET_VALUES,
    MOST_HITS,
    MOST_SKIPPED,
    FacetCount,
    HitPage,
    SearchDocument,
    SearchPage,
    SearchPosition,
    SearchQuery,
    SearchSort,
    card_of,
    document_from,
)
from comity.rules.search.highlight import hit_of
from comity.rules.search.query import read_cursor, write_cursor
from comity.rules.search.terms import SearchPlan, Term, fields_of, name_key, plan_of

_BATCH: Final = 500
_NO_INDEX: Final = "index_not_found"  # a code of Meilisearch
_LARGEST_PRIME: Final = 9_007_199_254_740_881  # that a double holds exactly
_NOT_OURS: Final = "Meilisearch answered with something other than our postings"
_WORDS: Final = ("title_words", "org_words", "about_words", "body_words")
_PLAIN: Final = ("country_iso", "level_norm", "work_modality", "career_type", "language", "mission_tags")
SETTINGS: Final[dict[str, Any]] = {
    "searchableAttributes": list(_WORDS),  # in the order of their weight
    "filterableAttributes": [
        *_PLAIN,
        *("international_eligible", "org_name", "org_key", "source_id", "deadline_s", "closed_s", "newest_s", "place"),
    ],
    "sortableAttributes": ["newest_s", "deadline_s", "place"],
    "displayedAttributes": ["id", "card"],
    # An order that was asked for comes before everything else; the newest first among equals.
    "rankingRules": ["sort", "words", "typo", "attribute", "proximity", "exactness", "newest_s:desc", "place:asc"],
    "pagination": {"maxTotalHits": MOST_SKIPPED + MOST_HITS},
    "faceting": {"maxValuesPerFacet": MOST_FACET_VALUES, "sortFacetValuesBy": {"*": "count"}},
}


class MeiliSearch:
    """One index of a Meilisearch."""

    name = "meilisearch"

    def __init__(self, link: MeiliLink, index: str = "comity_jobs") -> None:
        if (
            not index
            or len(index) > 400
            or not index.isascii()
            or not index.replace("-", "").replace("_", "").isalnum()
        ):
            raise BadInput("COMITY_MEILI_INDEX", "letters, digits, - and _ only")
        self._link = link
        self._index = index
        self._path = f"/indexes/{index}"
        self._is_ready = False

    def ensure(self) -> None:
        """Make the index and settle what it searches, filters and sorts by."""
        made = self._link.ask("POST", "/indexes", {"uid": self._index, "primaryKey": "id"})
        self._link.settle(made, forgive=("index_already_exists",))
        self._link.settle(self._link.ask("PATCH", f"{self._path}/settings", SETTINGS))
        self._is_ready = True

    def put(self, documents: Sequence[SearchDocument]) -> None:
        """Take documents, and wait until they are found."""
        self._ensure_once()
        tasks = []
        for first in range(0, len(documents), _BATCH):
            batch = [_kept(document) for document in documents[first : first + _BATCH]]
            tasks.append(self._link.ask("POST", f"{self._path}/documents", batch))
        for task in tasks:
            self._link.settle(task)

    def delete(self, ids: Collection[UUID]) -> None:
        """Forget documents."""
        if ids:
            self._ensure_once()
            batch = [str(each) for each in sorted(ids)]
            self._link.settle(self._link.ask("POST", f"{self._path}/documents/delete-batch", batch))

    def clear(self) -> None:
        """Forget every document."""
        self._ensure_once()
        self._link.settle(self._link.ask("DELETE", f"{self._path}/documents"))

    def query(self, query: SearchQuery, now: datetime) -> SearchPage:
        """Query the index; one that does not exist yet is empty."""
        plan = plan_of(query)
        after = read_cursor(query.cursor, plan.sort) if query.cursor is not None else None
        asked = _Asked(query.limit, query.offset, after, query.facets)
        answer = self._search(plan, now, asked)
        found = _hit_page(plan, asked, answer)
        if after is not None:  # with a position it would count only what comes after it; the total is wanted
            answer = self._search(plan, now, _Asked(0, 0, None, query.facets))
        facets = answer.get("facetDistribution") or {}
        try:
            total = int(answer.get("estimatedTotalHits", len(found.hits)))
        except (TypeError, ValueError):
            raise SearchUnavailable(_NOT_OURS) from None
        counts = {name: _counted(facets.get(name) or {}) for name in query.facets}
        return SearchPage(found.hits, total, counts, write_cursor(found.last) if found.last is not None else None)

    def hits(self, query: SearchQuery, now: datetime, *, limit: int, after: SearchPosition | None = None) -> HitPage:
        """Hits after a position."""
        plan, asked = plan_of(query), _Asked(limit, 0, after, ())
        return _hit_page(plan, asked, self._search(plan, now, asked))

    def _search(self, plan: SearchPlan, now: datetime, asked: _Asked) -> dict[str, Any]:
        try:
            return self._link.ask("POST", f"{self._path}/search", _request(plan, now, asked))
        except SearchRefused as error:
            if error.engine_code != _NO_INDEX:
                raise
            return {"hits": [], "estimatedTotalHits": 0}

    def _ensure_once(self) -> None:
        if not self._is_ready:
            self.ensure()


def _kept(document: SearchDocument) -> dict[str, Any]:
    """A document as the index keeps it; what is not known is left out, and so does not exist in filters."""
    card = card_of(document)
    known = {name: card[name] for name in (*_PLAIN, "international_eligible", "org_name", "source_id") if name in card}
    times = {"newest_s": document.newest_at, "deadline_s": document.deadline, "closed_s": document.closed_at}
    return (
        {
            "id": str(document.id),
            "card": card,
            "org_key": name_key(document.org_name),
            "place": _place(document.id),
        }
        | dict(zip(_WORDS, fields_of(document), strict=True))
        | known
        | {name: value.timestamp() for name, value in times.items() if value is not None}
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which part of a result is asked for, and what is counted."""

    limit: int
    offset: int
    after: SearchPosition | None
    facets: tuple[str, ...]

    @property
    def skipped(self) -> int:
        """Hits to skip. By relevance Meilisearch has no position to continue from: it counts hits, up to its bound."""
        return int(self.after.rank) if self.after is not None and self.after.rank is not None else self.offset


def _request(plan: SearchPlan, now: datetime, asked: _Asked) -> dict[str, Any]:
    newest = ["newest_s:desc", "place:asc"]
    sort = {SearchSort.NEWEST: newest, SearchSort.DEADLINE: ["deadline_s:asc", *newest]}
    return {
        "q": _words(plan),
        "filter": _filters(plan, now) + (_after(asked.after) if asked.after is not None else []),
        "sort": sort.get(plan.sort, []),
        "facets": list(asked.facets),
        "limit": asked.limit + 1 if asked.limit else 0,  # one more than the page shows, to know whether there are more
        "offset": asked.skipped,
        "matchingStrategy": "all",
        "attributesToRetrieve": ["card"],
    }


def _after(last: SearchPosition) -> list[Any]:
    """What comes after a position; nothing is left out by relevance, whose position is a number of hits."""
    if last.sort is SearchSort.RELEVANCE:
        return []
    at, place = repr(last.newest_at.timestamp()), _place(last.posting_id)
    newest = (f"newest_s < {at}", f"newest_s = {at} AND place > {place}")
    if last.sort is SearchSort.NEWEST:
        return [list(newest)]
    if last.deadline is None:
        return ["deadline_s NOT EXISTS", list(newest)]
    until = repr(last.deadline.timestamp())
    same = [f"deadline_s = {until} AND {each}" for each in newest]
    return [[f"deadline_s > {until}", *same, "deadline_s NOT EXISTS"]]


def _place(posting_id: UUID) -> int:
    """A number that orders postings of the same moment: Meilisearch compares numbers only, of 53 bits."""
    return posting_id.int % _LARGEST_PRIME


def _hit_page(plan: SearchPlan, asked: _Asked, answer: Mapping[str, Any]) -> HitPage:
    try:
        found = [document_from(hit["card"]) for hit in answer["hits"]]
    except (KeyError, TypeError, ValueError):
        raise SearchUnavailable(_NOT_OURS) from None
    shown, last = found[: asked.limit], None
    seen = asked.skipped + len(shown)
    is_ranked = plan.sort is SearchSort.RELEVANCE
    if len(found) > len(shown) > 0 and not (is_ranked and seen >= MOST_SKIPPED + MOST_HITS):
        end = shown[-1]
        last = SearchPosition(plan.sort, end.newest_at, end.id, end.deadline, float(seen) if is_ranked else None)
    return HitPage(tuple(hit_of(document, plan.terms) for document in shown), last)


def _words(plan: SearchPlan) -> str:
    """The terms as Meilisearch reads them; its last word is a prefix, so unwanted words come first."""
    return " ".join(
        [f"-{_quoted(term)}" for term in plan.terms.unwanted] + [_quoted(term) for term in plan.terms.wanted]
    )


def _quoted(term: Term) -> str:
    """Only the first form of a word: a posting has all of them."""
    words = " ".join(term.runs[0])
    return words if term.is_prefix or len(term.runs[0]) == 1 else f'"{words}"'


def _filters(plan: SearchPlan, now: datetime) -> list[Any]:
    """All of these must hold; of a list, one."""
    found: list[Any] = []
    for name, values in plan.values:
        column = "org_key" if name == "org_name" else name
        found.append([f"{column} = {_literal(value)}" for value in values])
    if plan.source_id:
        found.append([f"source_id = {_literal(str(value))}" for value in plan.source_id])
    if plan.international_eligible is not None:
        found.append(f"international_eligible = {str(plan.international_eligible).lower()}")
    if plan.deadline_after is not None:
        found.append(f"deadline_s >= {plan.deadline_after.timestamp()!r}")
    if plan.deadline_before is not None:
        found.append(f"deadline_s <= {plan.deadline_before.timestamp()!r}")
    if plan.since is not None:
        found.append(f"newest_s >= {plan.since.timestamp()!r}")
    if plan.open_only:
        found += ["closed_s NOT EXISTS", ["deadline_s NOT EXISTS", f"deadline_s >= {now.timestamp()!r}"]]
    return found


def _literal(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _counted(counts: dict[str, int]) -> tuple[FacetCount, ...]:
    ordered = sorted(
        ((str(value), int(count)) for value, count in counts.items()), key=lambda each: (-each[1], each[0])
    )
    return tuple(FacetCount(value, count) for value, count in ordered if value)[:MOST_FACET_VALUES]


_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 32_000_000
_TASK_S: Final = 60.0
_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.5
_DENIED: Final = (401, 403)
_LONGEST_MESSAGE: Final = 300


class MeiliLink:
    """The connection to one Meilisearch, opened for each request, so that no thread leaves one open."""

    def __init__(self, url: str, key: str | None = None, *, timeout_s: float = _TIMEOUT_S, task_s: float = _TASK_S):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username is not None:
            raise BadInput("COMITY_MEILI_URL", "must be an address such as http://localhost:7700")
        self.location = f"{parts.scheme}://{parts.netloc}"
        self._is_secure = parts.scheme == "https"
        try:
            self._host, self._port = parts.hostname, parts.port
        except ValueError:
            raise BadInput("COMITY_MEILI_URL", "the port is not a number") from None
        self._base = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._timeout_s = timeout_s
        self._task_s = task_s

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request; returns the JSON of the response, or raises an error that says why there is none."""
        status, content = self._send(method, path, body)
        try:
            answer = json.loads(content) if content else {}
        except ValueError:
            raise SearchUnavailable(f"Meilisearch at {self.location} answered {status} without JSON") from None
        if status < 300 and isinstance(answer, dict):
            return answer
        said = answer if isinstance(answer, Mapping) else {}
        code, message = str(said.get("code", "")), str(said.get("message", "no reason"))[:_LONGEST_MESSAGE]
        if status in _DENIED:
            raise SearchUnavailable(f"Meilisearch at {self.location} rejects the key (COMITY_MEILI_KEY): {message}")
        if 400 <= status < 500 and status not in (408, 429):
            raise SearchRefused(f"Meilisearch answered {status} {code}: {message}", code)
        raise SearchUnavailable(f"Meilisearch at {self.location} answered {status}: {message}")

    def settle(self, task: Mapping[str, Any], *, forgive: tuple[str, ...] = ()) -> None:
        """Wait until a task is done: Meilisearch takes changes first and makes them later."""
        number = task.get("taskUid")
        if not isinstance(number, int):
            raise SearchUnavailable(f"Meilisearch at {self.location} did not return a task")
        until, pause_s = time.monotonic() + self._task_s, _FIRST_PAUSE_S
        while time.monotonic() < until:
            found = self.ask("GET", f"/tasks/{number}")
            status = found.get("status")
            if status == "succeeded":
                return
            if status in ("failed", "canceled"):
                error = found.get("error") or {}
                if error.get("code") in forgive:
                    return
                raise SearchRefused(f"Meilisearch: {str(error.get('message', status))[:_LONGEST_MESSAGE]}")
            Event().wait(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
        raise SearchUnavailable(f"Meilisearch at {self.location} is still busy after {self._task_s:g} seconds")

    def _send(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        sent = None if body is None else json.dumps(body).encode()
        connection = self._connection()
        try:
            connection.request(method, self._base + path, sent, self._headers)
            answer = connection.getresponse()
            content = answer.read(_MOST_BYTES + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise SearchUnavailable(f"Meilisearch at {self.location} cannot be reached: {reason}") from None
        finally:
            connection.close()
        if len(content) > _MOST_BYTES:
            raise SearchUnavailable(f"Meilisearch at {self.location} answered with more than {_MOST_BYTES:,} bytes")
        return answer.status, content

    def _connection(self) -> http.client.HTTPConnection:
        if self._is_secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)

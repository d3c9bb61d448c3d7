"""A small Meilisearch on loopback, written from its documented HTTP API: indexes, settings, tasks, documents, search.

It is strict where Meilisearch is (keys, attributes that were not declared, fields that do not exist, tasks that end
later), and plain where that one is clever: no slips in typing are forgiven, and relevance is the attribute's rank only.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SEARCH_FIELDS = {"q", "filter", "sort", "facets", "limit", "offset", "matchingStrategy", "attributesToRetrieve"}
COMPARISON = re.compile(r'^(\w+) (?:(=|>=|<=|>|<) (?:"((?:[^"\\]|\\.)*)"|(true|false)|(-?[\d.e+]+))|(NOT EXISTS))$')


class Refusal(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class MeiliStandIn:
    """Runs until it is closed. `trouble` makes it fail: down, slow, or refusing documents with a word in the title."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.indexes: dict[str, dict[str, Any]] = {}
        self.tasks: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str, Any]] = []
        self.is_down = False
        self.puts = 0
        self.puts_before_it_goes: int | None = None
        self.is_stuck = False
        self.refused_word: str | None = None
        self.lock = threading.Lock()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments: Any) -> None:
                pass

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(length)
                try:
                    body = json.loads(raw) if raw else None
                    status, found = stand_in.take(self.command, self.path, body, self.headers.get("Authorization"))
                except Refusal as refusal:
                    kind = "auth" if refusal.status in (401, 403) else "invalid_request"
                    found = {"message": refusal.message, "code": refusal.code, "type": kind, "link": "https://docs"}
                    status = refusal.status
                sent = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815  # as the server asks

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def take(self, method: str, path: str, body: Any, authorization: str | None) -> tuple[int, Any]:
        with self.lock:
            self.requests.append((method, path, body))
            self.puts += method == "POST" and path.endswith("/documents")
            if self.puts_before_it_goes is not None and self.puts > self.puts_before_it_goes:
                self.is_down = True
            if self.is_down:
                raise Refusal(503, "internal", "out of service")
            if self.key is not None and authorization is None:
                raise Refusal(401, "missing_authorization_header", "The Authorization header is missing.")
            if self.key is not None and authorization != f"Bearer {self.key}":
                raise Refusal(403, "invalid_api_key", "The provided API key is invalid.")
            return self.route(method, path.strip("/").split("/"), body)

    def route(self, method: str, parts: list[str], body: Any) -> tuple[int, Any]:
        match (method, parts):
            case ("POST", ["indexes"]):
                return self.later("indexCreation", body["uid"], lambda: self.create(body))
            case ("GET", ["tasks", number]):
                return 200, self.task(int(number))
            case ("PATCH", ["indexes", uid, "settings"]):
                unknown = body.keys() - {
                    *("searchableAttributes", "filterableAttributes", "sortableAttributes", "displayedAttributes"),
                    *("rankingRules", "pagination", "faceting"),
                }
                if unknown:
                    raise Refusal(400, "bad_request", f"Unknown field {unknown}")
                return self.later("settingsUpdate", uid, lambda: self.made(uid)["settings"].update(body))
            case ("POST", ["indexes", uid, "documents"]):
                return self.later("documentAdditionOrUpdate", uid, lambda: self.add(uid, body))
            case ("POST", ["indexes", uid, "documents", "delete-batch"]):
                documents = self.made(uid)["documents"]
                return self.later("documentDeletion", uid, lambda: [documents.pop(each, None) for each in body])
            case ("DELETE", ["indexes", uid, "documents"]):
                return self.later("documentDeletion", uid, self.made(uid)["documents"].clear)
            case ("POST", ["indexes", uid, "search"]):
                return 200, self.search(self.made(uid), body)
        raise Refusal(404, "not_found", f"Not found: {method} /{'/'.join(parts)}")

    def made(self, uid: str) -> dict[str, Any]:
        if uid not in self.indexes:
            raise Refusal(404, "index_not_found", f"Index `{uid}` not found.")
        return self.indexes[uid]

    def later(self, kind: str, uid: str, act: Any) -> tuple[int, Any]:
        """Changes are enqueued; they are made, in order, once somebody has waited a little."""
        task = {"uid": len(self.tasks), "indexUid": uid, "status": "enqueued", "type": kind, "error": None}
        self.tasks.append(task | {"act": act, "since": time.monotonic()})
        return 202, {"taskUid": task["uid"], "indexUid": uid, "status": "enqueued", "type": kind}

    def task(self, number: int) -> dict[str, Any]:
        if not 0 <= number < len(self.tasks):
            raise Refusal(404, "task_not_found", f"Task `{number}` not found.")
        asked = self.tasks[number]
        if not self.is_stuck and time.monotonic() - asked["since"] >= 0.005:
            for task in self.tasks[: number + 1]:
                self.work(task)
        return {name: asked[name] for name in ("uid", "indexUid", "status", "type", "error")}

    def work(self, task: dict[str, Any]) -> None:
        if task["status"] != "enqueued":
            return
        try:
            task["act"]()
            task["status"] = "succeeded"
        except Refusal as refusal:
            task["status"] = "failed"
            task["error"] = {"message": refusal.message, "code": refusal.code, "type": "invalid_request"}

    def create(self, body: dict[str, Any]) -> None:
        if body["uid"] in self.indexes:
            raise Refusal(409, "index_already_exists", f"Index `{body['uid']}` already exists.")
        self.indexes[body["uid"]] = {"key": body["primaryKey"], "settings": {}, "documents": {}}

    def add(self, uid: str, documents: list[dict[str, Any]]) -> None:
        index = self.made(uid)
        for document in documents:
            if not re.fullmatch(r"[\w-]{1,511}", str(document[index["key"]])):
                raise Refusal(400, "invalid_document_id", "Document identifier is invalid.")
            if self.refused_word and self.refused_word in document["title_words"]:
                raise Refusal(400, "invalid_document_fields", "a field cannot be taken")
        for document in documents:
            index["documents"][document[index["key"]]] = json.loads(json.dumps(document))

    def search(self, index: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        settings = index["settings"]
        if body.keys() - SEARCH_FIELDS:
            raise Refusal(400, "bad_request", f"Unknown fields {body.keys() - SEARCH_FIELDS}")
        found = [each for each in index["documents"].values() if self.passes(each, body.get("filter") or [], settings)]
        ranked = [(rank, each) for each in found if (rank := rank_of(each, body["q"], settings)) is not None]
        ranked.sort(key=lambda each: (each[0], -each[1]["newest_s"], each[1]["place"]))
        for rule in reversed(body.get("sort") or []):
            name, direction = rule.split(":")
            if name not in settings["sortableAttributes"]:
                raise Refusal(400, "invalid_search_sort", f"Attribute `{name}` is not sortable.")
            sign = -1 if direction == "desc" else 1
            # Whatever lacks the attribute comes last, up or down.
            ranked.sort(key=lambda each, n=name, s=sign: (n not in each[1], s * each[1].get(n, 0)))
        hits = [each for _, each in ranked]
        facets: dict[str, dict[str, int]] = {}
        for name in body.get("facets") or []:
            if name not in settings["filterableAttributes"]:
                raise Refusal(400, "invalid_search_facets", f"Attribute `{name}` is not filterable.")
            counts: Counter[str] = Counter()
            for each in hits:
                value = each.get(name, [])
                for one in value if isinstance(value, list) else [value]:
                    counts[str(one).lower() if isinstance(one, bool) else str(one)] += 1
            facets[name] = dict(counts.most_common(settings["faceting"]["maxValuesPerFacet"]))
        most = settings["pagination"]["maxTotalHits"]
        part = hits[:most][body["offset"] : body["offset"] + body["limit"]]
        return {
            "hits": [{name: each[name] for name in body["attributesToRetrieve"]} for each in part],
            "query": body["q"],
            "limit": body["limit"],
            "offset": body["offset"],
            "estimatedTotalHits": min(len(hits), most),
            "facetDistribution": facets,
            "processingTimeMs": 0,
        }

    def passes(self, document: dict[str, Any], conditions: list[Any], settings: dict[str, Any]) -> bool:
        """All must hold; of a list, one."""
        return all(
            any(self.holds(document, one, settings) for one in each)
            if isinstance(each, list)
            else self.holds(document, each, settings)
            for each in conditions
        )

    def holds(self, document: dict[str, Any], condition: str, settings: dict[str, Any]) -> bool:
        if " AND " in condition:
            return all(self.holds(document, each, settings) for each in condition.split(" AND "))
        match = COMPARISON.match(condition)
        if match is None:
            raise Refusal(400, "invalid_search_filter", f"Was expecting an operation at `{condition}`")
        name, sign, text, truth, number, absent = match.groups()
        if name not in settings["filterableAttributes"]:
            raise Refusal(400, "invalid_search_filter", f"Attribute `{name}` is not filterable.")
        value = document.get(name)
        if absent:
            return name not in document
        if value is None:
            return False
        if number is not None:
            bound = float(number)
            compared = {"=": value == bound, ">=": value >= bound, "<=": value <= bound}
            return (compared | {">": value > bound, "<": value < bound})[sign]
        if truth is not None:
            return value is (truth == "true")
        wanted = re.sub(r"\\(.)", r"\1", text).lower()
        return any(str(one).lower() == wanted for one in (value if isinstance(value, list) else [value]))


def rank_of(document: dict[str, Any], text: str, settings: dict[str, Any]) -> int | None:
    """None if a term is missing or an unwanted one there; otherwise the attributes of the matches, best first."""
    terms = re.findall(r'(-?)(?:"([^"]*)"|(\S+))', text)
    rank = 0
    for index, (minus, phrase, word) in enumerate(terms):
        is_prefix = index == len(terms) - 1 and not phrase and not minus
        wanted = f" {phrase or word}" + ("" if is_prefix else " ")
        where = [
            place
            for place, name in enumerate(settings["searchableAttributes"])
            if wanted in f" {document.get(name, '')} "
        ]
        if bool(where) == bool(minus):
            return None
        rank += where[0] if where else 0
    return rank

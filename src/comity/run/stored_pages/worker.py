"""The child process that reads stored pages: a question as JSON in, its answer as JSON out.

Nothing is written. A search reads the parts one by one, newest first, until it has a page of results or its time is up;
the next page continues there. Pages that are taken down never appear in an answer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any, Final

from comity.model.errors import BadAddress, BadInput, ComityError, NotFound
from comity.offload.child import main
from comity.rules.canonical import web_address
from comity.rules.sql.reading_only import LONGEST_STATEMENT, refusal
from comity.rules.takedown import Takedowns, read_entry
from comity.store.reading import (
    Interrupted,
    PageReader,
    ReadingLimits,
    Sources,
    TooLarge,
    find_sources,
    open_reader,
)

_PIECE_BYTES: Final = 1 << 20
_LIMITS: Final = ReadingLimits(memory="256MB", threads=2, overflow="256MB")
_LISTED: Final = "url, final_url, http_status, content_type, epoch_us(crawl_time), title, error"
_NAMES: Final = ("url", "final_url", "http_status", "content_type", "crawl_time", "title", "error")
_SEARCHED: Final = ("title", "text", "body")
_LONGEST_SOURCE: Final = 400_000
_LONGEST_TEXT: Final = 200_000
_LONGEST_CELL: Final = 2_000
_MOST_ENTRIES: Final = 200
_VERSIONS: Final = 20
_FACTS: Final = (
    "url, final_url, redirect_count, http_status, content_type, epoch_us(crawl_time), title, error, etag, "
    "last_modified, content_hash, run_id::VARCHAR, length(body), octet_length(body_bytes)"
)
_FACT_NAMES: Final = (
    "url", "final_url", "redirect_count", "http_status", "content_type", "crawl_time", "title", "error", "etag",
    "last_modified", "content_hash", "run_id", "characters", "bytes",
)  # fmt: skip


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Answer one question; what the user can fix comes back as a `problem`."""
    try:
        return _ACTS[question["act"]](question)
    except BadInput as error:
        return {"problem": "bad_input", "sentence": str(error)}
    except NotFound as error:
        return {"problem": "not_found", "sentence": str(error)}
    except Interrupted:
        return {"problem": "too_slow", "sentence": f"it took longer than {question['seconds']:g} s; ask for less"}
    except TooLarge:
        return {"problem": "too_large", "sentence": f"it needs more than {_LIMITS.memory} of memory; ask for less"}
    except (ComityError, RecursionError) as error:
        return {"problem": "bad_input", "sentence": str(error)}


def _search(question: Mapping[str, Any]) -> dict[str, Any]:
    """Pages whose URL begins with or contains a text, or whose title or text contains one."""
    found, limit = _found(question), int(question["limit"])
    if found.is_empty:
        return _empty(found)
    ends_at = time.monotonic() + float(question["seconds"])
    is_hidden = partial(_is_hidden, Takedowns.of(question["takedowns"]))
    pieces: list[Path | None] = [*sorted(found.parquet, key=_newest_first)] or [None]
    first, skipped = _place(question.get("after"), [_piece_name(piece) for piece in pieces])
    rows: list[tuple[Any, ...]] = []
    following: str | None = None
    looked_at = 0
    for number in range(first, len(pieces)):
        offset = skipped if number == first else 0
        if time.monotonic() >= ends_at:
            following = f"{_piece_name(pieces[number])}:{offset}"
            break
        wanted = limit - len(rows)
        some = _search_piece(found, pieces[number], question, offset, wanted + 1, ends_at)
        if some is None:
            following = f"{_piece_name(pieces[number])}:{offset}" if rows else None
            if not rows:
                return _empty(found) | {"is_whole": False, "timed_out": True}
            break
        looked_at += 1
        rows += [row for row in some[:wanted] if not is_hidden(row[0]) and not (row[1] and is_hidden(row[1]))]
        if len(some) > wanted:
            following = f"{_piece_name(pieces[number])}:{offset + wanted}"
            break
    return _about(found) | {
        "pages": [dict(zip(_NAMES, row, strict=True)) for row in rows],
        "next": following,
        "is_whole": following is None or len(rows) >= limit,
        "timed_out": False,
        "parts": len(pieces),
        "parts_searched": first + looked_at,
    }


def _search_piece(
    found: Sources, piece: Path | None, question: Mapping[str, Any], offset: int, limit: int, ends_at: float
) -> list[tuple[Any, ...]] | None:
    """What one part has, newest first; None if its time ran out."""
    sources = found if piece is None else Sources(found.target, parquet=(piece,))
    with _reading(sources, None, ends_at) as reader:
        present = {row[0] for row in reader.rows("DESCRIBE pages")}
        conditions, values = _conditions(question, present)
        where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        sql = f"SELECT {_LISTED} FROM pages {where}ORDER BY crawl_time DESC, url LIMIT ? OFFSET ?"  # noqa: S608
        try:
            return list(reader.rows(sql, [*values, limit, offset]))
        except Interrupted:
            return None


def _conditions(question: Mapping[str, Any], present: set[str]) -> tuple[list[str], list[str]]:
    conditions: list[str] = []
    values: list[str] = []
    if host := question.get("host"):
        places = [f"{scheme}://{prefix}{host}/" for scheme in ("https", "http") for prefix in ("", "www.")]
        conditions.append("(" + " OR ".join("starts_with(url, ?)" for _place in places) + ")")
        values += places
    if url := question.get("url"):
        conditions.append("starts_with(url, ?)" if "://" in url else "contains(lower(url), lower(?))")
        values.append(url)
    if text := question.get("text"):
        columns = [name for name in _SEARCHED if name in present]
        conditions.append("(" + " OR ".join(f"contains(lower({name}), lower(?))" for name in columns) + ")")
        values += [text] * len(columns)
    return conditions, values


def _page(question: Mapping[str, Any]) -> dict[str, Any]:
    """One page: a version of it with its source and text, and when other versions were stored."""
    found = _found(question)
    takedowns = Takedowns.of(question["takedowns"])
    forms = list(dict.fromkeys(question["urls"]))
    if any(_is_hidden(takedowns, url) for url in forms):
        raise NotFound(f"{forms[-1]} is taken down")
    if found.is_empty:
        raise NotFound(f"{forms[-1]} is not among the stored pages")
    marks = ", ".join("?" for _url in forms)
    where = f"WHERE (url IN ({marks}) OR final_url IN ({marks}))"
    with _reading(found, None, time.monotonic() + float(question["seconds"])) as reader:
        sql = f"SELECT {_FACTS} FROM pages {where} ORDER BY crawl_time DESC LIMIT {_VERSIONS}"  # noqa: S608
        versions = [dict(zip(_FACT_NAMES, row, strict=True)) for row in reader.rows(sql, forms * 2)]
        versions = [each for each in versions if not _is_row_hidden(takedowns, each)]
        if not versions:
            raise NotFound(f"{forms[-1]} is not among the stored pages")
        at = question.get("at")
        chosen = next((each for each in versions if each["crawl_time"] == at), versions[0])
        has_text = "text" in {row[0] for row in reader.rows("DESCRIBE pages")}
        wanted = f"body, {'text' if has_text else 'NULL'}"
        sql = f"SELECT {wanted} FROM pages WHERE url = ? AND epoch_us(crawl_time) = ? LIMIT 1"  # noqa: S608
        body, text = next(reader.rows(sql, [chosen["url"], chosen["crawl_time"]]), (None, None))
    if text is None and body is not None:
        text = _text_of(body, chosen["content_type"])
    return _about(found) | {
        "page": chosen,
        "source": None if body is None else body[:_LONGEST_SOURCE],
        "source_is_cut": body is not None and len(body) > _LONGEST_SOURCE,
        "text": None if text is None else text[:_LONGEST_TEXT],
        "text_is_cut": text is not None and len(text) > _LONGEST_TEXT,
        "versions": versions,
    }


def _text_of(body: str, content_type: str | None) -> str | None:
    """The main text of a page, if it is HTML."""
    # Loaded late: a search does not need it, and a page waits for this process to start.
    from comity.extract.html import read_html
    from comity.extract.main_content import is_html_type

    if not is_html_type(content_type):
        return None
    return read_html(body.encode(), content_type="text/html; charset=utf-8", agent_token="", with_text=True).text


def _sql(question: Mapping[str, Any]) -> dict[str, Any]:
    """What a statement of a user selects, as text; the first rows of it."""
    statement = str(question["sql"]).strip()
    if not statement:
        raise BadInput("sql", "is empty; write one SELECT statement, such as SELECT url, title FROM pages")
    if len(statement) > LONGEST_STATEMENT:
        raise BadInput("sql", f"is longer than {LONGEST_STATEMENT:,} characters")
    found = _found(question)
    started = time.monotonic()
    with _reading(found, question["takedowns"], started + float(question["seconds"])) as reader:
        said = refusal(reader.parsed(statement))
        if said is not None:
            raise BadInput("sql", said)
        names, rows = reader.ask(statement)
        kept, more = _bounded(rows, int(question["rows"]), int(question["bytes"]))
    return _about(found) | {
        "columns": names,
        "rows": kept,
        "has_more": more,
        "seconds": round(time.monotonic() - started, 3),
    }


def _bounded(rows: Iterator[tuple[str | None, ...]], most: int, most_bytes: int) -> tuple[list[list[str | None]], bool]:
    """The first rows, as many as fit; long cells are cut."""
    kept: list[list[str | None]] = []
    size = 0
    for row in rows:
        cells = [None if cell is None else _cut(cell) for cell in row]
        size += sum(len(cell.encode("utf-8", "replace")) for cell in cells if cell is not None)
        if len(kept) == most or size > most_bytes:
            return kept, True
        kept.append(cells)
    return kept, False


def _cut(cell: str) -> str:
    return cell if len(cell) <= _LONGEST_CELL else cell[:_LONGEST_CELL] + "…"


@contextmanager
def _reading(sources: Sources, takedowns: list[str] | None, ends_at: float) -> Iterator[PageReader]:
    """A reader that is interrupted when its time is over."""
    is_hidden = partial(_is_hidden, Takedowns.of(takedowns)) if takedowns else None
    near = _near(takedowns or [])
    with ExitStack() as opened:
        reader = opened.enter_context(open_reader(sources, is_hidden, near=near, limits=_LIMITS))
        timer = Timer(max(0.001, ends_at - time.monotonic()), reader.interrupt)
        timer.daemon = True
        timer.start()
        opened.callback(timer.cancel)
        yield reader


def _near(takedowns: list[str]) -> list[str]:
    """Texts, one of which occurs in every URL that is taken down; empty if there are too many to search for."""
    found = set()
    for text in takedowns:
        try:
            found.add(read_entry(text).host.lower())
        except BadAddress:
            continue
    return sorted(found) if len(found) <= _MOST_ENTRIES else []


def _found(question: Mapping[str, Any]) -> Sources:
    return find_sources(str(question["place"]))


def _about(found: Sources) -> dict[str, Any]:
    return {"in_segments": found.in_segments, "parts_left_out": len(found.left_out)}


def _empty(found: Sources) -> dict[str, Any]:
    nothing: dict[str, Any] = {"pages": [], "next": None, "is_whole": True, "timed_out": False}
    return _about(found) | nothing | {"parts": 0, "parts_searched": 0}


def _newest_first(path: Path) -> tuple[float, str]:
    try:
        return -path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name


def _piece_name(piece: Path | None) -> str:
    return "" if piece is None else piece.name


def _place(after: str | None, names: list[str]) -> tuple[int, int]:
    """Where a search continues: at the beginning if its part is gone."""
    name, _, offset = (after or "").rpartition(":")
    if after is None or name not in names or not offset.isascii() or not offset.isdecimal() or len(offset) > 12:
        return 0, 0
    return names.index(name), int(offset)


def _is_hidden(takedowns: Takedowns, url: str) -> bool:
    try:
        return takedowns.covering(web_address(url)) is not None
    except BadAddress:
        return False


def _is_row_hidden(takedowns: Takedowns, row: Mapping[str, Any]) -> bool:
    return any(url and _is_hidden(takedowns, url) for url in (row["url"], row["final_url"]))


_ACTS: Final = {"search": _search, "page": _page, "sql": _sql}


def read(arguments: bytes, _body: bytes) -> Iterator[bytes]:
    """Answer one question, in pieces."""
    said = json.dumps(answer(json.loads(arguments)), ensure_ascii=False).encode("utf-8", "replace")
    for start in range(0, len(said), _PIECE_BYTES):
        yield said[start : start + _PIECE_BYTES]


if __name__ == "__main__":
    main(read)

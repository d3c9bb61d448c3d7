"""The user's extractor and sink, wrapped as the crawl calls them; their errors become errors of ours.

The user's own error is the `__cause__`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from comity.doors.python.page import Page, pages_of
from comity.extract.fetched_page import Extractor, FetchedPage
from comity.model.errors import ComityError
from comity.model.page import Extraction, PageRecord
from comity.model.wording import counted
from comity.store.sink import MakeSink, PageSink, Take, UserSink


class ExtractorFailed(ComityError):
    """An extractor raised; the run ended, and the page is visited again by the next one."""

    code = "extractor_failed"

    def __init__(self, url: str, problem: BaseException) -> None:
        self.url = url
        super().__init__(f"the extractor failed on {url}: {type(problem).__name__}: {problem}")


class SinkFailed(ComityError):
    """A sink raised an error; the run ended, and the next run visits the sink's pages again."""

    code = "sink_failed"

    def __init__(self, what: str, problem: BaseException) -> None:
        super().__init__(f"the sink failed {what}: {type(problem).__name__}: {problem}")


UserExtractor = Callable[[FetchedPage], Any]


@runtime_checkable
class Sink(Protocol):
    """Where pages go besides the loop. It may also have `close()`, which is called once at the end."""

    def write(self, pages: Sequence[Page], /) -> None:
        """Store pages before they count as visited. Called on a thread of the crawl, never twice at once."""


def split_extract(
    extract: UserExtractor | str | Iterable[str | UserExtractor] | None,
) -> tuple[UserExtractor | None, list[str]]:
    """Your own function and the expressions among what `extract` names."""
    if extract is None or callable(extract):
        return extract, []
    if not isinstance(extract, Iterable):
        raise TypeError(f"extract must be expressions or a function that takes a page, not {type(extract).__name__}")
    parts = [extract] if isinstance(extract, str) else list(extract)
    functions = [part for part in parts if not isinstance(part, str)]
    if len(functions) > 1:
        raise TypeError("extract may contain one function only")
    return functions[0] if functions else None, [part for part in parts if isinstance(part, str)]


def check_user_code(extract: UserExtractor | None, sink: Sink | None) -> None:
    """Raise `TypeError` for an extractor or a sink that cannot be called."""
    if extract is not None:
        if not callable(extract):
            raise TypeError(f"extract must be a function that takes a page, not {type(extract).__name__}")
        if inspect.iscoroutinefunction(extract) or inspect.iscoroutinefunction(getattr(extract, "__call__", None)):  # noqa: B004
            raise TypeError("extract must be a plain function: the crawl calls it without awaiting it")
    if sink is not None and not callable(getattr(sink, "write", None)):
        raise TypeError(f"sink must have a method write(pages), but {type(sink).__name__} has none")
    if sink is not None and inspect.iscoroutinefunction(sink.write):
        raise TypeError("sink.write must be a plain function: it is called on a thread of the crawl")


def wrap_extractor(extract: UserExtractor | None) -> Extractor | None:
    """The user's function as the crawl calls it: its result is wrapped, and its error names the URL."""
    if extract is None:
        return None

    def extract_page(page: FetchedPage) -> Extraction:
        try:
            return _extraction(extract(page))
        except Exception as problem:
            raise ExtractorFailed(page.url, problem) from problem

    return extract_page


def _extraction(made: Any) -> Extraction:
    if not isinstance(made, Extraction):
        return Extraction(made)
    if isinstance(made.links, str):
        raise TypeError("links must be a list of URLs, not one string")
    links = tuple(made.links)
    if not all(isinstance(link, str) for link in links):
        raise TypeError("links must be strings")
    return Extraction(made.data, links)


def sink_maker(sink: Sink | None, on_kept: Take, *, stores: bool, errors: bool) -> MakeSink:
    """What receives the pages of a run: the user's sink, the store (if `stores`), and then `on_kept`."""

    def make(open_store: Callable[[], PageSink]) -> PageSink:
        behind = open_store() if stores else None
        if sink is None:
            return UserSink(behind, None, on_kept, None)
        return UserSink(behind, _writer(sink, errors=errors), on_kept, _closer(sink))

    return make


def _writer(sink: Sink, *, errors: bool) -> Take:
    def write(records: Sequence[PageRecord]) -> None:
        pages = pages_of(records, errors=errors)
        if not pages:
            return
        try:
            sink.write(pages)
        except Exception as problem:
            raise SinkFailed(
                f"to take {counted(len(pages), 'page')}, the first of them {pages[0].url}", problem
            ) from problem

    return write


def _closer(sink: Sink) -> Callable[[], None] | None:
    close = getattr(sink, "close", None)
    if not callable(close):
        return None

    def end() -> None:
        try:
            close()
        except Exception as problem:
            raise SinkFailed("to close", problem) from problem

    return end

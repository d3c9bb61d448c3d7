"""What goes wrong in code that a user gave to a crawl, as errors of ours. The user's own error is the `__cause__`."""

from __future__ import annotations

from comity.model.errors import ComityError


class ExtractorFailed(ComityError):
    """An extractor raised; the run ended, and the page is visited again by the next one."""

    code = "extractor_failed"

    def __init__(self, url: str, problem: BaseException) -> None:
        self.url = url
        super().__init__(f"the extractor failed on {url}: {type(problem).__name__}: {problem}")


class SinkFailed(ComityError):
    """A sink raised; the run ended, and the pages it was given are visited again by the next one."""

    code = "sink_failed"

    def __init__(self, what: str, problem: BaseException) -> None:
        super().__init__(f"the sink failed {what}: {type(problem).__name__}: {problem}")

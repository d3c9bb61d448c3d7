"""Nouns of a user's own extractor: what it is shown of a page, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PageShown:
    """A page that came, before it is stored."""

    url: str
    final_url: str
    status: int
    content_type: str | None
    body: bytes
    encoding: str | None
    title: str | None

    @property
    def text(self) -> str:
        """The body as text, in the encoding that the page declares; what does not fit it is replaced."""
        try:
            return self.body.decode(self.encoding or "utf-8", "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found: anything for its user, and addresses that the crawl should look at too."""

    data: Any = None
    links: Sequence[str] = ()


Extractor = Callable[[PageShown], Extraction]

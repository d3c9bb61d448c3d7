"""A page as users' code sees it; its tree and its data are read on first use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import cached_property
from typing import Any, Final, TypeVar

from turbohtml import Document, Element

from comity.extract.content_rendering import MAX_CHARACTERS
from comity.extract.decode import MAX_BODY_BYTES, codec_of, decode, decode_body, parse_html
from comity.extract.html import read_html
from comity.extract.main_content import MainContent, is_html_type, page_base, read_main_content
from comity.extract.page_data import OverBudget, PageData, StepBudget
from comity.model.dataclass import dataclass
from comity.model.page import Extraction
from comity.rules.canonical import resolve_link
from comity.rules.content_type import media_type

_ANY_STEPS: Final = 1 << 40  # users' code has no event loop to hold up; the size of the body is bound enough
_ITEM_STEPS: Final = 500_000  # items can refer to each other: for them it is not


class PageContent:
    """The main content of a fetched or stored page, extracted on first use and then cached.

    It includes what the crawl has already read. Plain text is its own content; other types have none.
    """

    __slots__ = ("_body", "_content_type", "_markdown", "_text", "_url")

    def __init__(
        self,
        body: bytes,
        content_type: str | None,
        url: str,
        text: str | None = None,
        markdown: str | None = None,
        *,
        encoding: str | None = None,
    ) -> None:
        """`encoding` is that of the body, where it is known: a stored body is UTF-8, whatever its site said."""
        if encoding is not None:
            content_type = f"{media_type(content_type) or 'text/html'}; charset={encoding}"
        self._body, self._content_type, self._url = body, content_type, url
        self._text, self._markdown = text, markdown

    @property
    def text(self) -> str:
        """As text, with its blocks on lines of their own."""
        if self._text is None:
            self._read()
        return self._text or ""

    @property
    def markdown(self) -> str:
        """As Markdown."""
        if self._markdown is None:
            self._read()
        return self._markdown or ""

    def _read(self) -> None:
        kind, body = media_type(self._content_type), self._body[:MAX_BODY_BYTES]
        if is_html_type(self._content_type) or (not kind and body[:512].lstrip()[:1] == b"<"):
            document = parse_html(body, self._content_type)
            base = document.select_one("base[href]")
            base_url = page_base(self._url, base.attr("href") if base is not None else None)
            read = read_main_content(document, text=True, markdown=True, base_url=base_url)
        elif kind.startswith("text/"):
            plain = decode_body(body, self._content_type)[:MAX_CHARACTERS]
            read = MainContent(plain, plain)
        else:
            read = MainContent("", "")
        self._text = read.text if self._text is None else self._text
        self._markdown = read.markdown if self._markdown is None else self._markdown


class ParsedPage:
    """Methods of a page that has a body. It is parsed once, on first use.

    Only the first 10 MB are read. `dataclass` fields of the classes below are all that is compared
    and pickled.
    """

    final_url: str
    content_type: str | None
    body: bytes
    encoding: str | None

    def select(self, css: str) -> list[Element]:
        """Every element that a CSS selector matches, in document order; `ValueError` if the selector is invalid."""
        return self._document.select(css)

    def select_one(self, css: str) -> Element | None:
        """The first element that a CSS selector matches."""
        return self._document.select_one(css)

    def xpath(self, expression: str) -> Any:
        """The result of an XPath 1.0 expression: a list of elements and strings, or a number, string or boolean."""
        return self._document.xpath(expression)

    @cached_property
    def links(self) -> list[str]:
        """The absolute URLs of the page's links, as the crawl would request them, each once."""
        page = read_html(self.body, content_type=self._typed(), agent_token="")
        base = page.base_href and resolve_link(page.base_href, self.final_url)
        start = base.url if base else self.final_url
        found = (resolve_link(href, start) for href in page.links)
        return list(dict.fromkeys(address.url for address in found if address is not None))

    @property
    def text(self) -> str:
        """The main content as text, without navigation, headers, footers and banners, or empty."""
        return self._main_content.text

    @property
    def markdown(self) -> str:
        """The main content as Markdown."""
        return self._main_content.markdown

    @property
    def jsonld(self) -> list[Any]:
        """The objects of the page's JSON-LD; a `@graph` is split into its members."""
        return self._data.jsonld

    @cached_property
    def microdata(self) -> list[Any]:
        """The page's microdata items, in the shape of JSON-LD; of a page that takes too long, the first of them."""
        found: list[Any] = []
        with suppress(OverBudget):
            found.extend(PageData(self._document, StepBudget(_ITEM_STEPS)).read_microdata())
        return found

    @property
    def meta(self) -> dict[str, str]:
        """Contents of meta elements by their name, property or http-equiv, in lower case; the first of each."""
        return {name: said[0] for name, said in self._data.metas.items()}

    @property
    def opengraph(self) -> dict[str, str]:
        """Open Graph properties without `og:`; the first of each."""
        return self._data.opengraph

    @cached_property
    def _main_content(self) -> PageContent:
        return self._content(None, None)

    def _content(self, text: str | None, markdown: str | None) -> PageContent:
        if self.encoding is None and is_html_type(self.content_type):  # it could not be read, or there is no body
            text, markdown = text or "", markdown or ""
        return PageContent(self.body, self.content_type, self.final_url, text, markdown, encoding=self.encoding)

    @cached_property
    def _document(self) -> Document:
        return parse_html(self.body[:MAX_BODY_BYTES], self._typed())

    @cached_property
    def _data(self) -> PageData:
        return PageData(self._document, StepBudget(_ANY_STEPS))

    def _typed(self) -> str | None:
        """The content type with the encoding that was found: a stored body is in UTF-8, whatever its header says."""
        return f"text/html; charset={self.encoding}" if self.encoding is not None else self.content_type

    def __getstate__(self) -> dict[str, Any]:
        """Without the tree, which cannot be copied to another process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class FetchedPage(ParsedPage):
    """A fetched page, before it is stored."""

    url: str
    final_url: str
    status: int
    content_type: str | None
    body: bytes
    encoding: str | None
    title: str | None

    @property
    def html(self) -> str:
        """The body as text, in the encoding that the page declares; invalid bytes are replaced."""
        if self.encoding is None:
            return decode_body(self.body, self.content_type)
        return decode(self.body, codec_of(self.encoding) or "utf-8")


AnyPage = TypeVar("AnyPage", bound=ParsedPage)


def with_content(page: AnyPage, text: str | None, markdown: str | None) -> AnyPage:
    """A page with the main content that its crawl extracted; None is extracted on first use."""
    page.__dict__["_main_content"] = page._content(text, markdown)
    return page


Extractor = Callable[[FetchedPage], Extraction]

"""Pages that are not what was asked for: challenges, login walls, errors with status 200, and "no openings"."""

from __future__ import annotations

from typing import Final

from turbohtml import Document

from comity.extract.jobs.page.outline import Outline
from comity.extract.jobs.text import collapse
from comity.extract.jobs.words.pages import (
    CHALLENGE,
    CHALLENGE_TEXT,
    CHALLENGE_TITLE,
    ERROR_TITLE,
    FAULT,
    LOGIN_TITLE,
    NO_OPENINGS,
)
from comity.model.job import ListingKind
from comity.rules.login_wall import is_login_address, is_login_wall

_CHALLENGE_BYTES: Final = 200_000
_FEW_WORDS: Final = 1_500
_MOST_TEXT: Final = 60_000
_MOST_LINE: Final = 2_000
_LONGEST_NOTICE: Final = 300
_FEW_LINKS: Final = 10
_BARE_WORDS: Final = 400
_LOGIN_WORDS: Final = 1_200
_SIGNS: Final = ("h1", "h2", "h3")


def wall_kind(
    document: Document, outline: Outline, *, body: bytes, url: str, title: str
) -> tuple[ListingKind, str] | None:
    """Whether something stands between us and the page: its kind, and the words that say so."""
    words = _said(outline, 4000)
    headings = [outline.text(number, 200) for number, tag in enumerate(outline.tags) if tag in _SIGNS][:3]
    if kind := _challenge(body, title, words, headings):
        return ListingKind.CAPTCHA, kind
    has_password = any(
        (field.attr("type") or "").strip().lower() == "password" for field in document.select("input[type]")[:200]
    )
    content_links = sum(not outline.chrome[link.element] for link in outline.links)
    if has_password and (
        is_login_wall(
            status=200,
            requested_url="",
            final_url=url,
            has_password_field=True,
            link_count=len(outline.links),
            title=title,
        )
        or (
            content_links < _FEW_LINKS
            and len(words) < _LOGIN_WORDS
            and any(map(LOGIN_TITLE.search, (title, *headings)))
        )
        or (is_login_address(url) and len(words) < _LOGIN_WORDS)
    ):
        return ListingKind.LOGIN, title or "it asks for a password"
    if len(words) < _BARE_WORDS and (sign := _login_without_password(document, content_links, (title, *headings))):
        return ListingKind.LOGIN, sign
    return None


def _login_without_password(document: Document, content_links: int, signs: tuple[str, ...]) -> str:
    """A page on the way to a login elsewhere (SAML), or one that asks for the name first."""
    if document.select_one('input[name="SAMLRequest"], input[name="SAMLResponse"], input[name="wctx"]') is not None:
        return "a form for single sign-on"
    asks = document.select_one('input[type="email"], input[type="text"], input[autocomplete~="username"]') is not None
    is_bare = asks and content_links < _FEW_LINKS
    return next((said for said in signs if is_bare and LOGIN_TITLE.search(said)), "")


def _challenge(body: bytes, title: str, words: str, headings: list[str]) -> str:
    small = len(body) <= _CHALLENGE_BYTES
    for said in (title, *headings):
        if CHALLENGE_TITLE.search(said) and len(words) < _FEW_WORDS:
            return said
    if small and len(words) < _FEW_WORDS:
        found = CHALLENGE_TEXT.search(words)
        if found:
            return found[0]
        marker = CHALLENGE.search(body[:_CHALLENGE_BYTES].decode("latin-1"))
        # A form with a captcha in it is no wall: there must be next to nothing else.
        if marker and len(words) < 400:
            return marker[0][:80]
    return ""


def error_words(outline: Outline, *, title: str) -> str:
    """What a page says that only apologises; empty for any other page."""
    headings = [
        outline.text(number, 200)
        for number, tag in enumerate(outline.tags)
        if tag in _SIGNS and not outline.chrome[number]
    ]
    length = 0
    for text in _main_text(outline):
        length += len(text.strip())
        if length > _FEW_WORDS:
            return ""
    for said in (title, *headings[:2]):
        if ERROR_TITLE.search(said):
            return collapse(said)
    fault = FAULT.search(_said(outline, _FEW_WORDS))
    return fault[0] if fault else ""


def no_openings_words(outline: Outline) -> str:
    """The sentence by which a page says that there are no jobs now."""
    text = ""
    for line in _notice_lines(outline):
        text += line[:_MOST_LINE] + "\n"
        if len(text) > _MOST_TEXT:
            break
    found = NO_OPENINGS.search(text)
    if found is None:
        return ""
    start = text.rfind("\n", 0, found.start()) + 1
    end = text.find("\n", found.end())
    return text[start : end if end >= 0 else len(text)].strip()[:_LONGEST_NOTICE]


def _notice_lines(outline: Outline) -> list[str]:
    """Lines of the main part that are shown."""
    lines: list[str] = []
    line = ""
    for text in _main_text(outline):
        if text == "\n":
            if tidy := collapse(line):
                lines.append(tidy)
            line = ""
        elif len(line) < _MOST_TEXT:
            line += text[:_MOST_TEXT]
    if tidy := collapse(line):
        lines.append(tidy)
    return lines


def _main_text(outline: Outline) -> list[str]:
    return [
        text
        for text, owner in zip(outline.texts, outline.text_owners, strict=True)
        if owner < 0 or not (outline.chrome[owner] or outline.hidden[owner])
    ]


def _said(outline: Outline, limit: int) -> str:
    said: list[str] = []
    length = 0
    for text in outline.texts:
        said.append(text[:limit])
        length += len(text)
        if length > limit:
            break
    return collapse("".join(said))

"""One HTML page of a source: takes its tree, returns a `Listing`. The most reliable methods are tried first.

Pages that are not the wanted one are recognised: challenges, login walls, errors with status 200, "no openings".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turbohtml import Document, parse

from comity.extract.jobs.addresses import host_of, path_of, posting_key, resolve, same_page
from comity.extract.jobs.page.blocks import block_jobs, linkless_jobs
from comity.extract.jobs.page.outline import Outline, outline_of
from comity.extract.jobs.page.paging import next_page
from comity.extract.jobs.page.repeated_items import Fluency, PageWords, repeated_jobs
from comity.extract.jobs.page.selectors import selected_jobs, selected_next
from comity.extract.jobs.page.single_posting import single_job
from comity.extract.jobs.page.tables import table_jobs
from comity.extract.jobs.structured_data import structured_jobs
from comity.extract.jobs.systems.boards import board_of, is_scripted, rendered_by_script
from comity.extract.jobs.systems.pages import embedded_jobs, markup_in_data, page_system_jobs, unread_markup
from comity.extract.jobs.text import collapse
from comity.extract.jobs.words.pages import (
    CAREERS,
    CHALLENGE,
    CHALLENGE_TEXT,
    CHALLENGE_TITLE,
    ERROR_TITLE,
    FAULT,
    LOGIN_TITLE,
    NO_OPENINGS,
    OPENINGS_HEADING,
    OTHER_PAGES,
)
from comity.extract.jobs.words.tables.openings import OPENINGS
from comity.extract.jobs.words.titles import is_generic, is_job_title, is_navigation
from comity.model.job import ExtractionMethod, JobFound, Listing, ListingKind
from comity.model.parser_hint import ParserHint, SelectorHint, SystemHint
from comity.rules.jobs.words import key
from comity.rules.responses import is_login_address, is_login_wall

# Below this a run of items is believed only where the page does not say that there are no openings.
_SURE_SCORE: Final = 5.0
# Languages in which most jobs are known by their titles.
_FLUENT: Final = frozenset({"en", "fr", "es", "de", "pt", "it", "nl"})
_ALIASES: Final = {"no": "nb", "nn": "nb", "bs": "hr", "sh": "sr", "iw": "he", "in": "id"}
_MOST_SAMPLES: Final = 150
_LONGEST_SAMPLE: Final = 60
_LEAST_KNOWN: Final = 3
_FILLED_BY_SCRIPTS: Final = (
    "the page is filled in by scripts, which are not run; use its feed, its API or its applicant system instead"
)
_CHALLENGE_BYTES: Final = 200_000
_FEW_WORDS: Final = 1_500
_MOST_TEXT: Final = 60_000
_MOST_LINE: Final = 2_000
_LONGEST_NOTICE: Final = 300
_FEW_LINKS: Final = 10
_BARE_WORDS: Final = 400
_LOGIN_WORDS: Final = 1_200
_SIGNS: Final = ("h1", "h2", "h3")


def read_page(document: Document, *, body: bytes, url: str, hint: ParserHint | None) -> Listing:
    """Read a page: by the hint alone if there is one, else by every way that is known."""
    base_element = document.select_one("base[href]")
    base = (resolve(base_element.attr("href") or "", url) if base_element is not None else "") or url
    outline = outline_of(document, base)
    if isinstance(hint, SelectorHint):
        return _by_hint(document, outline, hint, url, body)
    language = _language(document)
    title = _title(document)
    jobs = _by_machine_words(document, outline, base, url, language, hint)
    if not jobs:
        wall = _wall_kind(document, outline, body=body, url=url, title=title)
        if wall is not None:
            return Listing(wall[0], message=wall[1])
    words = _page_words(outline, url, title, language)
    own = single_job(outline, words, title)
    if not own and len(jobs) > 1:
        own = _of_page(jobs, outline, url)
    if own:
        # A page's own posting, not those beside it; structured data are the better source for it.
        return Listing(ListingKind.JOBS, tuple(_in_language(_of_title(jobs, own[0]) or own, language)))
    looks, sure = _by_looks(outline, words)
    if not jobs:
        jobs, looks = _by_data(document, outline, words, looks, sure)
    if not jobs and not looks and words.about_careers and outline.has_weak_chrome:
        looks, sure = _by_looks(outline_of(document, base, is_lenient=True), words)
    jobs = _joined(jobs, looks)
    following = next_page(document, outline, url)
    if not jobs or not sure:
        notice = _no_openings_words(outline)
        if notice and (not jobs or jobs is looks):
            return Listing(ListingKind.NO_OPENINGS, message=notice)
        if not jobs and (apology := _error_words(outline, title=title)):
            return Listing(ListingKind.ERROR_PAGE, message=apology)
    if not jobs:
        return _nothing(document, outline, url, following)
    return Listing(ListingKind.JOBS, tuple(_in_language(jobs, language)), following)


def _nothing(document: Document, outline: Outline, url: str, following: str | None) -> Listing:
    """A page without jobs of its own: perhaps it embeds them, perhaps only its scripts know them."""
    base = outline.base
    if board := board_of(document, base=base, url=url):
        message = f"its openings are embedded: {board[:150]}"
        return Listing(ListingKind.NOTHING_FOUND, next_url=board, message=message, is_elsewhere=True)
    if unread := unread_markup(document):
        return Listing(ListingKind.LAYOUT_CHANGED, message=unread)
    is_filled_in = is_scripted(document, outline)
    message = _FILLED_BY_SCRIPTS if is_filled_in else "no jobs were found on the page"
    if elsewhere := rendered_by_script(document, base=base):
        message += f"; it may show those of {elsewhere}, which you can add as a source"
    return Listing(ListingKind.NOTHING_FOUND, next_url=following, message=message, is_scripted=is_filled_in)


def _by_hint(document: Document, outline: Outline, hint: SelectorHint, url: str, body: bytes) -> Listing:
    jobs = selected_jobs(document, hint, base=outline.base, url=url, found_by=ExtractionMethod.HINT)
    following = selected_next(document, hint, outline.base) if hint.next else next_page(document, outline, url)
    if jobs:
        return Listing(ListingKind.JOBS, tuple(jobs), following or None)
    title = _title(document)
    if wall := _wall_kind(document, outline, body=body, url=url, title=title):
        return Listing(wall[0], message=wall[1])
    if notice := _no_openings_words(outline):
        return Listing(ListingKind.NO_OPENINGS, message=notice)
    if apology := _error_words(outline, title=title):
        return Listing(ListingKind.ERROR_PAGE, message=apology)
    message = f"the hint's selector “{hint.item[:80]}” finds no item with a title"
    has_items = document.select_one(hint.item) is not None
    return Listing(ListingKind.LAYOUT_CHANGED if has_items else ListingKind.NOTHING_FOUND, message=message)


def _by_machine_words(
    document: Document, outline: Outline, base: str, url: str, language: str, hint: ParserHint | None
) -> list[JobFound]:
    """Structured data, then known systems, then data for the page's own scripts."""
    structured = structured_jobs(document, base=url, language=language)
    if structured:
        by_title: dict[str, str] = {}
        for link in outline.links:
            if link.url and not outline.chrome[link.element]:
                by_title.setdefault(link.text.lower(), link.url)
        return [
            found if own else replace(found, apply_url=by_title.get(found.title.lower(), found.apply_url))
            for found, own in structured
        ]
    wanted = hint.system if isinstance(hint, SystemHint) else None
    return page_system_jobs(document, base=base, url=url, wanted=wanted)


def _by_data(
    document: Document, outline: Outline, words: PageWords, looks: list[JobFound], sure: bool
) -> tuple[list[JobFound], list[JobFound]]:
    """Jobs in the page's data, and what its looks are worth beside them.

    Data that tell of the jobs which the page shows are the surer source, as they are where it shows none; but a page
    that shows jobs brings other data, too.
    """
    is_fluent = words.reading is Fluency.FLUENT
    score, jobs = embedded_jobs(document, outline, url=words.url, is_fluent=is_fluent)
    if jobs and looks:
        titles = {found.title for found in looks}
        shared = sum(found.title in titles for found in jobs)
        if shared * 2 < min(len(jobs), len(titles)) and (sure or score < _SURE_SCORE):
            jobs = []
    if not jobs and not looks:
        for markup in markup_in_data(document, outline):
            inner = outline_of(parse(markup, positions=False), outline.base)
            looks, _ = _by_looks(inner, words)
            if looks:
                break
    return jobs, looks


def _by_looks(outline: Outline, words: PageWords) -> tuple[list[JobFound], bool]:
    """Tables, lists and cards; whether they are certain enough to outweigh a notice that there are none."""
    tables = table_jobs(outline, words)
    repeated, score = repeated_jobs(outline, words)
    if tables:
        known = {posting_key(found.apply_url) for found in tables}
        titles = {found.title for found in tables}
        # A table leaves room for a list beside it, but not for another reading of its own rows.
        beside = [found for found in repeated if found.found_by is not ExtractionMethod.TABLE]
        fresh = [found for found in beside if posting_key(found.apply_url) not in known and found.title not in titles]
        return [*_filled(tables, repeated), *(fresh if score >= _SURE_SCORE else [])], True
    if repeated:
        return repeated, score >= _SURE_SCORE
    headed, blocks = linkless_jobs(outline, words), block_jobs(outline, words)
    return (blocks if len(blocks) > len(headed) else headed), False


def _of_page(jobs: list[JobFound], outline: Outline, url: str) -> list[JobFound]:
    """Of several jobs in structured data, the one whose address and title are the page's own."""
    headings = {key(outline.text(number, 250)) for number, tag in enumerate(outline.tags) if tag == "h1"}
    return [found for found in jobs if same_page(found.apply_url, url) and key(found.title) in headings][:1]


def _of_title(jobs: list[JobFound], own: JobFound) -> list[JobFound]:
    """Of the jobs in structured data, the one that the page is about, with what only its text says."""
    for found in jobs:
        if key(found.title) == key(own.title) or (len(jobs) == 1 and same_page(found.apply_url, own.apply_url)):
            return [
                replace(
                    found,
                    location_raw=found.location_raw or own.location_raw,
                    deadline_raw=found.deadline_raw or own.deadline_raw,
                )
            ]
    return []


def _filled(tables: list[JobFound], repeated: list[JobFound]) -> list[JobFound]:
    """Rows of tables with the place recognised by its form, if no known header names the column."""
    if any(found.location_raw for found in tables):
        return tables
    places = {(found.title, found.apply_url): found.location_raw for found in repeated}
    return [replace(found, location_raw=places.get((found.title, found.apply_url), "")) for found in tables]


def _joined(sure: list[JobFound], looks: list[JobFound]) -> list[JobFound]:
    """The structured data, and the rest of the same list where that data covers only a part of it."""
    if not sure:
        return looks
    known = {posting_key(found.apply_url) for found in sure}
    shared = [found for found in looks if posting_key(found.apply_url) in known]
    if len(looks) > len(sure) and len(shared) == len(known):
        return [*sure, *(found for found in looks if posting_key(found.apply_url) not in known)]
    return sure


def _page_words(outline: Outline, url: str, title: str, language: str = "") -> PageWords:
    heading = next((outline.text(number, 200) for number, tag in enumerate(outline.tags) if tag == "h1"), "")
    address = f"{host_of(url)} {path_of(url)}".replace("-", " ").replace("_", " ").replace(".", " ")
    said = f"{title}\n{heading}\n{address}"
    about_openings = OPENINGS_HEADING.search(f"{heading}\n{title}") is not None
    return PageWords(
        url=url,
        about_careers=about_openings or CAREERS.search(said) is not None,
        about_openings=about_openings,
        about_others=not about_openings and OTHER_PAGES.search(f"{heading}\n{title}") is not None,
        reading=_reading(outline, language),
    )


def _reading(outline: Outline, language: str) -> Fluency:
    """How well the words of a page are known, by the language that it names and by the links that we can read."""
    code = language.replace("_", "-").partition("-")[0].lower()
    code = _ALIASES.get(code, code) if len(code) == 2 else ""
    if code in _FLUENT:
        return Fluency.FLUENT
    texts = list(
        dict.fromkeys(link.text for link in outline.links[:_MOST_SAMPLES] if 1 < len(link.text) <= _LONGEST_SAMPLE)
    )
    known = sum(is_navigation(text) or is_generic(text) or is_job_title(text) for text in texts)
    if code and code not in OPENINGS:
        return Fluency.NONE
    if known >= _LEAST_KNOWN and known * 6 >= len(texts):
        return Fluency.FAIR if code else Fluency.FLUENT
    return Fluency.NONE


def _title(document: Document) -> str:
    element = document.select_one("title")
    return collapse(element.text)[:300] if element is not None else ""


def _language(document: Document) -> str:
    root = document.select_one("html[lang]")
    return ((root.attr("lang") or "") if root is not None else "").strip()[:20]


def _in_language(jobs: list[JobFound], language: str) -> list[JobFound]:
    return [replace(found, language=language) if language and not found.language else found for found in jobs]


def _wall_kind(
    document: Document, outline: Outline, *, body: bytes, url: str, title: str
) -> tuple[ListingKind, str] | None:
    """Whether the page is a barrier (a challenge, a login wall): its kind, and the words that show it."""
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
        # A form with a captcha is not a wall unless there is next to nothing else.
        if marker and len(words) < 400:
            return marker[0][:80]
    return ""


def _error_words(outline: Outline, *, title: str) -> str:
    """The text of a page that only reports an error; empty for any other page."""
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


def _no_openings_words(outline: Outline) -> str:
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

"""Jobs that a page only embeds: takes its tree, returns the address of the board, or why nothing can be seen.

Many careers pages have a frame or a script of an applicant system where the jobs should be. The system's own address
can be requested instead; if the page is filled by its own scripts, nothing can, and the result has the reason.
"""

from __future__ import annotations

import re
from typing import Final

from turbohtml import Document

from comity.extract.jobs.addresses import path_of, resolve, without_fragment
from comity.extract.jobs.page.outline import Outline
from comity.extract.jobs.text import collapse
from comity.extract.jobs.words.pages import JOB_PATH, SYSTEM_HOST

_MOST_FRAMES: Final = 50
_MOST_SCRIPTS: Final = 200
_MOST_INLINE: Final = 200_000
_FEW_WORDS: Final = 300
_LONGEST: Final = 300
_ACCOUNT: Final = r"(?P<account>[A-Za-z0-9_.-]{1,80})"
# How a system is embedded, and where it says the same as data.
_SYSTEMS: Final = tuple(
    (re.compile(pattern.replace("@", _ACCOUNT)), address)
    for pattern, address in (
        (
            r"//(?:job-)?boards\.(?P<eu>eu\.)?greenhouse\.io/embed/job_board(?:/js)?\?(?:[^\"'\s]*&)?for=@",
            "https://boards-api.{eu}greenhouse.io/v1/boards/{account}/jobs?content=true",
        ),
        (
            r"//boards-api\.(?P<eu>eu\.)?greenhouse\.io/v1/boards/@/(?:jobs|departments|offices)",
            "https://boards-api.{eu}greenhouse.io/v1/boards/{account}/jobs?content=true",
        ),
        (r"//api\.(?P<eu>eu\.)?lever\.co/v0/postings/@", "https://api.{eu}lever.co/v0/postings/{account}?mode=json"),
        (r"//jobs\.ashbyhq\.com/@/embed", "https://api.ashbyhq.com/posting-api/job-board/{account}"),
        (r"//api\.ashbyhq\.com/posting-api/job-board/@", "https://api.ashbyhq.com/posting-api/job-board/{account}"),
        (
            r"//apply\.workable\.com/api/v1/widget/accounts/@",
            "https://apply.workable.com/api/v1/widget/accounts/{account}",
        ),
        (r"whr_embed\(\s*(?P<account>\d{1,12})", "https://www.workable.com/api/accounts/{account}?details=true"),
        (
            r"//(?P<account>[a-z0-9-]{1,60})\.bamboohr\.com/(?:js|jobs)/embed",
            "https://{account}.bamboohr.com/careers/list",
        ),
        (r"//(?P<account>[a-z0-9-]{1,60})\.recruitee\.com", "https://{account}.recruitee.com/api/offers/"),
        (
            r"//(?P<account>[a-z0-9-]{1,60})\.jobs\.personio\.(?P<eu>de|com)",
            "https://{account}.jobs.personio.{eu}/xml",
        ),
    )
)
# The page of a board itself, which a script fills, and where the same is answered as data.
_BOARDS: Final = tuple(
    (re.compile(r"^https?://" + page, re.IGNORECASE), answer)
    for page, answer in (
        (
            r"([\w-]+)\.(wd\d+)\.myworkdayjobs\.com/(?:[a-z]{2}-[a-z]{2}/)?(?!wday/)([\w-]+)",
            r"https://\1.\2.myworkdayjobs.com/wday/cxs/\1/\3/jobs",
        ),
        (r"apply\.workable\.com/(?!api/)([\w-]+)", r"https://apply.workable.com/api/v1/widget/accounts/\1"),
        (r"(?:careers|jobs)\.smartrecruiters\.com/(\w+)", r"https://api.smartrecruiters.com/v1/companies/\1/postings"),
        (r"([\w-]+)\.bamboohr\.com/(?!careers/list)", r"https://\1.bamboohr.com/careers/list"),
        (r"([\w-]+)\.recruitee\.com/(?!api/)", r"https://\1.recruitee.com/api/offers/"),
        (
            r"(?:job-)?boards\.(?:eu\.)?greenhouse\.io/(?:embed/job_board(?:/js)?\?for=)?(?!embed/)(\w+)",
            r"https://boards-api.greenhouse.io/v1/boards/\1/jobs",
        ),
        (r"([\w-]+)\.jobs\.personio\.(de|com)/(?!xml)", r"https://\1.jobs.personio.\2/xml"),
        (r"jobs\.ashbyhq\.com/([\w%.-]+)", r"https://api.ashbyhq.com/posting-api/job-board/\1"),
        (r"jobs\.(eu\.)?lever\.co/([\w-]+)", r"https://api.\1lever.co/v0/postings/\2?mode=json"),
    )
)
_JOB_NAME: Final = re.compile(
    r"\b(?:jobs?|careers?|vacanc|openings?|positions?|recruit|hiring|grnhse|stellen|karriere|emplois?|empleos?|vagas|"
    r"vacature)",
    re.IGNORECASE,
)
_NO_BOARD: Final = re.compile(  # forms to apply with, films and maps
    r"//(?:docs\.google\.com|forms\.|[^/]*(?:jotform|typeform|youtube|vimeo|recaptcha|googletagmanager)|[^/]*/maps)",
    re.IGNORECASE,
)
_NEEDS_SCRIPTS: Final = re.compile(r"\b(?:javascript|java script)\b", re.IGNORECASE)
_SHELLS: Final = "#root, #app, #__next, #__nuxt, #___gatsby, app-root, [ng-app], [data-reactroot], [v-cloak]"


def public_answer(url: str) -> str:
    """The address at which a known board's jobs are answered as data; empty for any other page."""
    for page, answer in _BOARDS:
        if found := page.match(url[:_LONGEST]):
            return found.expand(answer)
    return ""


def board_of(document: Document, *, base: str, url: str) -> str | None:
    """Where the jobs are that a page only embeds; None if that is unknown."""
    if answer := public_answer(url):
        return answer
    frames = [
        (frame, resolve(frame.attr("src") or frame.attr("data-src") or "", base))
        for frame in document.select("iframe")[:_MOST_FRAMES]
    ]
    sources = [script.attr("src") or "" for script in document.select("script[src]")[:_MOST_SCRIPTS]]
    addresses = "\n".join((*(address for _, address in frames), *(resolve(source, base) for source in sources)))
    if found := _as_data(addresses) or _as_data(_inline(document)):
        return found
    for frame, address in frames:
        name = " ".join(frame.attr(attribute) or "" for attribute in ("title", "id", "name", "class"))[:300]
        is_named = SYSTEM_HOST.search(address) or JOB_PATH.search(path_of(address)) or _JOB_NAME.search(name)
        if address and is_named and not _NO_BOARD.search(address):
            return public_answer(address) or without_fragment(address)
    return None


def rendered_by_script(document: Document, *, base: str) -> str:
    """The address of the applicant system whose script shows the jobs of a page, or empty."""
    for script in document.select("script[src]")[:_MOST_SCRIPTS]:
        address = resolve(script.attr("src") or "", base)[:_LONGEST]
        if SYSTEM_HOST.search(address):
            return public_answer(address) or address
    return ""


def is_scripted(document: Document, outline: Outline) -> bool:
    """Whether a page has next to no text until its scripts have run."""
    if document.select_one("script") is None:
        return False
    words = collapse("".join(outline.texts[:2000]))
    if len(words) > _FEW_WORDS:
        return False
    asks = any(_NEEDS_SCRIPTS.search(note.text) for note in document.select("noscript")[:10])
    return asks or document.select_one(_SHELLS) is not None


def _as_data(text: str) -> str | None:
    for pattern, address in _SYSTEMS:
        if found := pattern.search(text):
            parts = found.groupdict()
            return address.format(account=parts["account"], eu=parts.get("eu") or "")
    return None


def _inline(document: Document) -> str:
    """What scripts on the page itself say, as far as it is worth looking at."""
    said, length = [], 0
    for script in document.select("script:not([src])")[:_MOST_SCRIPTS]:
        said.append(script.text[: _MOST_INLINE - length])
        length += len(said[-1])
        if length >= _MOST_INLINE:
            break
    return "\n".join(said)

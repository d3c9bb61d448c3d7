"""Where a board's jobs are answered in public: address of its page, frame or script in, that of the answer out.

Pages of these systems are often filled by a script; what the script asks can be a source itself.
"""

from __future__ import annotations

import re
from typing import Final

from turbohtml import Document

from comity.extract.jobs.addresses import resolve
from comity.extract.jobs.words_pages import SYSTEM_HOST

_MOST_PARTS: Final = 200
_LONGEST: Final = 300
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


def public_answer(url: str) -> str:
    """The address at which a known board's jobs are answered as data; empty for any other page."""
    for page, answer in _BOARDS:
        if found := page.match(url[:_LONGEST]):
            return found.expand(answer)
    return ""


def shown_elsewhere(document: Document, *, base: str, url: str) -> str:
    """The address from which a page gets the jobs that it shows; empty if none is known."""
    if answer := public_answer(url):
        return answer
    for element in document.select("iframe[src],iframe[data-src],script[src]")[:_MOST_PARTS]:
        address = resolve(element.attr("src") or element.attr("data-src") or "", base)
        if SYSTEM_HOST.search(address[:_LONGEST]):
            return public_answer(address) or address[:_LONGEST]
    return ""

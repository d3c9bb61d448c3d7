"""Whether a feed is about jobs: what it says of itself and its items enter, why it is not leaves, or nothing.

Only a feed that calls itself news, or brings recordings, is doubted, and only where not one of its items says anything
of a job: a list of jobs in a language that we do not know is a list of jobs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from comity.extract.jobs.addresses import host_of, path_of
from comity.extract.jobs.words_pages import CAREERS, JOB_PATH
from comity.extract.jobs.words_titles import is_job_title
from comity.model.job import JobFound

_NEWS: Final = re.compile(
    r"\b(?:news|newsroom|newsfeed|blogs?|podcasts?|press|media releases?|stories|articles?|comments?|events?|episodes?|"
    r"magazine|insights|actualit[eé]s?|presse|communiqu[eé]s|noticias|prensa|novedades|nachrichten|aktuelles|neuigkeiten|"
    r"not[ií]cias|notizie|nieuws|nyheter|новости|新闻|新聞|ニュース|الأخبار|أخبار)\b",
    re.IGNORECASE,
)


def no_jobs_because(jobs: Sequence[JobFound], *, title: str, url: str, recordings: int) -> str:
    """Why a feed with items is no feed of jobs; empty if it may be one."""
    if not jobs or any(is_job_title(found.title) or found.deadline_raw or found.employment_raw for found in jobs):
        return ""
    if recordings * 2 > len(jobs):
        return "the feed brings recordings, not jobs"
    address = f"{host_of(url)} {path_of(url)}".replace("-", " ").replace("_", " ").replace("/", " ").replace(".", " ")
    about = f"{title}\n{address}"
    if not _NEWS.search(about) or CAREERS.search(about) or any(JOB_PATH.search(path_of(j.apply_url)) for j in jobs):
        return ""
    return "the feed brings news, not jobs"

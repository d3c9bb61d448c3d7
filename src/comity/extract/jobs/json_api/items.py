"""JSON responses of unknown systems: takes a value, reads the list in it that looks most like jobs.

Keys are compared without case and separators, so `jobTitle`, `job_title` and `JobTitle` are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from comity.extract.jobs.addresses import host_of, path_of, query_of, resolve, same_page, with_query
from comity.extract.jobs.json_api.mapping import text_of_value
from comity.extract.jobs.structured_data import postings_in, read_posting
from comity.extract.jobs.text import job
from comity.extract.jobs.words.labels import meaning_of
from comity.extract.jobs.words.pages import JOB_PATH
from comity.extract.jobs.words.titles import is_job_title
from comity.model.job import ExtractionMethod, JobFound

MOST_JOBS: Final = 5_000
MOST_NODES: Final = 200_000
_LEAST_SCORE: Final = 3.0
_SURE: Final = 100.0
_KEYS: Final = {
    "title": (
        "title jobtitle positiontitle position name jobname role vacancytitle text postingtitle vacancy "
        "headline postname displaytitle"
    ),
    "apply_url": (
        "url applyurl joburl link href absoluteurl applylink permalink hostedurl detailurl joblink "
        "applicationurl canonicalurl careersurl path externalpath weburl externalurl uri slug"
    ),
    "org_name": (
        "company companyname organization organisation employer orgname hiringorganization agency department.org"
    ),
    "location_raw": (
        "location locations joblocation city place dutystation locationname office offices primarylocation "
        "locationtext worklocation country station"
    ),
    "description_snippet": (
        "description summary shortdescription excerpt descriptionhtml body content jobdescription snippet intro teaser"
    ),
    "deadline_raw": (
        "deadline closingdate validthrough applicationdeadline expires expirydate expirationdate enddate "
        "closedate closeat closesat applyby duedate datelimite unpublishdate"
    ),
    "posted_raw": (
        "dateposted posted postedat publishedat published created createdat date publicationdate posteddate "
        "postedon releasedate datepublished firstpublished startdate"
    ),
    "employment_raw": "employmenttype type contracttype jobtype commitment schedule worktype timetype",
    "workplace_raw": "workplacetype remotetype remote workmode locationtype",
    "level_raw": "level grade seniority experiencelevel",
    "country_raw": "country countryname countrycode",
    "reference": (
        "id jobid reference referencenumber requisitionid ref refnumber code shortcode vacancyid number reqid"
    ),
    "language": "language lang locale",
}
_MEANINGS: Final = {field: {key: rank for rank, key in enumerate(keys.split())} for field, keys in _KEYS.items()}
_SEPARATORS: Final = re.compile(r"[^a-z0-9]+")
_WORDS: Final = re.compile(r"([a-z])([A-Z])")
LIST_NAME: Final = re.compile(
    r"job|vacanc|position|posting|opening|career|offer|opportunit|stelle|offre|empleo|vaga|requisition", re.I
)
_TROUBLE_KEYS: Final = frozenset({"error", "errors", "errorcode", "errormessage", "fault", "exception"})
_STATUS_KEYS: Final = frozenset({"status", "statuscode", "code", "httpstatus"})
_NEXT_KEYS: Final = ("next", "nextpage", "nextpageurl", "nexturl", "nextlink", "odatanextlink", "nexthref")
# Of an item's links, best first; the first is Teamtailor's.
_ITEM_LINKS: Final = ("careersite-job-url", "html", "alternate", "self")
_WRAPPERS: Final = ("links", "_links", "paging", "pagination", "meta", "page", "pager", "pageinfo")


# Keys that no table has, by how they end: "positionURI", "applicationCloseDate", "primaryLocationDisplay".
_KEY_LIKE: Final = {
    "apply_url": (
        re.compile(r"^(?:url|link)|(?:url|uri|link|href)$"),
        re.compile(r"logo|image|img|icon|photo|avatar|video|company|employer|org|share|feed|api|banner|picture"),
    ),
    "deadline_raw": (re.compile(r"deadline|clos(?:e|es|ing)(?:date|at|on|time)$|expir\w*$"), re.compile(r"is|has")),
    "location_raw": (re.compile(r"location|dutystation|city"), re.compile(r"type|id$|ids$|code$|count|facet|remote")),
}
_OF_A_JOB: Final = re.compile(r"job|position|vacan|apply|detail|active|canonical|public", re.I)
_FEW_KEYS: Final = 2
_OTHER_SCRIPT: Final = re.compile("[\u0370-\u1fff\u3040-\ud7ff]")


def _bare(key: str) -> str:
    return _SEPARATORS.sub("", key.lower())


def counted_jobs(value: object, *, url: str) -> tuple[list[JobFound], int]:
    """Jobs of an unknown answer, from the list that scores best, and how many items it has, used or not."""
    _score, jobs, count = _best(value, url=url)
    return jobs, count


def best_jobs(
    value: object,
    *,
    url: str,
    found_by: ExtractionMethod = ExtractionMethod.LIST,
    least: float,
    name: str,
    is_fluent: bool,
) -> tuple[float, list[JobFound]]:
    """The same with its score; `name` is what the value is called, `is_fluent` whether its titles can be read."""
    return _best(value, url=url, found_by=found_by, least=least, name=name, is_fluent=is_fluent)[:2]


def _best(
    value: object,
    *,
    url: str,
    found_by: ExtractionMethod = ExtractionMethod.LIST,
    least: float = _LEAST_SCORE,
    name: str = "",
    is_fluent: bool = True,
) -> tuple[float, list[JobFound], int]:
    posted = [
        found
        for node in postings_in(value)
        if (found := read_posting(node, base=url, found_by=ExtractionMethod.JSON_LD))
    ]
    if posted and any(not same_page(found.apply_url, url) for found in posted):
        return _SURE, posted, len(posted)
    # Beside postings any list will do that knows their addresses.
    best_score, best, count = (least if not posted else -10.0), list[JobFound](), 0
    for path, items in lists_in(value, name):
        fields = fields_of(items)
        if "title" not in fields:
            continue
        score = _score(path, items, fields, is_fluent=is_fluent)
        if score >= best_score:
            jobs = [found for item in items[:MOST_JOBS] if (found := _job(item, fields, url, found_by))]
            if jobs:
                best_score, best, count = score + 0.001, jobs, len(items)
    if posted:
        # Where a posting stands inside the item that knows its address, as in JSON feeds.
        addresses = {found.title: found.apply_url for found in best}
        named = [replace(found, apply_url=addresses.get(found.title, found.apply_url)) for found in posted]
        return _SURE, named, len(named)
    return best_score, best, count


def lists_in(value: object, name: str = "") -> Iterator[tuple[str, list[dict[str, object]]]]:
    """Lists of objects, with the name under which each stands."""
    waiting: list[tuple[str, object]] = [(name, value)]
    room = MOST_NODES
    while waiting and room:
        room -= 1
        name, node = waiting.pop()
        if isinstance(node, list):
            members = [member for member in node if isinstance(member, dict)]
            if members and len(members) * 2 > len(node):
                yield name, [unwrapped(member) for member in members]
            waiting.extend((name, member) for member in node if isinstance(member, dict | list))
        elif isinstance(node, dict):
            if is_keyed_by_number(node):
                yield name, [unwrapped(member) for member in node.values() if isinstance(member, dict)]
                continue
            waiting.extend(
                (f"{name}.{key}"[-60:], inner) for key, inner in node.items() if isinstance(inner, dict | list)
            )


def is_keyed_by_number(node: dict[str, object]) -> bool:
    """Whether an object is a list in all but name: {"4711": {…}, "4712": {…}}."""
    return bool(node) and all(key.isdecimal() and isinstance(inner, dict) for key, inner in node.items())


def unwrapped(member: dict[str, object]) -> dict[str, object]:
    """The object itself where a list wraps its members, as {"node": {…}} and {"fields": {…}} do."""
    for key in ("node", "fields", "attributes", "job", "item", "_source", "data", "acf", "meta"):
        inner = member.get(key)
        if isinstance(inner, dict):
            return {**member, **inner}
    for key in ("translations", "i18n", "locales", "localizations"):
        spoken = member.get(key)
        texts = list(spoken.values()) if isinstance(spoken, dict) else spoken
        if isinstance(texts, list) and texts and isinstance(texts[0], dict):
            return {**member, **texts[0]}
    if not any(_bare(key) in _MEANINGS["title"] for key in member):
        inner_objects = [inner for inner in member.values() if isinstance(inner, dict) and len(inner) > _FEW_KEYS]
        if len(inner_objects) == 1:
            return {**member, **inner_objects[0]}
    return member


def fields_of(items: list[dict[str, object]]) -> dict[str, list[str]]:
    """Keys of the items by meaning, the best first."""
    keys: dict[str, None] = {}
    for item in items[:20]:
        keys.update(dict.fromkeys(list(item)[:200]))
    found: dict[str, list[str]] = {}
    for field, ranks in _MEANINGS.items():
        named = [(ranks[bare], key) for key in keys if (bare := _bare(key)) in ranks]
        if not named:
            # Keys in other languages are the labels of other languages.
            said = [key for key in keys if meaning_of(_WORDS.sub(r"\1 \2", key).replace("_", " ")) == field]
            named = [(0 if "tit" in key.lower() else 1, key) for key in said]
        if not named and field in _KEY_LIKE:
            wanted, unwanted = _KEY_LIKE[field]
            likely = [key for key in keys if wanted.search(_bare(key)) and not unwanted.search(_bare(key))]
            named = [(0 if _OF_A_JOB.search(key) else 1, key) for key in likely]
        if named:
            found[field] = [key for _, key in sorted(named)]
    return found


def _score(name: str, items: list[dict[str, object]], fields: dict[str, list[str]], *, is_fluent: bool = True) -> float:
    sample = items[:50]
    titles = [first_value(item, fields["title"]) for item in sample]
    job_like = sum(map(is_job_title, filter(None, titles))) / len(sample)
    score = 3 * job_like + (1.5 if LIST_NAME.search(name.rpartition(".")[2]) else 0)
    score += sum(0.5 for field in ("location_raw", "employment_raw", "posted_raw") if field in fields)
    score += 1.0 if "deadline_raw" in fields else 0
    score += 0.5 if "apply_url" in fields or _own_link(items[0]) else -1.0
    if any("title" in _SEPARATORS.sub("", key.lower()) and "job" in key.lower() for key in fields["title"]):
        score += 1.5
    if not all(titles):
        score -= 1.0
    if "apply_url" in fields:
        addresses = [first_value(item, fields["apply_url"]) for item in sample]
        score += sum(JOB_PATH.search(path_of(address)) is not None for address in addresses) / len(sample)
    # Where we can read the titles and none is a job's, the list is one of something else.
    return score - (2.0 if job_like < 0.2 and is_fluent and not _OTHER_SCRIPT.search("".join(titles)[:500]) else 0)


def first_value(item: dict[str, object], keys: list[str]) -> str:
    """The value of the first of these keys that has one."""
    for key in keys:
        value = item.get(key)
        if isinstance(value, dict) and "rendered" in value:  # as WordPress answers
            value = value["rendered"]
        if text := text_of_value(value):
            return text
    return ""


def _job(
    item: dict[str, object], fields: dict[str, list[str]], url: str, found_by: ExtractionMethod
) -> JobFound | None:
    said = {field: first_value(item, keys) for field, keys in fields.items()}
    if isinstance(item.get("id"), int | str) and not said.get("reference"):
        said["reference"] = text_of_value(item.get("id"))
    address = resolve(said.pop("apply_url", "") or _own_link(item), url)
    return job(title=said.pop("title"), apply_url=address, found_by=found_by, **said)


def _own_link(item: dict[str, object]) -> str:
    """The address of an item among its links: HAL's `_links.self.href`, JSON:API's `links.self`.

    A page for people comes before the item's own JSON.
    """
    for name in ("_links", "links"):
        links = item.get(name)
        said = next((links[key] for key in _ITEM_LINKS if key in links), "") if isinstance(links, dict) else ""
        said = said.get("href", "") if isinstance(said, dict) else said
        if isinstance(said, str) and said:
            return said
    return ""


def next_in_json(value: object, url: str) -> str:
    """The next page of an answer: a link in it, or the next page number."""
    if not isinstance(value, dict):
        return ""
    for holder in (value, *(value.get(key) for key in _WRAPPERS)):
        if not isinstance(holder, dict):
            continue
        for key, said in holder.items():
            if _SEPARATORS.sub("", key.lower()) in _NEXT_KEYS:
                said = said.get("href") or said.get("url") if isinstance(said, dict) else said
                if isinstance(said, str) and re.match(r"https?://|/|\?", said):
                    address = resolve(said, url)
                    if address and host_of(address) == host_of(url) and not same_page(address, url):
                        return address
    query = query_of(url)
    for holder in (value, *(value.get(key) for key in _WRAPPERS)):
        if isinstance(holder, dict):
            page, pages = (
                _first_number(holder, names)
                for names in (("page", "currentpage", "number"), ("pages", "totalpages", "pagecount", "lastpage"))
            )
            if page is not None and pages is not None and page < pages and query.get("page") == str(page):
                return with_query(url, page=str(page + 1))
    return ""


def trouble_in(value: object) -> str:
    """What an answer says went wrong; empty if it says nothing of the kind."""
    if not isinstance(value, dict):
        return ""
    for key, said in list(value.items())[:200]:
        name = _SEPARATORS.sub("", key.lower())
        is_failure = (
            (name in _TROUBLE_KEYS and bool(said) and said not in ("false", "0", "none", "null"))
            or (name in ("success", "ok", "succeeded") and said is False)
            or (name in _STATUS_KEYS and str(said).lower() in ("error", "fail", "failed", "failure"))
            or (name in _STATUS_KEYS and str(said).isdecimal() and 400 <= int(str(said)[:4]) < 600)
        )
        if is_failure:
            words = said if isinstance(said, str) and not said.isdecimal() else value.get("message")
            return f"the response says: {words if isinstance(words, str) and words else f'{key} {said}'}"[:200]
    return ""


def _first_number(holder: dict[str, object], names: tuple[str, ...]) -> int | None:
    for key, said in holder.items():
        if _SEPARATORS.sub("", key.lower()) in names and isinstance(said, int) and not isinstance(said, bool):
            return said
    return None

"""Public JSON of applicant systems: takes a JSON value and its address, returns jobs.

Each system is a row: the form of its address, the keys of its items, and where the fields are. A row is found by
address or, where an organisation serves the same JSON under its own name, by shape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from comity.extract.jobs.addresses import query_of, with_query
from comity.extract.jobs.json_api.mapping import find, has_items, items_of, mapped_jobs, missing_in
from comity.model.dataclass import dataclass
from comity.model.job import ExtractionMethod, JobFound
from comity.model.parser_hint import ApplicantSystem, HintField, HintProblem, JsonPath, MappingHint, Template
from comity.rules.parser_hint import json_path, template

_PAGE_LENGTH: Final = 20  # more are refused
_WORKDAY: Final = re.compile(r"/wday/cxs/[^/]+/[^/]+/jobs/?", re.IGNORECASE)
_LONGEST_NUMBER: Final = 6
_LONGEST_SEARCH: Final = 200


@dataclass(frozen=True, slots=True)
class JsonSystem:
    """One system's answer."""

    system: ApplicantSystem
    address: re.Pattern[str]
    keys: frozenset[str]
    """Keys of an item that together belong to this system alone."""
    mapping: MappingHint
    hidden: tuple[str, object] | None = None
    """A key and the value with which an item is not for the public."""
    context: tuple[tuple[str, JsonPath], ...] = ()
    """Words for the templates that stand beside the items."""


def _path(text: str) -> JsonPath:
    path = json_path(text)
    assert not isinstance(path, HintProblem)
    return path


def _rule(text: str) -> Template:
    rule = template(text)
    assert not isinstance(rule, HintProblem)
    return rule


def _mapping(items: str, **fields: str | tuple[str, ...]) -> MappingHint:
    rules = {
        name: tuple(_rule(text) for text in ((said,) if isinstance(said, str) else said))
        for name, said in fields.items()
    }
    following = rules.pop("next", ())
    return MappingHint(
        _path(items), tuple((HintField(name), templates) for name, templates in rules.items()), following
    )


def _address(pattern: str) -> re.Pattern[str]:
    return re.compile(r"^https?://" + pattern, re.IGNORECASE)


_PLACE: Final = (
    "{city}, {region}, {country}",
    "{city}, {state}, {country}",
    "{city}, {country}",
    "{city}, {state}",
    "city",
    "country",
)


def _places(prefix: str) -> tuple[str, ...]:
    return tuple(re.sub(r"\b(city|region|state|country)\b", rf"{prefix}\1", rule) for rule in _PLACE)


SYSTEMS: Final = (
    JsonSystem(
        ApplicantSystem.GREENHOUSE,
        _address(r"(?:boards-api|api)(?:\.eu)?\.greenhouse\.io/v1/boards/(?P<account>[^/?#]+)/jobs"),
        frozenset({"absolute_url", "internal_job_id", "title"}),
        _mapping(
            "jobs",
            title="title",
            url="absolute_url",
            org="company_name",
            location=("location.name", "offices[*].name"),
            description="content",
            deadline="application_deadline",
            posted=("first_published", "updated_at"),
            reference=("requisition_id", "id"),
            language="language",
        ),
    ),
    JsonSystem(
        ApplicantSystem.LEVER,
        _address(r"api(?:\.eu)?\.lever\.co/v0/postings/(?P<account>[^/?#]+)"),
        frozenset({"text", "hostedUrl", "categories"}),
        _mapping(
            "$",
            title="text",
            url=("hostedUrl", "applyUrl"),
            location=("categories.allLocations[*]", "categories.location"),
            description=("descriptionPlain", "description"),
            posted="createdAt",
            employment="categories.commitment",
            workplace="workplaceType",
            country="country",
            reference="id",
        ),
    ),
    JsonSystem(
        ApplicantSystem.WORKABLE,
        _address(
            r"(?:apply|www)\.workable\.com/(?:api/(?:v1/(?:widget/)?|v3/)?accounts|api/accounts)/(?P<account>[^/?#]+)"
        ),
        frozenset({"shortcode", "title"}),
        _mapping(
            "jobs",
            title="title",
            url=("url", "shortlink", "application_url", "https://apply.workable.com/{@account}/j/{shortcode}/"),
            org="@name",
            location=_places(""),
            description="description",
            posted=("published_on", "created_at"),
            employment="employment_type",
            level="experience",
            country="country",
            reference=("code", "shortcode"),
        ),
        context=(("name", _path("name")),),
    ),
    JsonSystem(
        ApplicantSystem.WORKABLE,
        _address(r"apply\.workable\.com/api/v3/accounts/(?P<account>[^/?#]+)/jobs"),
        frozenset({"shortcode", "title", "workplace"}),
        _mapping(
            "results",
            title="title",
            url=("url", "https://apply.workable.com/{@account}/j/{shortcode}/"),
            location=_places("location."),
            posted="published",
            employment="type",
            workplace="workplace",
            country="location.country",
            reference="shortcode",
            language="language",
        ),
        hidden=("isInternal", True),
    ),
    JsonSystem(
        ApplicantSystem.SMARTRECRUITERS,
        _address(r"api\.smartrecruiters\.com/v1/companies/(?P<account>[^/?#]+)/postings"),
        frozenset({"name", "releasedDate", "company"}),
        _mapping(
            "content",
            title="name",
            url=(
                "https://jobs.smartrecruiters.com/{company.identifier}/{id}",
                "https://jobs.smartrecruiters.com/{@account}/{id}",
                "ref",
            ),
            org="company.name",
            location=("location.fullLocation", *_places("location.")),
            posted="releasedDate",
            employment="typeOfEmployment.label",
            level="experienceLevel.label",
            country="location.country",
            reference=("refNumber", "id"),
            language="language.code",
        ),
    ),
    JsonSystem(
        ApplicantSystem.ASHBY,
        _address(r"api\.ashbyhq\.com/posting-api/job-board/(?P<account>[^/?#]+)"),
        frozenset({"jobUrl", "isListed", "title"}),
        _mapping(
            "jobs",
            title="title",
            url=("jobUrl", "applyUrl"),
            location="location",
            description=("descriptionPlain", "descriptionHtml"),
            posted="publishedAt",
            employment="employmentType",
            workplace="workplaceType",
            country="address.postalAddress.addressCountry",
            reference="id",
        ),
        hidden=("isListed", False),
    ),
    JsonSystem(
        ApplicantSystem.BAMBOOHR,
        _address(r"(?P<account>[^./]+)\.bamboohr\.com/careers/list"),
        frozenset({"jobOpeningName", "id"}),
        _mapping(
            "result",
            title="jobOpeningName",
            url=("{@origin}/careers/{id}",),
            location=(*_places("atsLocation."), *_places("location.")),
            employment="employmentStatusLabel",
            country="atsLocation.country",
            reference="id",
        ),
    ),
    JsonSystem(
        ApplicantSystem.RECRUITEE,
        _address(r"[^/]+/api/offers"),
        frozenset({"careers_url", "title", "slug"}),
        _mapping(
            "offers",
            title=("title", "position"),
            url=("careers_url", "careers_apply_url"),
            org="company_name",
            location=("location", *_places("")),
            description="description",
            deadline="close_at",
            posted=("published_at", "created_at"),
            employment=("employment_type", "employment_type_code"),
            level="experience_code",
            country="country",
            reference=("guid", "id"),
        ),
    ),
    JsonSystem(
        ApplicantSystem.WORKDAY,
        _address(r"[^/]+/wday/cxs/(?P<account>[^/]+)/(?P<site>[^/]+)/jobs"),
        frozenset({"externalPath", "title"}),
        _mapping(
            "jobPostings",
            title="title",
            url=("{@origin}/{@site}{externalPath}", "externalPath"),
            location="locationsText",
            posted="postedOn",
            employment="timeType",
            workplace="remoteType",
            reference="bulletFields[0]",
        ),
    ),
    JsonSystem(
        ApplicantSystem.ORACLE,
        _address(
            r"[^/]+/hcmRestApi/resources/[^/?#]+/recruitingCEJobRequisitions.*?siteNumber(?:=|%3D)(?P<site>\w{1,40})"
        ),
        frozenset({"Id", "Title", "PrimaryLocation"}),
        _mapping(
            "items[0].requisitionList",
            title="Title",
            url=("{@origin}/hcmUI/CandidateExperience/en/sites/{@site}/job/{Id}",),
            location="PrimaryLocation",
            description="ShortDescriptionStr",
            deadline="PostingEndDate",
            posted="PostedDate",
            workplace="WorkplaceType",
            country="PrimaryLocationCountry",
            reference="Id",
            language="Language",
        ),
    ),
    JsonSystem(
        ApplicantSystem.RELIEFWEB,
        _address(r"api\.reliefweb\.int/v[12]/jobs"),
        frozenset({"fields", "href", "id"}),
        _mapping(
            "data",
            title="fields.title",
            url=("fields.url_alias", "fields.url", "https://reliefweb.int/node/{id}"),
            org="fields.source[*].name",
            location=("{fields.city[*].name}, {fields.country[*].name}", "fields.country[*].name"),
            description=("fields.body", "fields.body-html"),
            deadline="fields.date.closing",
            posted="fields.date.created",
            employment="fields.type[*].name",
            level="fields.experience[*].name",
            country="fields.country[*].name",
            reference="id",
            next="links.next.href",
        ),
    ),
)


def find_system(
    value: object, url: str, wanted: ApplicantSystem | None = None
) -> tuple[JsonSystem, Mapping[str, str]] | None:
    """The system that an answer comes from, and the words of its address."""
    rows = [row for row in SYSTEMS if wanted is None or row.system is wanted]
    for row in rows:
        found = row.address.match(url)
        if (
            found
            and has_items(value, row.mapping)
            and (not (items := items_of(value, row.mapping)) or _fits(items[0], row))
        ):
            return row, _context(row, value, url, found.groupdict())
    for row in rows:
        items = items_of(value, row.mapping)[:1]
        if items and _fits(items[0], row):
            return row, _context(row, value, url, {})
    return None


def _fits(item: object, row: JsonSystem) -> bool:
    return isinstance(item, dict) and row.keys <= item.keys()


def _context(row: JsonSystem, value: object, url: str, groups: dict[str, str]) -> dict[str, str]:
    context = {name: said for name, said in groups.items() if said}
    context["origin"] = "/".join(url.split("/", 3)[:3])
    for name, path in row.context:
        said = find(value, path)
        if said and isinstance(said[0], str):
            context[name] = said[0]
    return context


def system_items(value: object, row: JsonSystem) -> list[object]:
    """Items of a known answer that are for the public."""
    items = items_of(value, row.mapping)
    if row.hidden is None:
        return items
    key, secret = row.hidden
    return [item for item in items if isinstance(item, dict) and item.get(key) is not secret]


def system_jobs(value: object, row: JsonSystem, context: Mapping[str, str], *, url: str) -> list[JobFound]:
    """Jobs of a known answer; what is not for the public stays out."""
    mapping = MappingHint(JsonPath(), row.mapping.fields, row.mapping.next)
    return mapped_jobs(
        system_items(value, row), mapping, url=url, found_by=ExtractionMethod.APPLICANT_SYSTEM, context=context
    )


def missing_in_system(items: list[object], row: JsonSystem, context: Mapping[str, str]) -> str:
    """What the items of a known answer lack, and the remedy where there is one."""
    if row.system is ApplicantSystem.ORACLE and "site" not in context:
        return "the source's address names no siteNumber: add it to the finder, as in finder=findReqs;siteNumber=CX_1"
    return f"its items have no {missing_in(items, row.mapping, context)}"


_FINDER_OFFSET: Final = re.compile(r"(?<=[,;])offset=\d{1,6}")


def _next_of_finder(value: object, url: str) -> str:
    """Oracle counts inside one parameter: finder=findReqs;siteNumber=CX_1,limit=25,offset=0."""
    total, offset = (find(value, _path(f"items[0].{name}")) for name in ("TotalJobsCount", "Offset"))
    shown = len(find(value, _path("items[0].requisitionList[*]")))
    if not (shown and total and isinstance(total[0], int)) or "finder=" not in url:
        return ""
    following = (offset[0] if offset and isinstance(offset[0], int) else 0) + shown
    if following >= total[0]:
        return ""
    if _FINDER_OFFSET.search(url):
        return _FINDER_OFFSET.sub(f"offset={following}", url, count=1)
    before, _, finder = url.partition("finder=")
    first, mark, rest = finder.partition("&")
    return f"{before}finder={first},offset={following}{mark}{rest}"


def _next_of_workday(value: dict[str, object], url: str) -> str:
    """A full page has another behind it, unless the total, which only the first page has, says otherwise."""
    query, shown, total = query_of(url), value.get("jobPostings"), value.get("total")
    offset, limit = query.get("offset", "0"), query.get("limit", str(_PAGE_LENGTH))
    if not (isinstance(shown, list) and all(len(said) < 7 and said.isdecimal() for said in (offset, limit))):
        return ""
    following = int(offset) + len(shown)
    is_last = len(shown) < min(int(limit), _PAGE_LENGTH) or (isinstance(total, int) and 0 < total <= following)
    return "" if is_last or not shown else with_query(url, offset=str(following))


def next_offset(value: object, row: JsonSystem, url: str) -> str:
    """The next page of systems that count: SmartRecruiters by its own figures, Lever by the length of a full page."""
    query = query_of(url)
    if row.system is ApplicantSystem.SMARTRECRUITERS and isinstance(value, dict):
        offset, limit, total = (value.get(name) for name in ("offset", "limit", "totalFound"))
        if (
            isinstance(offset, int)
            and isinstance(limit, int)
            and isinstance(total, int)
            and limit > 0
            and offset + limit < total
        ):
            return with_query(url, offset=str(offset + limit), limit=str(limit))
    if row.system is ApplicantSystem.ORACLE:
        return _next_of_finder(value, url)
    if row.system is ApplicantSystem.WORKDAY and isinstance(value, dict):
        return _next_of_workday(value, url)
    if row.system is ApplicantSystem.LEVER and isinstance(value, list):
        limit_said, skip = query.get("limit", ""), query.get("skip", "0")
        if (
            limit_said.isdigit()
            and skip.isdigit()
            and len(limit_said) < 6
            and len(skip) < 9
            and len(value) >= int(limit_said) > 0
        ):
            return with_query(url, skip=str(int(skip) + int(limit_said)))
    return ""


def post_body_for(url: str) -> bytes | None:
    """What is posted to an address to read its list of jobs; None if it is requested like any page.

    Some systems list jobs only by POST; this is the body that their own pages send. Workday lists jobs at
    /wday/cxs/TENANT/SITE/jobs, twenty at a time, and takes the offset from the body. The same figures are put into the
    address, so that every page has an address of its own.
    """
    try:
        parts = urlsplit(url)
        given = dict(parse_qsl(parts.query, max_num_fields=50))
    except ValueError:
        return None
    if _WORKDAY.fullmatch(parts.path) is None:
        return None
    limit = min(_number(given.get("limit"), _PAGE_LENGTH) or _PAGE_LENGTH, _PAGE_LENGTH)
    search = given.get("searchText", "")[:_LONGEST_SEARCH]
    question = {"appliedFacets": {}, "limit": limit, "offset": _number(given.get("offset"), 0), "searchText": search}
    return json.dumps(question).encode()


def _number(text: str | None, default: int) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_number and text is not None else default

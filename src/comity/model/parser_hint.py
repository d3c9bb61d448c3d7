"""Nouns of a parser hint: what an operator says about where a source keeps its jobs.

Three kinds: CSS selectors for pages, paths for JSON answers, or just the name of a known applicant system.
"""

from __future__ import annotations

from enum import StrEnum

from comity.model.dataclass import dataclass
from comity.model.expression import Expression


class ApplicantSystem(StrEnum):
    """Applicant systems whose pages or public JSON are recognised by shape."""

    ASHBY = "ashby"
    BAMBOOHR = "bamboohr"
    GREENHOUSE = "greenhouse"
    LEVER = "lever"
    ORACLE = "oracle"
    PERSONIO = "personio"
    RECRUITEE = "recruitee"
    RELIEFWEB = "reliefweb"
    SMARTRECRUITERS = "smartrecruiters"
    TEAMTAILOR = "teamtailor"
    WORKABLE = "workable"
    WORKDAY = "workday"


class HintField(StrEnum):
    """What a hint may say of a job; the value is the name in the hint."""

    TITLE = "title"
    URL = "url"
    ORG = "org"
    LOCATION = "location"
    DESCRIPTION = "description"
    DEADLINE = "deadline"
    POSTED = "posted"
    EMPLOYMENT = "employment"
    WORKPLACE = "workplace"
    LEVEL = "level"
    COUNTRY = "country"
    REFERENCE = "reference"
    LANGUAGE = "language"


class Each(StrEnum):
    """The step of a path that takes every element of a list."""

    EACH = "*"


Step = str | int | Each


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A way into a JSON value; no steps mean the value itself."""

    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """Text with paths in it; empty as a whole if one of them finds nothing."""

    parts: tuple[str | JsonPath, ...]


@dataclass(frozen=True, slots=True)
class Selector:
    """A CSS selector and the attribute to read; no attribute means the text."""

    css: str
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class SelectorHint:
    """Where the jobs are on a page; of several rules for a field, the first that finds something counts."""

    item: str
    fields: tuple[tuple[HintField, tuple[Selector | Expression, ...]], ...]
    next: tuple[Selector | Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class MappingHint:
    """Where the jobs are in a JSON response; of several templates for a field, the first non-empty one counts."""

    items: JsonPath
    fields: tuple[tuple[HintField, tuple[Template, ...]], ...]
    next: tuple[Template, ...] = ()


@dataclass(frozen=True, slots=True)
class SystemHint:
    """The source is one of the known applicant systems, whatever its address looks like."""

    system: ApplicantSystem


ParserHint = SelectorHint | MappingHint | SystemHint


@dataclass(frozen=True, slots=True)
class HintProblem:
    """Why a text is not a hint: a sentence for its author, and the key at which it fails."""

    message: str
    key: str = ""

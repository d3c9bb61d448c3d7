"""Structured data: items that cannot be read, and items that lack a required property."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from comity.model.audit import FindingCode, StructuredItem
from comity.rules.audit.site_rows import Found

_SHOWN: Final = 3


def judge_structured_data(items: Sequence[StructuredItem], subject: str, found: Found) -> None:
    """Report the structured data of one page."""
    problems = dict.fromkeys(f"{each.syntax}: {each.problem}" for each in items if each.problem)
    if problems:
        found.add(FindingCode.STRUCTURED_DATA_FAULT, subject, "; ".join(list(problems)[:_SHOWN]))
    lacking = dict.fromkeys(f"{each.type}: {', '.join(each.missing)}" for each in items if each.missing)
    if lacking:
        found.add(FindingCode.STRUCTURED_DATA_INCOMPLETE, subject, "; ".join(list(lacking)[:_SHOWN]))

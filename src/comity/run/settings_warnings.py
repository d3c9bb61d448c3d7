"""What is doubtful about the environment: a variable that is not a setting, requests that carry no contact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import AliasChoices

from comity.rules.nearest import nearest
from comity.settings import Settings

_OURS: Final = "COMITY_"
_READ_ELSEWHERE: Final = frozenset({"COMITY_TRACEBACK"})
_OF_TESTS: Final = "COMITY_TEST_"
_MOST_TOLD: Final = 10


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """A sentence for each variable that looks like a setting and is none."""
    known = {
        str(name)
        for field in Settings.model_fields.values()
        if isinstance(field.validation_alias, AliasChoices)
        for name in field.validation_alias.choices
    } | _READ_ELSEWHERE
    told = []
    for name in sorted(environment):
        if name.startswith(_OURS) and name not in known and not name.startswith(_OF_TESTS):
            meant = nearest(name, known)
            remedy = f"did you mean {meant}?" if meant is not None else "docs/settings.md has every name."
            told.append(f"{name[:80]} is not a known setting; {remedy}")
    return told[:_MOST_TOLD]


def missing_contact(settings: Settings) -> str | None:
    """That requests do not say whom a site's owner can ask, if they do not (RFC 9110 §10.1.2, §10.1.5)."""
    if settings.contact or any(mark in (settings.user_agent or "") for mark in ("://", "@")):
        return None
    return (
        "requests carry no contact; set COMITY_CONTACT to an e-mail address or a page where the owner of a site can "
        "reach you."
    )

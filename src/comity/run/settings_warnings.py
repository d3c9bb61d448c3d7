"""Likely mistakes in the environment: a variable that is not a setting, or no contact for site owners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import AliasChoices

from comity.rules.suggestions import nearest
from comity.settings import Settings

_PREFIX: Final = "COMITY_"
_READ_ELSEWHERE: Final = frozenset({"COMITY_TRACEBACK", "COMITY_URL"})  # the latter by bots, such as the examples
_TEST_PREFIX: Final = "COMITY_TEST_"
_MOST_WARNINGS: Final = 10


def setting_variables() -> set[str]:
    """The name of every environment variable that sets something."""
    return {
        str(name)
        for field in Settings.model_fields.values()
        if isinstance(field.validation_alias, AliasChoices)
        for name in field.validation_alias.choices
    }


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """A sentence for each variable that looks like a setting but is not one."""
    known = setting_variables() | _READ_ELSEWHERE
    warnings = []
    for name in sorted(environment):
        if name.startswith(_PREFIX) and name not in known and not name.startswith(_TEST_PREFIX):
            similar = nearest(name, known)
            remedy = f"did you mean {similar}?" if similar is not None else "docs/settings.md lists every name."
            warnings.append(f"{name[:80]} is not a known setting; {remedy}")
    return warnings[:_MOST_WARNINGS]


def missing_contact(settings: Settings) -> str | None:
    """A sentence if requests do not say how a site's owner can reach us (RFC 9110 §10.1.2, §10.1.5)."""
    if settings.contact or any(mark in (settings.user_agent or "") for mark in ("://", "@")):
        return None
    return (
        "requests carry no contact; set COMITY_CONTACT to an e-mail address or a page where the owner of a site can "
        "reach you."
    )

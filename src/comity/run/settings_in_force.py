"""The settings in force: each value with its origin (option, environment or default), and likely mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import AliasChoices

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.rules.suggestions import nearest
from comity.rules.url_secrets import masked_url
from comity.settings import Settings, read_settings

# Values that are or may hold secrets; besides, every field that is not to be printed (`repr=False`).
_SECRET: Final = frozenset({"admin_password_hash", "admin_token_hash", "meili_key"})
# The first setting of each group.
_GROUPS: Final = {
    "state": "Where things are kept",
    "meili_url": "Search over postings",
    "user_agent": "Who we are",
    "robots_unreachable": "Politeness",
    "include": "Which URLs",
    "max_response_bytes": "Fetching",
    "max_pages": "Budgets",
    "keep_links": "Details of pages, and audits",
    "lease_minutes": "Leases",
    "metrics": "Monitoring",
    "source_delay_s": "Sources",
    "queue_delay_s": "Bots and other crawlers",
    "disable_scheduler": "Sources",
    "env": "Web server and console",
    "max_raw_html_bytes": "Crawl service",
    "enable_domain_tracking": "Parts that can be turned off",
    "weight_seed_rank": "Priority of hosts",
}
Source = Literal["default", "environment", "option"]
_PREFIX: Final = "COMITY_"
_READ_ELSEWHERE: Final = frozenset({"COMITY_TRACEBACK", "COMITY_URL"})  # the latter by bots, such as the examples
_TEST_PREFIX: Final = "COMITY_TEST_"
_MOST_WARNINGS: Final = 10


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """One setting."""

    name: str
    group: str
    variable: str
    """The variable that sets it, or the one that did."""
    value: str | None
    """None if it is not set, or secret."""
    source: Source
    is_secret: bool
    is_set: bool
    description: str


def settings_in_force(settings: Settings, environment: Mapping[str, str]) -> list[SettingInForce]:
    """Every setting, in the order of their declaration."""
    named = {name.lower(): name for name in environment}
    alone, found = _environment_alone(), list[SettingInForce]()
    group = ""
    for name, field in Settings.model_fields.items():
        group = _GROUPS.get(name, group)
        alias = field.validation_alias
        choices = [str(each) for each in alias.choices] if isinstance(alias, AliasChoices) else []
        used = next((named[each.lower()] for each in choices if each.lower() in named), None)
        value, is_secret = getattr(settings, name), name in _SECRET or not field.repr
        is_set = value not in (None, "", ())
        found.append(
            SettingInForce(
                name=name,
                group=group,
                variable=used or (choices[0] if choices else ""),
                value=_shown(value) if is_set and not is_secret else None,
                source=_source(settings, alone, name, field.default, used),
                is_secret=is_secret,
                is_set=is_set,
                description=field.description or "",
            )
        )
    return found


def _source(settings: Settings, alone: Settings | None, name: str, default: Any, used: str | None) -> Source:
    """An option and a variable can both be set; the option wins then, and is the one that differs."""
    value = getattr(settings, name)
    if name not in settings.model_fields_set:
        return "default"
    if used is not None:
        return "environment" if alone is not None and getattr(alone, name) == value else "option"
    return "default" if value == default else "option"  # some commands pass every setting on


def _environment_alone() -> Settings | None:
    """What the environment sets; None if an option had to replace a wrong variable."""
    try:
        return read_settings()
    except BadInput:
        return None


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(masked_url(str(each)) for each in value)
    if isinstance(value, float):
        return f"{value:g}"
    return masked_url(str(value))


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

"""Settings are checked against each other, so that no combination can break a lease's promise."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices

from comity.assemble.terms import crawl_profile, fetch_limits, robots_terms
from comity.leases.leases import LeaseTerms
from comity.model.errors import BadInput
from comity.rules.priority import PriorityWeights
from comity.settings import Settings, read_settings


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("COMITY_", "ENABLE_", "AIDJOBS_", "MAX_")) or name == "USER_AGENT":
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        (
            {"COMITY_LEASE_MINUTES": "30", "COMITY_HEARTBEAT_MINUTES": "15.1"},
            "COMITY_HEARTBEAT_MINUTES must be at most",
        ),
        ({"COMITY_LEASE_MINUTES": "10"}, "COMITY_HEARTBEAT_MINUTES must be at most"),
        ({"COMITY_LEASE_MINUTES": "10", "COMITY_HEARTBEAT_MINUTES": "5"}, None),
        ({"COMITY_LEASE_MINUTES": "19"}, "COMITY_HEARTBEAT_MINUTES must be at most"),
        ({"COMITY_LEASE_MINUTES": "20", "COMITY_HEARTBEAT_MINUTES": "10"}, None),
        ({"COMITY_FETCH_TIMEOUT": "901"}, "COMITY_FETCH_TIMEOUT must be at most"),
        ({"COMITY_FETCH_TIMEOUT": "900"}, None),
        ({"COMITY_LEASE_MINUTES": "1", "COMITY_HEARTBEAT_MINUTES": "0.1"}, "COMITY_FETCH_TIMEOUT must be at most"),
        ({"COMITY_LEASE_MINUTES": "0"}, "greater than 0"),
        ({"COMITY_LEASE_MINUTES": "nan"}, "finite number"),
        ({"COMITY_LEASE_MINUTES": "inf"}, "finite number"),
        ({"COMITY_REFRESH_DAYS": "1e9"}, "at most 3650"),
        ({"COMITY_DELAY": "inf"}, "finite number"),
        ({"COMITY_CONTACT": "a\nb"}, "one line"),
        ({"COMITY_HEARTBEAT_MINUTES": "-1"}, "greater than 0"),
        ({"COMITY_LEASE_MINUTES": "soon"}, "must be a number, not 'soon'"),
        ({"MAX_PAGES": "abc"}, "^MAX_PAGES: must be a whole number, not 'abc'"),
    ],
)
def test_a_lease_outlives_a_fetch_and_is_renewed_twice(
    environment: dict[str, str], complaint: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if complaint is None:
        read_settings()
        return
    with pytest.raises(BadInput, match=complaint):
        read_settings()


@given(st.floats(0.001, 10_080), st.floats(0.001, 10_080), st.floats(0.001, 3600))
def test_settings_that_are_accepted_make_terms_that_are_accepted(lease: float, heartbeat: float, fetch: float) -> None:
    try:
        settings = Settings(lease_minutes=lease, heartbeat_minutes=heartbeat, fetch_timeout_s=fetch)
    except ValueError:
        assert heartbeat > lease / 2 or fetch > lease * 60 / 2
        return
    assert fetch <= lease * 60 / 2
    LeaseTerms(lease_s=settings.lease_minutes * 60, renew_every_s=settings.heartbeat_minutes * 60)


def settings_table() -> str:
    """Every setting as a Markdown table; `docs/settings.md` is this."""
    lines = ["| variable | default | what it means | also accepted |", "|---|---|---|---|"]
    for field in Settings.model_fields.values():
        alias = field.validation_alias
        names = [str(name) for name in alias.choices] if isinstance(alias, AliasChoices) else []
        default = field.default
        if isinstance(default, bool):
            default = str(default).lower()
        elif isinstance(default, tuple):
            default = ",".join(default)
        shown = "" if default in (None, "") else f"`{default}`"
        also = ", ".join(f"`{name}`" for name in names[1:])
        lines.append(f"| `{names[0]}` | {shown} | {field.description} | {also} |")
    return "\n".join(lines)


def test_the_defaults_are_those_of_the_specification() -> None:
    settings = read_settings()
    assert (settings.lease_minutes, settings.heartbeat_minutes) == (30, 10)
    assert settings.refresh_after == timedelta(days=14)
    assert settings.weights == PriorityWeights()
    flags = (settings.enable_domain_tracking, settings.enable_per_domain_budget, settings.enable_smart_scheduling)
    assert flags == (True, True, True)
    assert (settings.enable_claim_protocol, settings.enable_refresh_mode) == (True, False)


@pytest.mark.parametrize("name", ["DOMAIN_TRACKING", "PER_DOMAIN_BUDGET", "SMART_SCHEDULING", "CLAIM_PROTOCOL"])
@pytest.mark.parametrize("prefix", ["ENABLE_", "COMITY_ENABLE_"])
def test_each_flag_can_be_turned_off_alone_under_both_names(
    name: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_settings().model_dump()
    monkeypatch.setenv(prefix + name, "false")
    after = read_settings().model_dump()
    assert {key for key in before if before[key] != after[key]} == {f"enable_{name.lower()}"}


def test_the_weights_of_the_priority_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_WEIGHT_IMAGE_YIELD", "12.5")
    assert read_settings().weights == PriorityWeights(image_yield=12.5)


def test_the_shared_server_wins_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settings(state="here.db").where == "here.db"
    monkeypatch.setenv("COMITY_DATABASE_URL", "postgresql://somewhere/comity")
    assert read_settings(state="here.db").where == "postgresql://somewhere/comity"


def test_the_page_of_settings_lists_every_one_of_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    assert page.endswith(settings_table() + "\n")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"COMITY_CONNECT_TIMEOUT": "7"}, None),
        ({"COMITY_CONNECT_TIMEOUT": "7", "COMITY_FETCH_TIMEOUT": "5"}, "COMITY_CONNECT_TIMEOUT must be at most"),
        ({"COMITY_FIRST_BYTE_TIMEOUT": "61"}, "COMITY_FIRST_BYTE_TIMEOUT must be at most COMITY_FETCH_TIMEOUT"),
        ({"COMITY_IDLE_TIMEOUT": "61"}, "COMITY_IDLE_TIMEOUT must be at most COMITY_FETCH_TIMEOUT"),
        ({"COMITY_FETCH_TIMEOUT": "5"}, None),  # a default gives way
        ({"COMITY_CONNECT_TIMEOUT": "0"}, "COMITY_CONNECT_TIMEOUT: must be greater"),
        ({"COMITY_FIRST_BYTE_TIMEOUT": "nan"}, "COMITY_FIRST_BYTE_TIMEOUT: must be"),
        ({"COMITY_RETRIES": "-1"}, "COMITY_RETRIES: must be at least 0"),
        ({"COMITY_RETRIES": "0"}, None),
        ({"COMITY_MAX_RETRY_BACKOFF_SECONDS": "0"}, "MAX_RETRY_BACKOFF_SECONDS: must be at least 1"),
        ({"MAX_RETRY_BACKOFF_SECONDS": "30"}, None),
    ],
)
def test_time_outs_and_retries_are_settings_within_bounds(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], complaint: str | None
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    if complaint is None:
        read_settings()
    else:
        with pytest.raises(BadInput, match=complaint):
            read_settings()


def test_time_outs_and_retries_reach_every_door() -> None:
    settings = read_settings(
        fetch_timeout_s=50, connect_timeout_s=4, first_byte_timeout_s=5, idle_timeout_s=6, retries=1, source_retries=0
    )
    settings = settings.model_copy(update={"max_retry_backoff_seconds": 9.0})
    limits = fetch_limits(settings, 1024)
    times = (limits.connect_timeout_s, limits.first_byte_timeout_s, limits.idle_timeout_s, limits.total_timeout_s)
    assert times == (4, 5, 6, 50)
    profile = crawl_profile(settings)
    assert (profile.retry_limit, profile.max_retry_backoff_s) == (1, 9.0)
    robots = robots_terms(settings).limits
    assert (robots.connect_timeout_s, robots.first_byte_timeout_s, robots.total_timeout_s) == (4, 5, 30)

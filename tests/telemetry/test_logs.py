"""Lines in the log: one an event, with keys that can be relied on, and never a secret."""

from __future__ import annotations

import json
import re
import sys
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.telemetry import events
from comity.telemetry.events import COMMON, EVENTS, Level
from comity.telemetry.logs import Log, masked, open_log
from comity.telemetry.metrics import METRICS

DOCS = Path(__file__).parents[2] / "docs" / "observability.md"


def told(
    event: events.Event, message: str, *, as_json: bool = True, level: Level = Level.DEBUG, **fields: object
) -> str:
    lines: list[str] = []
    Log(as_json=as_json, level=level, write=lines.append).emit(event, message, **fields)
    return "".join(lines)


def test_a_line_is_one_document_with_the_common_fields() -> None:
    line = told(events.HOST_LEFT, "a.example: 3 pages", host="a.example", pages=3, next_run_at=None)
    assert line.endswith("}\n")
    assert line.count("\n") == 1
    document = json.loads(line)
    assert set(COMMON) <= set(document)
    assert (document["event"], document["level"], document["host"]) == ("host_left", "info", "a.example")
    assert (document["pages"], document["next_run_at"]) == (3, None)
    assert document["at"].endswith("Z")
    assert list(document)[:3] == ["at", "level", "event"]


def test_a_person_reads_a_sentence_that_cannot_steer_the_terminal() -> None:
    assert told(events.IDLE, "nothing to\x1b[2J do", as_json=False) == "comity: nothing to\\x1b[2J do\n"


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (Level.DEBUG, ["state_looked_at", "idle", "state_lost"]),
        (Level.INFO, ["idle", "state_lost"]),
        (Level.WARNING, ["state_lost"]),
        (Level.ERROR, []),
    ],
)
def test_what_matters_less_than_the_level_is_not_told(level: Level, expected: list[str]) -> None:
    lines: list[str] = []
    log = Log(as_json=True, level=level, write=lines.append)
    for event in (events.SCRAPED, events.IDLE, events.STATE_LOST):
        log.emit(event, "said")
    assert [json.loads(line)["event"] for line in lines] == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:se:c@ret@host/db", "postgresql://me:***@host/db"),
        ("redis://:secret@host:6379/0", "redis://:***@host:6379/0"),
        ("at https://u:p@h/x and http://v:q@i/", "at https://u:***@h/x and http://v:***@i/"),
        ("postgresql://host/db?user=me&password=secret", "postgresql://host/db?user=me&password=***"),
        ("https://h/?API_KEY=abc&x=1", "https://h/?API_KEY=***&x=1"),
        ("https://example.com/a:b@c", "https://example.com/a:b@c"),
        ("https://example.com:8080/", "https://example.com:8080/"),
        ("x" * 3000, "x" * 2000 + "…"),
    ],
)
def test_secrets_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert "secret" not in told(events.STATE_LOST, text, error=text, warnings=(text, [text]))


@given(st.text("abc123:%-", min_size=1), st.text("abc123", min_size=1))
def test_no_password_of_a_url_survives(password: str, user: str) -> None:
    line = told(events.STATE_LOST, f"cannot use postgresql://{user}:S{password}S@host/db")
    assert f"S{password}S" not in line


def test_who_looks_on_decides_how_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    for stream, log_format, as_json in (
        (StringIO(), "auto", True),
        (Terminal(), "auto", False),
        (Terminal(), "json", True),
        (StringIO(), "text", False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        log = open_log(log_format, "info")
        assert log.as_json == as_json
        log.emit(events.IDLE, "waiting")
        assert stream.getvalue().startswith("{" if as_json else "comity: waiting\n")


def test_a_stream_that_is_gone_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = StringIO()
    gone.close()
    monkeypatch.setattr(sys, "stderr", gone)
    Log(as_json=True, level=Level.INFO).emit(events.IDLE, "waiting")
    monkeypatch.setattr(sys, "stderr", None)
    Log(as_json=True, level=Level.INFO).emit(events.IDLE, "waiting")


def test_every_event_is_declared_once_and_its_fields_are_its_own() -> None:
    assert len({event.name for event in EVENTS}) == len(EVENTS)
    declared = [value for value in vars(events).values() if isinstance(value, events.Event)]
    assert sorted(event.name for event in declared) == sorted(event.name for event in EVENTS)
    assert not any(set(event.fields) & set(COMMON) for event in EVENTS)


def metrics_table() -> str:
    """Every metric as a Markdown table; `docs/observability.md` has it."""
    lines = ["| metric | kind | label | what it means | known by |", "|---|---|---|---|---|"]
    for metric in METRICS:
        values = ", ".join(f"`{value}`" for value in metric.values)
        label = f"`{metric.label}`: {values}" if metric.label else ""
        lines.append(f"| `{metric.name}` | {metric.kind} | {label} | {metric.text} | {metric.origin} |")
    return "\n".join(lines)


def events_table() -> str:
    """Every event as a Markdown table; `docs/observability.md` has it."""
    lines = ["| event | level | when | fields |", "|---|---|---|---|"]
    for event in EVENTS:
        fields = ", ".join(f"`{name}`" for name in event.fields)
        lines.append(f"| `{event.name}` | {event.level.name.lower()} | {event.text} | {fields} |")
    return "\n".join(lines)


@pytest.mark.parametrize("table", [metrics_table, events_table])
def test_the_page_on_observability_has_every_metric_and_event(table: object) -> None:
    assert callable(table)
    assert f"\n\n{table()}\n" in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["grafana-dashboard.json", "observability.md"])
def test_alerts_and_the_dashboard_ask_only_for_what_there_is(name: str) -> None:
    text = (DOCS.parent / name).read_text(encoding="utf-8")
    if name.endswith(".json"):
        assert len(json.loads(text)["panels"]) == 12
    asked = set(re.findall(r"comity_[a-z_]+", text))
    known = {metric.name for metric in METRICS} | {"comity_build_info"}
    known |= {f"{metric.name}_bucket" for metric in METRICS if metric.buckets}
    assert asked
    assert asked <= known


def test_the_page_on_observability_has_every_common_field() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name, meaning in COMMON.items():
        assert f"| `{name}` | {meaning} |" in text

"""`comity queue webhooks` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.command_line import CommandLine
from tests.walk.site import Answer, Web

URL = "https://hook.example/comity"
MISSING = "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"


def test_a_webhook_from_adding_to_deleting(with_state: CommandLine) -> None:
    comity = with_state
    added = comity.json("queue", "webhooks", "add", URL, "--event", "stock.back", "--note", "prices")
    assert (added["url"], added["events"], added["note"]) == (URL, ["stock.back"], "prices")
    secret, key = added.pop("secret"), added["id"]
    assert secret.startswith("whsec_")
    assert comity.json("queue", "webhooks", "show", key) == added
    assert comity.json("queue", "webhooks", "list") == [added]
    assert comity.json("queue", "webhooks", "disable", key)["enabled"] is False
    assert comity.json("queue", "webhooks", "list", "--enabled") == []
    assert comity.json("queue", "webhooks", "enable", key)["enabled"] is True
    assert comity.json("queue", "webhooks", "edit", key, "--event", "job.done")["events"] == ["job.done"]
    assert comity.json("queue", "webhooks", "new-secret", key)["secret"] != secret
    shown = comity("queue", "webhooks", "show", key).out + comity("queue", "webhooks", "list", "--csv").out
    assert key in shown
    assert "whsec_" not in shown
    assert comity.json("queue", "webhooks", "delete", key)["id"] == key
    gone = comity("queue", "webhooks", "show", key)
    assert gone.code == 1
    assert "comity queue webhooks list" in gone.err


def test_without_events_it_is_called_for_all(with_state: CommandLine) -> None:
    added = with_state.json("queue", "webhooks", "add", URL)
    assert added["events"] == ["job.done", "job.failed", "price.changed", "stock.back"]


def test_a_secret_may_be_a_variable_of_the_server(with_state: CommandLine) -> None:
    added = with_state.json("queue", "webhooks", "add", URL, "--secret-file", "env:WEBHOOK_SECRET_SHOP")
    assert added["secret"] is None
    assert with_state.rows("SELECT secret FROM webhooks") == [("env:WEBHOOK_SECRET_SHOP",)]


def test_a_secret_of_ones_own_comes_from_a_file_and_is_not_printed(with_state: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("a secret of the receiver\n", encoding="utf-8")
    answer = with_state("queue", "webhooks", "add", URL, "--secret-file", str(file))
    assert answer.code == 0
    assert "a secret of" not in answer.out + answer.err
    assert with_state.rows("SELECT secret FROM webhooks") == [("a secret of the receiver",)]


def test_a_test_says_what_came_of_it(with_state: CommandLine) -> None:
    allowed = ("--allow-network", "127.0.0.0/8")
    with Web() as web:
        site = web.site({"/": Answer(200), "/broken": Answer(500)})
        key = with_state.json("queue", "webhooks", "add", site.url(), *allowed)["id"]
        refused = with_state("queue", "webhooks", "test", key)
        assert refused.code == 1
        assert "the test was not delivered: address refused" in refused.err
        assert site.log == []
        assert "the receiver answered 200" in with_state("queue", "webhooks", "test", key, *allowed).out
        with_state.json("queue", "webhooks", "edit", key, "--url", site.url("/broken"), *allowed)
        broken = with_state("queue", "webhooks", "test", key, *allowed)
    assert (broken.code, broken.out) == (1, "")
    assert "the receiver answered 500" in broken.err
    listed = with_state.json("queue", "webhooks", "deliveries", "--webhook", key)
    assert [each["status"] for each in listed] == ["failed", "delivered", "failed"]
    assert len(with_state.json("queue", "webhooks", "deliveries", "--status", "delivered", "--event", "test")) == 1
    assert "address refused" in with_state("queue", "webhooks", "deliveries").out


def test_a_worker_sends_what_is_due_also_while_there_is_nothing_to_crawl(with_state: CommandLine) -> None:
    with Web() as web:
        site = web.site({"/": Answer(200)})
        key = with_state.json("queue", "webhooks", "add", site.url(), "--allow-network", "127.0.0.0/8")["id"]
        with_state.rows(
            "INSERT INTO webhook_deliveries (webhook_id, event, payload, next_attempt_at)"
            f" VALUES ('{key.replace('-', '')}', 'job.done', '{{}}', '2026-01-01 00:00:00.000000')"
        )
        assert with_state("work", "--idle-exit", "--allow-network", "127.0.0.0/8").code == 0
        assert len(site.log) == 1
    assert with_state.rows("SELECT status, attempts FROM webhook_deliveries") == [("delivered", 1)]
    (delivery,) = with_state.json("queue", "webhooks", "deliveries")
    again = with_state.json("queue", "webhooks", "resend", delivery["id"])
    assert (again["id"], again["status"], again["attempts"]) == (delivery["id"], "pending", 0)
    refused = with_state("queue", "webhooks", "resend", delivery["id"])
    assert (refused.code, refused.out) == (1, "")
    assert "has not ended" in refused.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "hook.example"), "URL: must be an http or https URL"),
        (("add", "http://127.0.0.1/"), "URL: cannot be called: "),
        (("add", URL, "--event", "job.gone"), "--event: must be one or more of job.done"),
        (("add", URL, "--secret-file", "missing.txt"), "missing.txt cannot be read"),
        (("add", URL, "--secret-file", "env:HOME_OF_OTHER_SECRETS"), "begins with WEBHOOK_SECRET_"),
        (("edit", MISSING), "nothing to change"),
        (("edit", MISSING, "--url", "x"), "--url: must be"),
        (("show", "x"), "is not the id of a webhook"),
        (("resend", "x"), "is not the id of a delivery"),
        (("deliveries", "--status", "sent"), "--status"),
        (("deliveries", "--event", "job.dne"), "job.done"),
        (("deliveries", "--limit", "0"), "--limit"),
    ],
)
def test_wrong_input_is_explained_and_nothing_is_written(
    with_state: CommandLine, arguments: tuple[str, ...], words: str
) -> None:
    answer = with_state("queue", "webhooks", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err, answer.err
    assert with_state.rows("SELECT count(*) FROM webhooks") == [(0,)]

"""What a crawl on a thread of its own waits for."""

from __future__ import annotations

from comity.model.run import EndReason
from comity.reports.runs import IdleHost
from comity.run.visit_list_thread import hosts_held_elsewhere
from comity.walk.crawl.progress import HostSummary, RunSummary


def summary(*hosts: HostSummary, idle: tuple[IdleHost, ...] = ()) -> RunSummary:
    return RunSummary("r", "completed", "nothing_left", "", 0, 0, 0, 0, 0.0, hosts, (), idle=idle)


def ended(host: str, code: EndReason) -> HostSummary:
    return HostSummary(host, str(code), 0, 0, 0, "", code=code)


def test_only_hosts_of_other_processes_and_those_whose_turn_did_not_come_are_waited_for() -> None:
    found = summary(
        ended("done", EndReason.NOTHING_LEFT),
        ended("taken over", EndReason.LEASE_LOST),
        ended("asked to wait", EndReason.ASKED_TO_WAIT),
        idle=(
            IdleHost("held", "", None, "", EndReason.HELD_ELSEWHERE),
            IdleHost("put off", "", None, "", EndReason.PUT_OFF),
            IdleHost("later", "", None, "", EndReason.NOT_TAKEN),
        ),
    )
    left = ("taken over", "asked to wait", "held", "put off", "later", "new")
    assert hosts_held_elsewhere(found, left) == {"taken over", "held", "later", "new"}
    assert hosts_held_elsewhere(found) == {"taken over", "held"}

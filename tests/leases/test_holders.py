"""A holder's name tells, on its own machine only, whether the holder still lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from comity.leases import holder as holders
from comity.leases.holder import is_dead, machine_name, new_holder, started_at
from tests.database.states import BEGINNING, State
from tests.servers.waiting import wait_until


def renamed(holder: str, *, machine: str | None = None, process: object = None, start: str | None = None) -> str:
    parts = holder.split(":")
    return ":".join(
        [
            machine or parts[0],
            parts[1] if process is None else str(process),
            parts[2] if start is None else start,
            parts[3],
        ]
    )


@pytest.fixture
def dead_process() -> int:
    """A process number that nobody has any more."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(60)
    return child.pid


def test_a_name_is_new_every_time_and_fits_its_column() -> None:
    names = {new_holder() for _ in range(100)}
    assert len(names) == 100
    for name in names:
        machine, process, start, nonce = name.split(":")
        assert machine == machine_name()
        assert (process, start) == (str(os.getpid()), started_at(os.getpid()))
        assert len(nonce) == 8
        assert len(name) < 255


def test_a_long_or_odd_machine_name_still_fits_and_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders.socket, "gethostname", lambda: "a:b" * 100)
    assert len(new_holder()) < 255
    assert len(new_holder().split(":")) == 4
    assert not is_dead(new_holder())


def test_we_ourselves_are_alive() -> None:
    assert not is_dead(new_holder())


def test_a_process_that_ended_is_dead(dead_process: int) -> None:
    assert is_dead(renamed(new_holder(), process=dead_process))


def test_a_killed_process_is_dead_even_before_its_parent_has_taken_note() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import signal; print(flush=True); signal.pause()"], stdout=-1)
    assert child.stdout is not None
    child.stdout.readline()
    start = started_at(child.pid)
    name = renamed(new_holder(), process=child.pid, start=start)
    assert not is_dead(name)
    os.kill(child.pid, 9)
    wait_until(lambda: started_at(child.pid) != start, 60, "the killed process is a zombie")
    assert is_dead(name)
    child.communicate(timeout=30)
    assert is_dead(name)


def test_a_process_number_that_was_given_to_another_process_is_dead() -> None:
    ours = new_holder()
    assert is_dead(renamed(ours, start=str(int(ours.split(":")[2]) - 1)))
    assert is_dead(renamed(ours, start=str(int(ours.split(":")[2]) + 1)))
    assert not is_dead(renamed(ours, start=ours.split(":")[2]))


def test_where_the_start_is_not_known_a_living_number_is_not_called_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_dead(renamed(new_holder(), start="0"))
    name = new_holder()
    monkeypatch.setattr(holders, "_read", lambda path: "")
    assert started_at(os.getpid()) is None
    assert not is_dead(renamed(name, machine=machine_name()))
    assert new_holder().split(":")[2] == "0"


def test_a_process_of_somebody_else_is_judged_by_its_start() -> None:
    start = started_at(1)
    assert start is not None
    assert not is_dead(renamed(new_holder(), process=1, start=start))
    assert is_dead(renamed(new_holder(), process=1, start=start + "1"))


def test_another_machine_boot_or_namespace_is_never_called_dead(
    dead_process: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dead = renamed(new_holder(), process=dead_process)
    assert is_dead(dead)
    assert not is_dead(renamed(dead, machine="elsewhere-0123456789ab"))
    with monkeypatch.context() as changed:
        changed.setattr(holders, "_pid_namespace", lambda: "pid:[1]")
        assert not is_dead(dead)
    with monkeypatch.context() as changed:
        changed.setattr(holders, "_read", lambda path: "another boot")
        assert not is_dead(dead)
    with monkeypatch.context() as changed:
        changed.setattr(holders.socket, "gethostname", lambda: "elsewhere")
        assert not is_dead(dead)
    assert is_dead(dead)


@pytest.mark.parametrize(
    "name",
    ["", ":", "worker-7", "a:b", "{machine}", "{machine}:{pid}", "{machine}:{pid}:1", "{machine}:{pid}:1:2:3"]
    + [f"{{machine}}:{process}:1:2" for process in ("x", "", "-1", "0", "²", "1.5", " 1", "9" * 30)],
)
def test_a_name_that_is_not_ours_is_never_called_dead(name: str, dead_process: int) -> None:
    assert not is_dead(name.format(machine=machine_name(), pid=dead_process))


def test_only_the_leases_of_dead_processes_of_this_machine_are_freed(state: State, dead_process: int) -> None:
    us = state.leases()
    dead, alive = renamed(new_holder(), process=dead_process), new_holder()
    holders_of = {
        "dead.example": dead,
        "dead-too.example": renamed(dead, start="1"),
        "reused.example": renamed(new_holder(), start="1"),
        "ours.example": us.holder,
        "sibling.example": alive,
        "elsewhere.example": renamed(dead, machine="elsewhere-0123456789ab"),
        "container.example": renamed(dead, machine=machine_name()[:-12] + "0123456789ab"),
        "by-hand.example": "somebody",
        "like-ours.example": f"{machine_name()}-more:{dead_process}:1:2",
    }
    for host, holder in holders_of.items():
        state.add(host)
        assert state.leases(holder).take([host])
    state.add("free.example")
    before = {host: state.row(host) for host in (*holders_of, "free.example")}
    state.clock.advance(minutes=5)
    assert us.release_dead() == 3
    assert us.release_dead() == 0
    freed = {"dead.example", "dead-too.example", "reused.example"}
    for host, row in before.items():
        now = state.row(host)
        if host not in freed:
            assert now == row
            continue
        assert (now["claimed_by"], now["claim_expires_at"]) == (None, None)
        assert now["unclean_end_at"] == state.clock.now()
        assert now["lease_token"] == row["lease_token"]
    claimed = {lease.host: lease for lease in us.claim(20)}
    assert set(claimed) == freed | {"free.example"}
    assert claimed["dead.example"].token == 2
    assert claimed["dead.example"].memory.unclean_end_at == state.clock.seconds() != BEGINNING.timestamp()

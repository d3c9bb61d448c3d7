"""What an operator decides about one host is stored within bounds, and what is not named keeps its value."""

from __future__ import annotations

import pytest

from comity.database import policies
from comity.model.errors import BadInput
from comity.model.host import HostPolicy
from comity.operate.policy import get_policy, set_policy
from tests.database.states import State


def test_a_host_has_no_policy_until_somebody_makes_one(state: State) -> None:
    assert get_policy(state.database, "host.example") is None


def test_a_new_policy_takes_the_defaults_and_a_change_keeps_the_rest(state: State) -> None:
    first = set_policy(state.database, state.clock, "host.example", min_request_interval_ms=5000)
    assert first == HostPolicy("host.example", 1, 5000, 10, 1024, False)
    second = set_policy(state.database, state.clock, "host.example", max_pages=0, allow_js=True, max_concurrency=None)
    assert second == HostPolicy("host.example", 1, 5000, 0, 1024, True)
    assert get_policy(state.database, "host.example") == second


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_concurrency", 0),
        ("max_concurrency", 1001),
        ("min_request_interval_ms", -1),
        ("min_request_interval_ms", 7 * 86_400_000 + 1),
        ("max_pages", -1),
        ("max_kb_per_page", 0),
        ("max_kb_per_page", 10**9),
    ],
)
def test_a_value_out_of_bounds_is_refused_in_words(state: State, name: str, value: int) -> None:
    with pytest.raises(BadInput, match=f"{name}: must be between .* not {value}"):
        set_policy(state.database, state.clock, "host.example", **{name: value})
    assert get_policy(state.database, "host.example") is None


def test_setting_nothing_is_refused(state: State) -> None:
    with pytest.raises(BadInput, match="nothing to set"):
        set_policy(state.database, state.clock, "host.example", max_pages=None)


def test_an_edit_moves_its_time(state: State) -> None:
    set_policy(state.database, state.clock, "host.example", max_pages=1)
    state.clock.advance(hours=1)
    set_policy(state.database, state.clock, "host.example", max_pages=2)
    with state.database.read() as connection:
        row = policies.get(connection, "host.example")
    assert row is not None
    assert row.updated_at == state.clock.now()


def test_the_policies_of_many_hosts_come_at_once(state: State) -> None:
    for number in range(3):
        set_policy(state.database, state.clock, f"h{number}.example", max_pages=number)
    with state.database.read() as connection:
        found = policies.get_many(connection, ["h1.example", "h2.example", "unknown.example"])
        assert {host: row.max_pages for host, row in found.items()} == {"h1.example": 1, "h2.example": 2}
        assert policies.get_many(connection, []) == {}
        assert len(policies.get_many(connection, [f"h{number}.example" for number in range(70_000)])) == 3


def test_a_long_table_of_policies_is_searched_and_a_short_one_is_read(state: State) -> None:
    """Both give the same: the policies of the hosts that are named, and no others."""
    names = [f"h{number}.example" for number in range(300)]
    for policies_made in (3, 150):
        with state.database.write() as connection:
            for name in names[:policies_made]:
                policies.put(connection, name, {"max_pages": 5}, state.clock.now())
        with state.database.read() as connection:
            assert set(policies.get_many(connection, names[1:])) == set(names[1:policies_made])
            assert set(policies.get_many(connection, names[1:2])) == {names[1]}

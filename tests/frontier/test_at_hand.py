"""What a host's work remembers has a bound."""

from __future__ import annotations

from comity.frontier.host_queue import HostQueue


def test_images_that_are_linked_are_remembered_within_the_same_bound_as_what_was_met() -> None:
    work = HostQueue((), knows_all=True, is_whole=True, keys_most=3)
    for key in range(10):
        assert not work.is_met_as_image(key)
        assert work.is_met_as_link(key)
    assert [key for key in range(10) if work.is_linked_image(key)] == [0, 1, 2]

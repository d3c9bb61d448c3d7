"""Dataclasses behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from comity.model.dataclass import dataclass

Maker = Callable[..., Any]
OURS_AND_THEIRS = (dataclass, dataclasses.dataclass)
KINDS = ({"frozen": True, "slots": True}, {"slots": True}, {"frozen": True}, {"slots": True, "eq": False}, {})


@dataclass(frozen=True, slots=True)
class Place:
    """A value."""

    name: str
    tags: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list, compare=False)

    KIND: ClassVar[str] = "place"

    @property
    def size(self) -> int:
        """Something to call."""
        return len(self.name)


@dataclass(frozen=True, slots=True)
class Town(Place):
    """A value with more fields."""

    people: int = 0


def made(maker: Maker, kind: dict[str, bool]) -> Any:
    class Row:
        number: int
        text: str = "none"
        items: list[int] = field(default_factory=list)
        hidden: int = field(default=1, repr=False, compare=False)
        only_named: int = field(default=2, kw_only=True)
        not_given: int = field(default=3, init=False)

    return maker(**kind)(Row)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_instances_are_as_those_of_the_standard_library(kind: dict[str, bool]) -> None:
    answers = []
    for maker in OURS_AND_THEIRS:
        row = made(maker, kind)
        one, other = row(1, "a", [2], only_named=5), row(1, text="a", items=[2], hidden=9, only_named=5)
        answers.append(
            (
                repr(one),
                one == other,
                one != row(2),
                one == (1, "a", [2]),
                dataclasses.asdict(one),
                dataclasses.asdict(dataclasses.replace(other, text="b")),
                [each.name for each in dataclasses.fields(row)],
                row.__match_args__,
                row(1).items is row(1).items,
                hasattr(one, "__dict__"),
                dataclasses.asdict(copy.deepcopy(one)),
            )
        )
    assert answers[0] == answers[1]


@pytest.mark.parametrize("arguments", [(), (1, 2, 3, 4, 5), (1, "a", "b", "c", "d")])
def test_a_wrong_call_is_refused(arguments: tuple[Any, ...]) -> None:
    said = []
    for maker in OURS_AND_THEIRS:
        with pytest.raises(TypeError) as refused:
            made(maker, KINDS[0])(*arguments)
        said.append(str(refused.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_can_be_hashed_is_hashed_alike(kind: dict[str, bool]) -> None:
    def hashed(maker: Maker) -> Any:
        class Pair:
            left: int
            right: str = "r"

        pair = maker(**kind)(Pair)
        try:
            return hash(pair(1)) == hash(pair(1)), hash(pair(1)) == hash((1, "r"))
        except TypeError:
            return None

    assert hashed(dataclass) == hashed(dataclasses.dataclass)


def test_methods_of_the_class_itself_stay() -> None:
    @dataclass(frozen=True, slots=True)
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    assert (hash(Own(1)), repr(Own(1)), Own(1) == Own(2)) == (7, "own", True)


def test_a_value_cannot_be_changed_and_can_be_copied() -> None:
    place = Place("Ulm", ("old",), ["n"])
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        place.name = "Aalen"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del place.name
    assert pickle.loads(pickle.dumps(place)) == place == copy.copy(place)
    assert (place.size, Place.KIND, {place: 1}[Place("Ulm", ("old",))]) == (3, "place", 1)


def test_a_class_can_have_more_fields_than_its_base() -> None:
    town = Town("Ulm", people=126_000)
    assert repr(town) == "Town(name='Ulm', tags=(), notes=[], people=126000)"
    assert (town == Place("Ulm"), pickle.loads(pickle.dumps(town)) == town) == (False, True)
    assert [each.name for each in dataclasses.fields(town)] == ["name", "tags", "notes", "people"]


def test_what_follows_the_making_is_called() -> None:
    @dataclass(slots=True)
    class Checked:
        value: int

        def __post_init__(self) -> None:
            self.value += 1

    assert [Checked(1).value, Checked(2).value] == [2, 3]


def test_an_instance_that_holds_itself_can_be_shown() -> None:
    @dataclass(slots=True)
    class Knot:
        end: Any = None

    knot = Knot()
    knot.end = knot
    assert repr(knot).endswith("Knot(end=...)")

"""Sentences that name a command or an option: only a door knows how its users write those, and fills them in.

`action(Action.CRAWL, "example.org") + " crawls it."` is such a sentence; `run.remedies` has the words of every action.
"""

from __future__ import annotations

from enum import StrEnum, auto
from typing import Final, NamedTuple

from comity.model.dataclass import dataclass


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 host`, `1,234 hosts`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def holder_in_words(holder: str) -> str:
    """The holder of a lease as people know it: a process of ours by its number and machine, any other by its name."""
    machine, *parts = holder.split(":")
    is_process = len(parts) == 3 and parts[0].isdecimal() and parts[1].isdecimal()
    return f"process {parts[0]} on {machine}" if is_process and parts[0] != "0" else holder


class Action(StrEnum):
    """What a user may do, or set; the comment says which values come with it."""

    ADD_SEED = auto()  # a host
    ADD_SOURCE = auto()  # a URL
    ALLOW_NETWORK = auto()
    CLEAR_PATTERNS = auto()  # a host
    CRAWL = auto()  # a host or a URL
    CRAWL_ACCEPTING_TYPE = auto()  # a host
    CRAWL_DEEPER = auto()  # a host, a depth
    CRAWL_FOLLOWING_CANONICAL = auto()  # a host
    CRAWL_FOLLOWING_LINKS = auto()  # a host
    CRAWL_IGNORING_NOFOLLOW = auto()  # a host
    CRAWL_IMAGES = auto()  # a host
    CRAWL_IMAGES_AGAIN = auto()  # a host
    CRAWL_WITH_SUBDOMAINS = auto()  # a host
    ENABLE_POLICY = auto()  # its URL
    EXPLAIN = auto()  # a URL
    LIFT_TAKEDOWN = auto()  # the entry
    MAX_DEPTH = auto()
    NO_FOLLOW_CANONICAL = auto()
    NO_FOLLOW_LINKS = auto()
    READ_ROBOTS = auto()  # a host
    REFRESH = auto()  # a host
    RESET_HOST = auto()  # a host
    RESUME_SOURCE = auto()  # its URL
    RESTART_JOB = auto()  # its id
    RUN_POLICY = auto()  # its URL
    RUN_SOURCE = auto()  # its URL
    SERVE_SOURCES = auto()
    SHOW_POLICY = auto()  # a host
    WITH_IMAGES = auto()


class Named(NamedTuple):
    """An action in a sentence, with what it is done to."""

    action: Action
    values: tuple[str, ...] = ()


class Worded:
    """A sentence with actions in it; put it together with `+`, not in an f-string."""

    __slots__ = ("parts",)

    def __init__(self, *parts: str | Named) -> None:
        self.parts = parts

    def __add__(self, other: Words) -> Worded:
        return Worded(*self.parts, *(other.parts if isinstance(other, Worded) else (other,)))

    def __radd__(self, other: str) -> Worded:
        return Worded(other, *self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Worded) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"Worded{self.parts!r}"

    def __format__(self, _specification: str) -> str:
        raise TypeError("join texts and actions with +")

    def filled(self, **values: str) -> Worded:
        """The same with values in the place of their names in braces, also in those of its actions."""
        return Worded(
            *(
                part.format(**values)
                if isinstance(part, str)
                else Named(part.action, tuple(value.format(**values) for value in part.values))
                for part in self.parts
            )
        )


Words = str | Worded


def action(code: Action, *values: object) -> Worded:
    """An action as part of a sentence."""
    return Worded(Named(code, tuple(map(str, values))))


def filled(text: Words, **values: str) -> Words:
    """A sentence with values in the place of their names in braces."""
    return text.filled(**values) if isinstance(text, Worded) else text.format(**values)


@dataclass(frozen=True, slots=True)
class CrawlAdvice:
    """What the warnings of a crawl advise, in the words of its caller; without any they say only what happened.

    These warnings are stored and sent between processes as text, so the words are handed down with the crawl.
    """

    endless_links: str = ""
    moved: str = ""
    """With the place of the other host in braces."""
    max_depth: str = "max_depth"
    """The name of that setting."""


NO_ADVICE: Final = CrawlAdvice()

"""The sections of the console: their names, paths, icons and the letters that go there (`g`, then the letter)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of the navigation. The path is below the prefix of the console."""

    name: str
    label: str
    path: str
    icon: str
    letter: str


@dataclass(frozen=True, slots=True)
class Group:
    """Sections that stand together; the first group has no label."""

    label: str
    sections: tuple[Section, ...]


GROUPS: Final = (
    Group("", (Section("dashboard", "Dashboard", "/", "dashboard", "d"),)),
    Group(
        "Crawl",
        (
            Section("sources", "Sources", "/sources", "sources", "s"),
            Section("crawl", "Crawl", "/crawl", "crawl", "c"),
            Section("hosts", "Hosts", "/hosts", "hosts", "h"),
            Section("queue", "Queue", "/queue", "queue", "q"),
        ),
    ),
    Group(
        "Found",
        (
            Section("pages", "Pages", "/pages", "pages", "p"),
            Section("audits", "Audits", "/audits", "audits", "a"),
            Section("postings", "Job postings", "/postings", "postings", "j"),
        ),
    ),
    Group(
        "System",
        (
            Section("takedowns", "Takedowns", "/takedowns", "takedowns", "t"),
            Section("activity", "Activity", "/activity", "activity", "l"),
            Section("settings", "Settings", "/settings", "settings", "e"),
        ),
    ),
)
SECTIONS: Final = tuple(section for group in GROUPS for section in group.sections)

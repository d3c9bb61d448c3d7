"""Nouns of trap resistance: why a link is not followed, and the limits."""

from enum import StrEnum
from typing import Final, NamedTuple

from comity.model.dataclass import dataclass


class TrapCode(StrEnum):
    """Why a link looks like part of an endless space."""

    URL_TOO_LONG = "url_too_long"
    PATH_TOO_DEEP = "path_too_deep"
    REPEATED_SEGMENTS = "repeated_segments"
    PERMUTED_SEGMENTS = "permuted_segments"
    ECHOING_FOLDER = "echoing_folder"
    FAR_DATE = "far_date"
    NESTED_ESCAPES = "nested_escapes"
    REPEATED_PARAMETERS = "repeated_parameters"
    PERMUTED_QUERY = "permuted_query"
    VARIANTS = "variants"
    FACETS = "facets"
    SAME_CONTENT = "same_content"
    COUNTER = "counter"
    VOLATILE_PARAMETER = "volatile_parameter"
    PATTERN_FULL = "pattern_full"


NO_PAGES: Final = frozenset({TrapCode.PERMUTED_QUERY, TrapCode.VOLATILE_PARAMETER})
"""Refusals that lose nothing: the link is another address of a page that is visited."""


class TrapRefusal(NamedTuple):
    """A link that is not followed; a tuple, because a trap makes many."""

    code: TrapCode
    reason: str
    """One sentence for people."""
    pattern: str
    """What the link has in common with others of its kind."""
    number: int
    """How many links of this host were refused for this code so far, with this one."""


@dataclass(frozen=True, slots=True)
class TrapTerms:
    """The limits. An ordinary site, even a large one, stays far below all of them."""

    longest_target: int = 2000
    """Characters of path and query."""
    most_segments: int = 25
    """Folders in a path; 60 at most."""
    most_parameters: int = 40
    most_repeating_folders: int = 500
    """Folders of one host in whose path two or more names come again."""
    years_ahead: int = 2
    """How far beyond today a calendar is followed."""
    most_variants: int = 50
    """Other orders and views of pages that are known, of one pattern, while they lead to nothing new."""
    most_facets: int = 300
    """Combinations of filters of one pattern, while they lead to nothing new."""
    gain: int = 5
    """How many more of the two above each page is worth that does lead to something new."""
    same_in_a_row: int = 100
    """Pages of one pattern whose content is known, after which it is closed; patterns that proved useful get more."""
    counter_from: int = 10_000
    """Pages of one pattern that nothing but this pattern leads to, after which likeness counts as sameness."""
    leafing_from: int = 1000
    """The same where a query pages through a list or a calendar: these continue by themselves."""
    most_per_pattern: int = 1_000_000
    remembered: int = 8192
    """How many URLs, contents and folders each are remembered for one host."""

    def __post_init__(self) -> None:
        if not 1 <= self.most_segments <= 60:
            raise ValueError("most_segments must be from 1 to 60")
        if self.remembered < 64:
            raise ValueError("remembered must be 64 or more")

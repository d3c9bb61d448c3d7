"""The options of the columns of a source, declared once for every command that takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from comity.doors.cli.option_groups import OptionGroup, used
from comity.model.errors import BadInput


def option(name: str, metavar: str, text: str) -> Any:
    """An option with a value."""
    return typer.Option(name, metavar=metavar, help=text)


SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="A source: its URL or its id.")]
TypeOption = Annotated[str | None, option("--type", "html|rss|api", "What the URL returns. Default html.")]
HintOption = Annotated[
    str | None, option("--parser-hint", "JSON|@FILE", "How to read the page, if it cannot be detected.")
]
CountryOption = Annotated[str | None, option("--country", "XX", "The country of the organisation: two letters.")]
COLUMNS: Final[OptionGroup] = {
    "org_name": Annotated[str | None, option("--org-name", "TEXT", "The organisation.")],
    "source_type": TypeOption,
    "org_type": Annotated[
        str | None,
        option("--org-type", "un|ingo|ngo|academic|…", "The kind of organisation; it sets the default frequency."),
    ],
    "parser_hint": HintOption,
    "crawl_frequency_days": Annotated[
        int | None,
        option("--crawl-frequency-days", "N", "Days between runs. The default depends on the kind of organisation."),
    ],
    "time_window": Annotated[
        str | None,
        option("--time-window", "HH:MM-HH:MM", "The hours in which to read it, in the time zone of the organisation."),
    ],
    "country": CountryOption,
    "time_zone": Annotated[str | None, option("--time-zone", "NAME", "Its time zone, such as Africa/Nairobi.")],
    "schedule": Annotated[
        str | None, option("--schedule", "s0|adaptive", "Fixed rules (s0), or by the rate of changes (adaptive).")
    ],
    "importance": Annotated[
        float | None, option("--importance", "N", "The weight of its changes in the adaptive schedule. Default 1.")
    ],
}


def used_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that were named, with the content of a hint's file."""
    named = used(columns)
    return named | ({"parser_hint": read_hint(named["parser_hint"])} if "parser_hint" in named else {})


def read_hint(text: str | None) -> str | None:
    """The hint itself, or the content of the file that is named with an @."""
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInput(f"--parser-hint: {text[1:]} cannot be read: {reason}") from None

"""The options of a CRAWL statement: names, types, bounds and defaults. One table; docs/sql.md is made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final, NamedTuple

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.statement import OptionValue
from comity.rules.suggestions import nearest

MOST_THREADS: Final = 32


@dataclass(frozen=True, slots=True)
class SqlCrawlOptions:
    """How a statement crawls. None: the connection's setting, or the default of every crawl."""

    user_agent: str | None = None
    threads: int | None = None
    timeout_seconds: float | None = None
    compress: bool = True
    default_crawl_delay: float = 1.0
    min_crawl_delay: float = 0.0
    max_crawl_delay: float = 60.0
    max_total_connections: int = 32
    max_parallel_per_domain: int = 8
    max_crawl_pages: int = 10_000
    max_crawl_depth: int = 10
    allow_subdomains: bool = False
    follow_links: bool = False
    respect_nofollow: bool = True
    follow_canonical: bool = True
    respect_robots_txt: bool = True
    accept_content_types: tuple[str, ...] = ()
    reject_content_types: tuple[str, ...] = ()
    max_response_bytes: int = 10 * 1024 * 1024
    max_retries: int = 5
    max_retry_backoff_seconds: int = 600
    batch_size: int = 100
    update_stale: bool = False
    sitemap_cache_hours: float = 24.0
    extract_js: bool = True
    log_skipped: bool = True


class OptionRule(NamedTuple):
    """What an option takes. `field` is the setting, if its name differs; `scale` converts to its unit."""

    read: Callable[[OptionValue], Any]
    takes: str
    meaning: str
    scale: Decimal | None = None
    field: str = ""


class _Unfit(Exception):
    """The value is not of the option's type, or out of its bounds."""


def read_options(options: Iterable[tuple[str, OptionValue]]) -> SqlCrawlOptions:
    """The options of a statement; `BadInput` names the option, what it takes and the nearest known name."""
    found: dict[str, Any] = {}
    used: dict[str, str] = {}
    for name, value in options:
        rule = OPTIONS.get(name)
        if rule is None:
            raise BadInput(name, f"the option is not known; {_remedy(name)}")
        target = rule.field or name
        if target in used:
            raise BadInput(name, f"the option means the same as {used[target]}; use one of them")
        used[target] = name
        try:
            read = rule.read(value)
        except _Unfit:
            raise BadInput(name, f"the option takes {rule.takes}") from None
        found[target] = float(Decimal(str(read)) * rule.scale) if rule.scale is not None else read
    chosen = SqlCrawlOptions(**found)
    if chosen.min_crawl_delay > chosen.max_crawl_delay:
        raise BadInput("min_crawl_delay", "it is longer than max_crawl_delay")
    return chosen


def _remedy(name: str) -> str:
    """What to write instead of an option that does not exist."""
    if name in _INSTEAD:
        return _INSTEAD[name]
    begun = next((option for option in OPTIONS if option.startswith(name)), None)
    meant = nearest(name, OPTIONS) or begun
    return f"did you mean {meant}?" if meant is not None else f"the options are {', '.join(OPTIONS)}"


def read_setting(name: str, value: OptionValue) -> Any:
    """The value of a setting of the connection, in the unit of its option; `BadInput` says what it takes."""
    rule = _SETTINGS.get(name)
    if rule is None:
        meant = nearest(name, _SETTINGS)
        remedy = f"did you mean {meant}?" if meant is not None else f"the settings are {', '.join(_SETTINGS)}"
        raise BadInput(name, f"the setting is not known; {remedy}")
    in_ms = name.endswith("_ms")
    try:
        if in_ms and isinstance(value, int | Decimal) and not isinstance(value, bool):
            value = Decimal(value) / 1000
        return rule.read(value)
    except _Unfit:
        takes = "a number of milliseconds from 100 to 3,600,000" if in_ms else rule.takes
        raise BadInput(name, f"the setting takes {takes}") from None


def _text(value: OptionValue) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise _Unfit
    return value.strip()


def _flag(value: OptionValue) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise _Unfit


def _whole(least: int, most: int) -> Callable[[OptionValue], int]:
    def read(value: OptionValue) -> int:
        if isinstance(value, Decimal) and value == value.to_integral_value():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _Unfit
        return value

    return read


def _number(least: float, most: float) -> Callable[[OptionValue], float]:
    def read(value: OptionValue) -> float:
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or not least <= value <= most:
            raise _Unfit
        return float(value)

    return read


def _texts(value: OptionValue) -> tuple[str, ...]:
    """A list, or one text with commas in it."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, tuple):
        return tuple(_text(part) for part in value)
    raise _Unfit


_BOOLEAN: Final = "true or false"
_DAY_S: Final = 86_400


def _bounded(least: int, most: int, meaning: str, field: str = "") -> OptionRule:
    return OptionRule(_whole(least, most), f"a whole number from {least:,} to {most:,}", meaning, field=field)


def _seconds(meaning: str) -> OptionRule:
    return OptionRule(_number(0, _DAY_S), f"a number of seconds from 0 to {_DAY_S:,}", meaning)


def _boolean(meaning: str) -> OptionRule:
    return OptionRule(_flag, _BOOLEAN, meaning)


OPTIONS: Final[dict[str, OptionRule]] = {
    "user_agent": OptionRule(_text, "a text", "the User-Agent of every request; robots.txt is read for its bot's name"),
    "threads": _bounded(
        1, MOST_THREADS, "an upper limit of max_total_connections; DuckDB's setting, if it was changed"
    ),
    "timeout_seconds": OptionRule(
        _number(0.1, 3600), "a number of seconds from 0.1 to 3,600", "the time limit of a request"
    ),
    "compress": _boolean("ask for compressed responses"),
    "default_crawl_delay": _seconds("delay between two requests to a host whose robots.txt sets none"),
    "crawl_delay_ms": OptionRule(
        _number(0, _DAY_S * 1000),
        "a number of milliseconds",
        "the same in milliseconds",
        Decimal("0.001"),
        "default_crawl_delay",
    ),
    "min_crawl_delay": _seconds("the shortest delay"),
    "max_crawl_delay": _seconds("the longest delay to which a slow host can raise it"),
    "max_total_connections": _bounded(1, 10_000, "requests at once, over all hosts"),
    "max_parallel_per_domain": _bounded(1, 1000, "requests at once to one host"),
    "max_crawl_pages": _bounded(0, 1_000_000_000, "pages in all; 0 means no limit"),
    "max_crawl_depth": _bounded(0, 1000, "how many links away from a URL of the query a page can be"),
    "allow_subdomains": _boolean("follow links to subdomains"),
    "follow_links": _boolean("follow links from page to page"),
    "respect_nofollow": _boolean("do not follow links with rel=nofollow"),
    "follow_canonical": _boolean("visit the page that rel=canonical points to"),
    "respect_robots_txt": _boolean("obey robots.txt; false is accepted for addresses in allowed networks"),
    "accept_content_types": OptionRule(
        _texts, "a list of types, such as text/html or text/*", "store only these bodies"
    ),
    "reject_content_types": OptionRule(_texts, "a list of types, such as image/*", "store none of these bodies"),
    "max_response_bytes": _bounded(1, 2**31 - 1, "the largest body, after decompression"),
    "max_retries": _bounded(0, 100, "how often a failed request is repeated"),
    "max_retry_backoff_seconds": _bounded(1, _DAY_S, "the longest wait before a retry"),
    "batch_size": _bounded(1, 100_000, "the fewest rows to write to the table at once; about once a second"),
    "update_stale": _boolean(
        "request pages again that changed according to their sitemap; those of which it says nothing, after a day"
    ),
    "sitemap_cache_hours": OptionRule(
        _number(0, 24 * 365),
        "a number of hours from 0 to 8,760",
        "how long a sitemap that a statement has read is used by it and by later ones; 0 means not at all",
    ),
    "extract_js": _boolean("allow js.… in EXTRACT"),
    "log_skipped": _boolean("store a row for each URL that was not requested, with the reason"),
}
"""Every option, with the other spellings that users of the extension know."""

_INSTEAD: Final = {
    "url_filter": "write WHERE url LIKE '…' after the table",
    "num_threads": "did you mean threads?",
}

_SETTINGS: Final[dict[str, OptionRule]] = {
    "crawler_user_agent": OPTIONS["user_agent"],
    "crawler_default_delay": OPTIONS["default_crawl_delay"],
    "crawler_timeout_ms": OPTIONS["timeout_seconds"],
    "crawler_max_response_bytes": OPTIONS["max_response_bytes"],
    "crawler_respect_robots": OPTIONS["respect_robots_txt"],
    "http_timeout": OPTIONS["timeout_seconds"],
    "http_keep_alive": _boolean("use a connection for several requests"),
}
SETTINGS: Final = tuple(_SETTINGS)
"""What `SET` takes beside DuckDB's own settings."""
DUCKDB_SETTINGS: Final = ("http_timeout", "http_keep_alive")
"""Settings that DuckDB has with its extension for HTTP; without it, the connection keeps them."""

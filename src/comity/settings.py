"""Settings: read once from the environment, checked against each other, and handed on as values.

Every variable is `COMITY_…`; the names that older deployments use are accepted beside it. An option on
the command line wins over the environment.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import PurePath
from typing import Any, Final, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from comity import __version__
from comity.model.errors import BadInput, Remedy, RemedyCode
from comity.model.page import FILES_WRITTEN
from comity.model.run import HOST_PAGES, HTML_TYPES
from comity.rules.canonical import web_address
from comity.rules.content_type import is_pattern
from comity.rules.expressions.printing import print_columns
from comity.rules.priority import PriorityWeights
from comity.rules.url_patterns import parse_patterns
from comity.rules.user_agent import agent_token
from comity.store.column_files import columns_in
from comity.telemetry.serving import read_address

Network = IPv4Network | IPv6Network
_PASSWORD_HASH: Final = re.compile(r"\$argon2id?\$[A-Za-z0-9+/=,$]{20,400}")
_TOKEN_HASH: Final = re.compile("[0-9a-f]{64}")
_ADMIN_PREFIX: Final = re.compile("(/[A-Za-z0-9][A-Za-z0-9_-]{0,30}){1,5}")
_OTHER_PATHS: Final = frozenset({"api", "docs", "healthz", "openapi", "readyz", "search"})
_REMEDIES: Final = {
    "COMITY_ADMIN_PASSWORD_HASH": Remedy(RemedyCode.MAKE_PASSWORD_HASH),
    "COMITY_ADMIN_TOKEN_HASH": Remedy(RemedyCode.MAKE_TOKEN),
}
_NUMBERS: Final = {"int_parsing": "a whole number", "int_from_float": "a whole number", "float_parsing": "a number"}
_BACKOFF: Final = ("MAX_RETRY_BACKOFF_SECONDS", "MAX_RETRY_BACKOFF_SECONDS")  # ours, and the name without COMITY_


def _set(default: Any, text: str, variable: str, *also: str, **checks: Any) -> Any:
    """A setting: its default, what it means, the variable that sets it, and other names that are accepted for it."""
    return Field(default, description=text, validation_alias=AliasChoices(f"COMITY_{variable}", *also), **checks)


def _flag(default: bool, text: str, variable: str) -> Any:
    """A flag that can be turned off alone, also under its name without COMITY_."""
    return _set(default, text, variable, variable)


def _environment() -> dict[str, str]:
    """What the environment sets, by the first name of each setting; the case of names does not matter."""
    environment = {name.lower(): value for name, value in os.environ.items()}
    found = {}
    for first, names in _names_of_variables():
        value = next((environment[name] for name in names if name in environment), None)
        if value is not None:
            found[first] = value
    return found


@cache
def _names_of_variables() -> list[tuple[str, list[str]]]:
    """Of each setting, the variable that sets it, and all its names in lower case."""
    aliases = [field.validation_alias for field in Settings.model_fields.values()]
    choices = [list(map(str, alias.choices)) for alias in aliases if isinstance(alias, AliasChoices)]
    return [(names[0], [name.lower() for name in names]) for names in choices]


class Settings(BaseModel):
    """Everything that can be set, with the default that the embedded crawl uses."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, populate_by_name=True, allow_inf_nan=False, validate_default=True
    )

    # Where things are kept.
    state: str = _set("comity-data/state.db", "The file of the embedded state.", "STATE")
    database_url: str | None = _set(None, "A shared state: postgresql://…; overrides the file.", "DATABASE_URL")
    redis_url: str | None = _set(
        None,
        "Redis or Valkey for the frontier of a shared state: redis://…; by default the frontier is in the state.",
        "REDIS_URL",
    )
    seeds_redis_url: str | None = _set(
        None, "The Redis to load seeds from; by default the one above.", "SEEDS_REDIS_URL"
    )
    pages: str = _set(
        "comity-data/pages",
        f"Where to store pages: a folder (Parquet parts), or a {FILES_WRITTEN} file.",
        "PAGES",
    )
    pages_compression: Literal["auto", "zstd", "gzip"] = _set(
        "auto",
        "How Parquet holds pages that came in gzip: zstd compresses them again, gzip leaves them as they came, which "
        "takes less time to store and more to read, and auto does so while the processor is busy.",
        "PAGES_COMPRESSION",
    )

    # Search over postings.
    meili_url: str | None = _set(
        None, "A Meilisearch server for search: http://…; by default the state is searched.", "MEILI_URL"
    )
    meili_key: str | None = _set(None, "Its API key.", "MEILI_KEY")
    meili_index: str = _set("comity_jobs", "The name of the index on that server.", "MEILI_INDEX")

    # Who we are.
    user_agent: str | None = _set(
        None,
        "The User-Agent header; by default ComityBot with the contact.",
        "USER_AGENT",
        "AIDJOBS_CRAWLER_UA",
        "USER_AGENT",
    )
    contact: str | None = _set(
        None,
        "An e-mail address or page where site owners can reach you; sent as the From header.",
        "CONTACT",
        "AIDJOBS_CONTACT_EMAIL",
    )

    # Politeness.
    robots_unreachable: Literal["disallow", "allow"] = _set(
        "disallow", "What to assume while robots.txt cannot be read: disallow or allow.", "ROBOTS_UNREACHABLE"
    )
    robots_ttl_hours: float = _set(12.0, "Hours before robots.txt is read again.", "ROBOTS_TTL_HOURS", gt=0, le=24)
    delay_s: float = _set(
        1.0, "Seconds between two requests to a host, which may ask for more.", "DELAY", ge=0, le=86_400
    )
    per_host: int = _set(1, "Requests to one host at once.", "PER_HOST", ge=1, le=64)
    concurrency: int = _set(16, "Requests in flight at once, to all hosts together.", "CONCURRENCY", ge=1, le=1024)
    processes: int = _set(1, "Processes that share the hosts of a crawl.", "PROCESSES", ge=1, le=64)
    allow_networks: tuple[Network, ...] = _set(
        (), "Private networks that may be crawled, separated by commas: 127.0.0.0/8,::1.", "ALLOW_NETWORKS"
    )
    follow_links: bool = _set(True, "Whether to follow links on pages.", "FOLLOW_LINKS")
    respect_nofollow: bool = _set(True, "Whether to respect rel=nofollow.", "RESPECT_NOFOLLOW")
    follow_canonical: bool = _set(
        True, "Whether to visit the canonical URL that a page declares (rel=canonical).", "FOLLOW_CANONICAL"
    )
    sitemaps: bool = _set(True, "Whether to read sitemaps.", "SITEMAPS")
    sitemap_hours: float = _set(24.0, "Hours before sitemaps are read again.", "SITEMAP_HOURS", ge=0, le=8760)
    max_sitemaps: int = _set(500, "Sitemap files to read per host.", "MAX_SITEMAPS", ge=1, le=100_000)
    strip_tracking: bool = _set(True, "Whether to remove tracking and session parameters from links.", "STRIP_TRACKING")
    tracking_parameters: tuple[str, ...] = _set(
        (),
        "More parameters to remove, separated by commas; ref_* matches every name that starts with ref_.",
        "TRACKING_PARAMETERS",
    )
    avoid_traps: bool = _set(True, "Whether to avoid endless spaces (calendars, sessions, filters).", "AVOID_TRAPS")
    max_path_segments: int = _set(
        25, "The most folders in the path of a link that is followed.", "MAX_PATH_SEGMENTS", ge=1, le=60
    )
    max_url_length: int = _set(
        2000, "The most characters in the path and query of a link that is followed.", "MAX_URL_LENGTH", ge=100, le=8000
    )
    max_domain_errors: int = _set(
        10, "Consecutive errors after which a host is no longer visited.", "MAX_DOMAIN_ERRORS", ge=1
    )
    collapse_subdomains: bool = _set(
        False, "Whether subdomains and their registrable domain count as one host.", "COLLAPSE_SUBDOMAINS"
    )

    # Which URLs.
    include: tuple[str, ...] = _set(
        (),
        "Crawl only URLs that match one of these patterns, separated by spaces: /docs/ *.html re:/20\\d\\d/.",
        "INCLUDE",
    )
    exclude: tuple[str, ...] = _set(
        (),
        "Leave out URLs that match one of these patterns, separated by spaces, even if COMITY_INCLUDE matches them.",
        "EXCLUDE",
    )
    under: tuple[str, ...] = _set(
        (), "Crawl these hosts only below these paths, separated by commas: example.com/docs/.", "UNDER"
    )
    subdomains: bool = _set(
        False,
        "Whether to follow links to subdomains of the hosts of a crawl; each subdomain is a separate host.",
        "SUBDOMAINS",
    )
    site_hosts: tuple[str, ...] = _set(
        (), "Hosts to crawl as one site, separated by commas: links between them are followed.", "SITE_HOSTS"
    )

    # Fetching.
    max_response_bytes: int = _set(
        10_000_000, "The largest body to accept, also after decompression.", "MAX_RESPONSE_BYTES", ge=1024
    )
    accept_types: tuple[str, ...] = _set(
        HTML_TYPES.accept,
        "Media types to accept, separated by commas: text/*,application/pdf.",
        "ACCEPT_TYPES",
    )
    reject_types: tuple[str, ...] = _set(
        (), "Media types to reject, even if the list above accepts them.", "REJECT_TYPES"
    )
    extract: str = _set(
        "",
        "Values to extract from every page, as expressions separated by commas: price DECIMAL FROM css '.price::text'; "
        "or a file of expressions: @shop.txt.",
        "EXTRACT",
    )
    images: bool = _set(False, "Whether to download and store the images of pages, from the same host.", "IMAGES")
    max_image_bytes: int = _set(10_000_000, "The largest image to store.", "MAX_IMAGE_BYTES", ge=1024)
    text: bool = _set(False, "Whether to store the main content of pages as text.", "TEXT")
    markdown: bool = _set(False, "Whether to store the main content of pages as Markdown.", "MARKDOWN")
    fetch_timeout_s: float = _set(60.0, "Time limit of a whole request, in seconds.", "FETCH_TIMEOUT", gt=0, le=3600)
    connect_timeout_s: float = _set(
        10.0, "Time limit for name lookup, connection and TLS, in seconds.", "CONNECT_TIMEOUT", gt=0, le=300
    )
    first_byte_timeout_s: float = _set(
        20.0,
        "Time limit from sending the request to the response header, in seconds.",
        "FIRST_BYTE_TIMEOUT",
        gt=0,
        le=3600,
    )
    idle_timeout_s: float = _set(
        20.0, "Time limit without a byte of the body, in seconds.", "IDLE_TIMEOUT", gt=0, le=3600
    )
    retries: int = _set(5, "Retries of a URL after 429, 5xx or a network failure.", "RETRIES", ge=0, le=100)
    max_retry_backoff_seconds: float = _set(
        600.0, "Longest wait between two attempts in seconds; the host may ask for more.", *_BACKOFF, ge=1, le=86_400
    )
    compress: bool = _set(True, "Whether to ask for compressed responses.", "COMPRESS")
    keep_alive: bool = _set(True, "Whether to use a connection for several requests.", "KEEP_ALIVE")
    max_delay_s: float = _set(60.0, "Seconds to which slow responses can raise a delay.", "MAX_DELAY", ge=0, le=86_400)
    max_redirects: int = _set(5, "Redirects to follow for one URL.", "MAX_REDIRECTS", ge=0, le=20)
    proxy: tuple[str, ...] = _set(
        (),
        "A proxy as scheme://host:port (http, https, socks5, socks5h), or several, separated by commas: each host "
        "always uses the same one. file:PATH reads a list.",
        "PROXY",
        repr=False,
    )
    proxy_user: str | None = _set(None, "The proxy's user name.", "PROXY_USER", repr=False)
    proxy_password: str | None = _set(None, "The proxy's password.", "PROXY_PASSWORD", repr=False)
    headers: tuple[str, ...] = _set(
        (),
        "Headers to send, one per line: Name: value for the seeds' hosts, or example.com: Name: value for one host. "
        "A value "
        "may be env:NAME or file:PATH.",
        "HEADERS",
        repr=False,
    )
    cookies: tuple[str, ...] = _set(
        (), "Cookies to send, one per line: name=value, or file:PATH for a Netscape cookie file.", "COOKIES", repr=False
    )
    auth: tuple[str, ...] = _set(
        (),
        "Credentials, one per line: basic USER env:PASSWORD, digest USER env:PASSWORD, or bearer env:TOKEN.",
        "AUTH",
        repr=False,
    )
    login: tuple[str, ...] = _set(
        (),
        "Login files, one per line; each describes a form to fill in before its host is crawled.",
        "LOGIN",
        repr=False,
    )
    request_origins: tuple[str, ...] = _set(
        (),
        "Origins that receive headers, cookies and credentials without a host, separated by commas. Default: the "
        "seeds of the crawl.",
        "REQUEST_ORIGINS",
    )
    cookie_jar: bool = _set(
        False,
        "Whether to send cookies back to the host that set them until its lease ends; otherwise only during one visit.",
        "COOKIE_JAR",
    )
    keep_cookies: bool = _set(
        False, "Whether to save these cookies in files for the next crawl of the host.", "KEEP_COOKIES"
    )
    cookie_folder: str | None = _set(
        None, "The folder for saved cookies. Default: the folder cookies beside the state file.", "COOKIE_FOLDER"
    )

    # Budgets; 0 means no limit.
    max_pages: int = _set(0, "Pages per run; 0 means no limit.", "MAX_PAGES", "MAX_PAGES", ge=0)
    pages_per_host: int = _set(
        HOST_PAGES, "Pages per run of one host, unless its row says otherwise.", "PAGES_PER_HOST", ge=0
    )
    max_depth: int = _set(50, "How many links to follow from a seed.", "MAX_DEPTH", ge=0)
    max_minutes: float = _set(0.0, "Minutes per run; 0 means no limit.", "MAX_MINUTES", "MAX_SCAN_TIME_MINUTES", ge=0)

    # Details of pages, and audits.
    keep_links: bool = _set(False, "Whether to store the links of each page, and what became of each.", "KEEP_LINKS")
    keep_headers: bool = _set(False, "Whether to store headers, redirects, times and sizes of answers.", "KEEP_HEADERS")
    keep_noindex: bool = _set(False, "Whether an audit stores the bodies of pages that say noindex.", "KEEP_NOINDEX")
    audits: str = _set("comity-data/audits", "The folder for audits; each has its own subfolder.", "AUDITS")

    # Leases.
    lease_minutes: float = _set(
        30.0, "Minutes that a lease on a host lasts without renewal.", "LEASE_MINUTES", gt=0, le=10_080
    )
    heartbeat_minutes: float = _set(10.0, "Minutes between renewals of leases.", "HEARTBEAT_MINUTES", gt=0, le=10_080)
    refresh_days: float = _set(14.0, "Days until a finished host is due again.", "REFRESH_DAYS", gt=0, le=3650)

    # Watching.
    metrics: str | None = _set(None, "Where workers serve /metrics, /healthz and /readyz: 127.0.0.1:9100.", "METRICS")
    log_format: Literal["auto", "json", "text"] = _set(
        "auto", "The format of worker logs: json, text, or auto (text on a terminal, json elsewhere).", "LOG_FORMAT"
    )
    log_level: Literal["debug", "info", "warning", "error"] = _set(
        "info", "The lowest level that is logged: debug, info, warning or error.", "LOG_LEVEL"
    )

    log_requests: str | None = _set(
        None,
        "A file to log every request to, one line of JSON each; - is stderr. Secrets in URLs are masked.",
        "LOG_REQUESTS",
    )

    # Sources.
    source_delay_s: float = _set(
        3.0, "Seconds between two requests to a host when reading its sources.", "SOURCE_DELAY", ge=0, le=86_400
    )
    source_retries: int = _set(
        2, "Retries of a source's page after 429, 5xx or a network failure.", "SOURCE_RETRIES", ge=0, le=100
    )
    sources_every_minutes: float = _set(
        5.0, "Minutes between checks for due sources.", "SOURCES_EVERY_MINUTES", gt=0, le=1440
    )
    sources_limit: int = _set(20, "Sources to run per check.", "SOURCES_LIMIT", ge=1, le=1000)
    sources_at_once: int = _set(3, "Sources to run at once.", "SOURCES_AT_ONCE", ge=1, le=64)
    source_visits_per_day: float = _set(
        0.0,
        "Runs per day shared by all adaptive sources; 0: as many as their base frequencies need.",
        "SOURCE_VISITS_PER_DAY",
        ge=0,
    )
    # Bots and other crawlers.
    queue_delay_s: float = _set(
        1.0,
        "Seconds between two requests of bots and of crawlers with grants to a host.",
        "QUEUE_DELAY",
        ge=0,
        le=86_400,
    )
    grant_ttl_s: float = _set(
        60.0, "Seconds after the end of its window until a grant without a report runs out.", "GRANT_TTL", gt=0, le=3600
    )
    queue_every_s: float = _set(
        10.0,
        "Seconds between checks for due crawl policies and for locks of jobs that ran out.",
        "QUEUE_EVERY",
        ge=0.1,
        le=3600,
    )
    bot_failures: int = _set(
        10, "Failed jobs in a row after which a bot is quarantined.", "BOT_FAILURES", ge=1, le=100_000
    )
    bot_pause_minutes: float = _set(
        30.0,
        "Minutes of a bot's first quarantine; each further one is twice as long.",
        "BOT_PAUSE_MINUTES",
        gt=0,
        le=1440,
    )
    site_failures: int = _set(
        10, "Failed jobs in a row after which no jobs of a host are handed out.", "SITE_FAILURES", ge=1, le=100_000
    )
    site_pause_minutes: float = _set(
        15.0,
        "Minutes until jobs of a host that failed are handed out again; each further time twice as long.",
        "SITE_PAUSE_MINUTES",
        gt=0,
        le=1440,
    )
    disable_scheduler: bool = _set(
        False,
        "Whether to disable the scheduler of sources.",
        "DISABLE_SCHEDULER",
        "DISABLE_SCHEDULER",
        "AIDJOBS_DISABLE_SCHEDULER",
    )

    # The web door.
    env: Literal["dev", "prod"] | None = _set(
        None,
        "dev lets this machine use the admin API without a login, and explains errors; prod does neither. Default: dev "
        "if the server listens on a loopback address, otherwise prod.",
        "ENV",
        "AIDJOBS_ENV",
    )
    admin_password_hash: str | None = _set(None, "Argon2id hash of the admin's password.", "ADMIN_PASSWORD_HASH")
    admin_token_hash: tuple[str, ...] = _set(
        (),
        "Hashes of admin tokens for programs, separated by commas.",
        "ADMIN_TOKEN_HASH",
    )
    admin_session_hours: float = _set(12.0, "Hours that a login lasts.", "ADMIN_SESSION_HOURS", gt=0, le=720)
    admin_prefix: str = _set(
        "/admin",
        "The path under which the console and the admin API are served: /admin or /comity/admin.",
        "ADMIN_PREFIX",
    )
    allowed_hosts: tuple[str, ...] = _set(
        (),
        "Host names that the server answers to, separated by commas. Default: any; without a login, only the names of "
        "this machine.",
        "ALLOWED_HOSTS",
    )
    trusted_proxies: tuple[Network, ...] = _set(
        (), "Proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted: 127.0.0.1.", "TRUSTED_PROXIES"
    )

    # The crawl service.
    max_raw_html_bytes: int = _set(
        5_000_000,
        "The largest page, in bytes of UTF-8, that a bot may submit with a result.",
        "MAX_RAW_HTML_BYTES",
        ge=1024,
        le=50_000_000,
    )

    # What can be turned off alone.
    enable_domain_tracking: bool = _flag(
        True, "Whether to store counters and statuses of hosts.", "ENABLE_DOMAIN_TRACKING"
    )
    enable_per_domain_budget: bool = _flag(
        True, "Whether max_pages_per_run of a host limits a run.", "ENABLE_PER_DOMAIN_BUDGET"
    )
    enable_smart_scheduling: bool = _flag(
        True, "Whether to crawl hosts by priority; otherwise in the order of the seeds.", "ENABLE_SMART_SCHEDULING"
    )
    enable_claim_protocol: bool = _flag(
        True,
        "Whether workers lease hosts from the table of hosts; otherwise they lease each seed by name.",
        "ENABLE_CLAIM_PROTOCOL",
    )
    enable_refresh_mode: bool = _set(
        False, "Whether finished hosts become due again.", "ENABLE_REFRESH_MODE", "ENABLE_REFRESH_MODE"
    )
    update_stale: bool = _set(
        False,
        "Whether a refresh only visits pages that are old, or that sitemaps list as changed or due.",
        "UPDATE_STALE",
    )

    # What a host's priority is made of.
    weight_seed_rank: float = _set(1000.0, "Priority: a seed of rank 1.", "WEIGHT_SEED_RANK")
    weight_image_yield: float = _set(1000.0, "Priority: one image stored per page.", "WEIGHT_IMAGE_YIELD")
    weight_page_remaining: float = _set(2.0, "Priority: one page found but not crawled.", "WEIGHT_PAGE_REMAINING")
    weight_error_rate: float = _set(500.0, "Priority: subtracted for one error per page.", "WEIGHT_ERROR_RATE")
    weight_day_waiting: float = _set(5.0, "Priority: one day since the last crawl.", "WEIGHT_DAY_WAITING")

    @field_validator("allow_networks", "trusted_proxies", mode="before")
    @classmethod
    def _read_networks(cls, value: Any) -> Any:
        """Networks come as a list or as one comma-separated text."""
        parts = value.split(",") if isinstance(value, str) else list(value)
        return tuple(ip_network(str(part).strip(), strict=False) for part in parts if str(part).strip())

    @field_validator("include", "exclude", mode="before")
    @classmethod
    def _read_patterns(cls, value: Any) -> Any:
        """Patterns come as a list, or as one text with spaces between them: a pattern may have commas, but no space."""
        return tuple(value.split()) if isinstance(value, str) else tuple(map(str, value))

    @field_validator("include", "exclude")
    @classmethod
    def _are_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        parse_patterns(value)
        return value

    @field_validator("under", "site_hosts")
    @classmethod
    def _are_on_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Canonical hosts, and paths on them."""
        read = []
        for text in value:
            try:
                address = web_address(text)
            except BadInput as error:
                raise ValueError(str(error)) from None
            read.append(address.host if address.path == "/" else f"{address.host}{address.path}")
        return tuple(dict.fromkeys(read))

    @field_validator("site_hosts")
    @classmethod
    def _are_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for host in value:
            if "/" in host:
                raise ValueError(f"{host} has a path; name a host such as example.com")
        return value

    @field_validator(
        "under",
        "site_hosts",
        "tracking_parameters",
        "accept_types",
        "reject_types",
        "admin_token_hash",
        "allowed_hosts",
        "proxy",
        "request_origins",
        mode="before",
    )
    @classmethod
    def _read_list(cls, value: Any) -> Any:
        """Names come as a list or as one comma-separated text."""
        parts = value.split(",") if isinstance(value, str) else list(value)
        return tuple(str(part).strip() for part in parts if str(part).strip())

    @field_validator("headers", "cookies", "auth", "login", mode="before")
    @classmethod
    def _read_lines(cls, value: Any) -> Any:
        """Options of requests come as a list or as one text with a line for each."""
        parts = value.splitlines() if isinstance(value, str) else list(value)
        return tuple(str(part).strip(" \t") for part in parts if str(part).strip())

    @field_validator("accept_types", "reject_types")
    @classmethod
    def _are_media_types(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse a pattern that can never match: it is a mistake, and this one would lose pages."""
        for pattern in value:
            if not is_pattern(pattern):
                raise ValueError(f"{pattern!r} is not a media type such as text/html, text/* or */*")
        return value

    @field_validator("extract")
    @classmethod
    def _are_columns(cls, value: str) -> str:
        """Read expressions, or a file of them, into one notation that child processes can read again."""
        return print_columns(columns_in(value.strip())) if value.strip() else ""

    @field_validator("pages", mode="before")
    @classmethod
    def _as_written(cls, value: Any) -> Any:
        """A path is kept as text, because its ending chooses the kind of store."""
        return str(value) if isinstance(value, PurePath) else value

    @field_validator("metrics")
    @classmethod
    def _can_be_listened_on(cls, value: str | None) -> str | None:
        """An address and a port; an empty value turns it off."""
        return str(read_address(value)) if value else None

    @field_validator("log_format", "log_level", mode="before")
    @classmethod
    def _in_small_letters(cls, value: Any) -> Any:
        """Accept levels in capitals, as other programs write them."""
        return value.lower() if isinstance(value, str) else value

    @field_validator("admin_password_hash")
    @classmethod
    def _is_a_password_hash(cls, value: str | None) -> str | None:
        """Refuse a password instead of its hash: it could never match. It is not repeated in the message."""
        if value is not None and not _PASSWORD_HASH.fullmatch(value):
            raise ValueError("must be an Argon2id hash ($argon2id$…)")
        return value

    @field_validator("admin_token_hash")
    @classmethod
    def _are_token_hashes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """The same for tokens."""
        if not all(_TOKEN_HASH.fullmatch(each) for each in value):
            raise ValueError("must be the hash of a token (64 hexadecimal digits)")
        return value

    @field_validator("admin_prefix")
    @classmethod
    def _is_a_path(cls, value: str) -> str:
        """Its own path: not one that the other routes of the server have."""
        value = "/" + value.strip("/")
        if not _ADMIN_PREFIX.fullmatch(value):
            raise ValueError("must be a path such as /admin, of letters, digits, dashes and underscores")
        if value.split("/")[1] in _OTHER_PATHS:
            raise ValueError(f"/{value.split('/')[1]} is a path of the server; choose another")
        return value

    @field_validator("contact", "meili_key")
    @classmethod
    def _can_be_sent(cls, value: str | None) -> str | None:
        """The contact and the key are sent in headers."""
        if value is not None and not (value.isascii() and value.isprintable()):
            raise ValueError("must be plain ASCII on one line")
        return value or None

    @field_validator("user_agent")
    @classmethod
    def _has_a_product_token(cls, value: str | None) -> str | None:
        """robots.txt is matched by the crawler's own product token, so there must be one."""
        if value is not None and (not value[:1].isalpha() or not value.isascii() or not value.isprintable()):
            raise ValueError("must begin with a product token such as ComityBot/1.0, in plain ASCII")
        if value is not None and not agent_token(value):
            raise ValueError("names only a browser; add your crawler's name, as in Mozilla/5.0 (compatible; MyBot/1.0)")
        return value

    @model_validator(mode="after")
    def _check_together(self) -> Settings:
        """A lease must outlive a fetch, and be renewed at least twice in its time."""
        if self.heartbeat_minutes > self.lease_minutes / 2:
            raise ValueError("COMITY_HEARTBEAT_MINUTES must be at most half of COMITY_LEASE_MINUTES")
        if self.fetch_timeout_s > self.lease_minutes * 60 / 2:
            raise ValueError("COMITY_FETCH_TIMEOUT must be at most half of COMITY_LEASE_MINUTES")
        for name in ("connect_timeout_s", "first_byte_timeout_s", "idle_timeout_s"):
            # A default gives way to a shorter whole; only another value can be a mistake.
            chosen = getattr(self, name)
            if chosen > self.fetch_timeout_s and chosen != type(self).model_fields[name].default:
                variable = name.removesuffix("_s").upper()
                raise ValueError(f"COMITY_{variable} must be at most COMITY_FETCH_TIMEOUT ({self.fetch_timeout_s:g})")
        return self

    @property
    def identity(self) -> str:
        """The User-Agent that is sent: the configured one, or our name with the operator's contact."""
        return self.user_agent or f"ComityBot/{__version__}" + (f" (+{self.contact})" if self.contact else "")

    @property
    def where(self) -> str:
        """The state: the shared server if one is named, the embedded file otherwise."""
        return self.database_url or self.state

    @property
    def weights(self) -> PriorityWeights:
        """The weights of a host's priority."""
        return PriorityWeights(
            seed_rank=self.weight_seed_rank,
            image_yield=self.weight_image_yield,
            page_remaining=self.weight_page_remaining,
            error_rate=self.weight_error_rate,
            day_waiting=self.weight_day_waiting,
        )

    @property
    def refresh_after(self) -> timedelta:
        """Days until a finished host is due again."""
        return timedelta(days=self.refresh_days)


def read_settings(**options: Any) -> Settings:
    """Read the environment, with the options that are set (None means not set) on top."""
    given: dict[str, Any] = _environment()
    for name, value in options.items():
        if value is not None:
            given.pop(_first_name(name), None)
            given[name] = value  # an error then names the option
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "settings"
        message = str(first["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
        message = message.partition(", unable to")[0]
        message = message.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
        if first["type"] in _NUMBERS:
            message = f"must be {_NUMBERS[first['type']]}, not {str(first['input'])[:40]!r}"
        raise BadInput(_written_as(where), message, remedy=_REMEDIES.get(where)) from None


def _first_name(setting: str) -> str:
    """The variable that sets a setting."""
    field = Settings.model_fields.get(setting)
    alias = field.validation_alias if field is not None else None
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else setting


def _written_as(variable: str) -> str:
    """The name by which the environment sets a variable: other names than our own are accepted for some."""
    for name, accepted in _names_of_variables():
        if name == variable and name not in os.environ:
            return next((each for each in os.environ if each.lower() in accepted), variable)
    return variable

"""Settings: read once from the environment, checked against each other, and handed on as values.

Every variable is `COMITY_…`; the names that older deployments use are accepted beside it. An option on
the command line wins over the environment.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from comity import __version__
from comity.model.errors import BadInput
from comity.rules.priority import PriorityWeights

Network = IPv4Network | IPv6Network


def _also(*names: str) -> AliasChoices:
    """The variable's own name first, then the aliases that are accepted."""
    return AliasChoices(*names)


class Settings(BaseSettings):
    """Everything that can be set, with the default that the embedded crawl uses."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    # Where things are kept.
    state: str = Field("comity-data/state.db", validation_alias=_also("COMITY_STATE"))
    database_url: str | None = Field(None, validation_alias=_also("COMITY_DATABASE_URL"))
    pages: Path = Field(Path("comity-data/pages"), validation_alias=_also("COMITY_PAGES"))

    # Who we are.
    user_agent: str | None = Field(
        None, validation_alias=_also("COMITY_USER_AGENT", "AIDJOBS_CRAWLER_UA", "USER_AGENT")
    )
    contact: str | None = Field(None, validation_alias=_also("COMITY_CONTACT", "AIDJOBS_CONTACT_EMAIL"))

    # Politeness.
    robots_unreachable: Literal["disallow", "allow"] = Field(
        "disallow", validation_alias=_also("COMITY_ROBOTS_UNREACHABLE")
    )
    robots_ttl_hours: float = Field(12.0, gt=0, le=24, validation_alias=_also("COMITY_ROBOTS_TTL_HOURS"))
    delay_s: float = Field(1.0, ge=0, validation_alias=_also("COMITY_DELAY"))
    per_host: int = Field(1, ge=1, le=64, validation_alias=_also("COMITY_PER_HOST"))
    concurrency: int = Field(16, ge=1, le=1024, validation_alias=_also("COMITY_CONCURRENCY"))
    allow_networks: Annotated[tuple[Network, ...], NoDecode] = Field(
        (), validation_alias=_also("COMITY_ALLOW_NETWORKS")
    )
    follow_links: bool = Field(True, validation_alias=_also("COMITY_FOLLOW_LINKS"))
    respect_nofollow: bool = Field(True, validation_alias=_also("COMITY_RESPECT_NOFOLLOW"))
    max_domain_errors: int = Field(10, ge=1, validation_alias=_also("COMITY_MAX_DOMAIN_ERRORS"))
    collapse_subdomains: bool = Field(False, validation_alias=_also("COMITY_COLLAPSE_SUBDOMAINS"))

    # Fetching.
    max_response_bytes: int = Field(10_000_000, ge=1024, validation_alias=_also("COMITY_MAX_RESPONSE_BYTES"))
    fetch_timeout_s: float = Field(60.0, gt=0, validation_alias=_also("COMITY_FETCH_TIMEOUT"))
    max_redirects: int = Field(5, ge=0, le=20, validation_alias=_also("COMITY_MAX_REDIRECTS"))
    proxy: str | None = Field(None, validation_alias=_also("COMITY_PROXY"))

    # Budgets; 0 means no limit.
    max_pages: int = Field(0, ge=0, validation_alias=_also("COMITY_MAX_PAGES", "MAX_PAGES"))
    max_depth: int = Field(50, ge=0, validation_alias=_also("COMITY_MAX_DEPTH"))
    max_minutes: float = Field(0.0, ge=0, validation_alias=_also("COMITY_MAX_MINUTES", "MAX_SCAN_TIME_MINUTES"))

    # Leases.
    lease_minutes: float = Field(30.0, gt=0, validation_alias=_also("COMITY_LEASE_MINUTES"))
    heartbeat_minutes: float = Field(10.0, gt=0, validation_alias=_also("COMITY_HEARTBEAT_MINUTES"))
    refresh_days: float = Field(14.0, gt=0, validation_alias=_also("COMITY_REFRESH_DAYS"))

    # What can be turned off alone.
    enable_domain_tracking: bool = Field(
        True, validation_alias=_also("COMITY_ENABLE_DOMAIN_TRACKING", "ENABLE_DOMAIN_TRACKING")
    )
    enable_per_domain_budget: bool = Field(
        True, validation_alias=_also("COMITY_ENABLE_PER_DOMAIN_BUDGET", "ENABLE_PER_DOMAIN_BUDGET")
    )
    enable_smart_scheduling: bool = Field(
        True, validation_alias=_also("COMITY_ENABLE_SMART_SCHEDULING", "ENABLE_SMART_SCHEDULING")
    )
    enable_claim_protocol: bool = Field(
        True, validation_alias=_also("COMITY_ENABLE_CLAIM_PROTOCOL", "ENABLE_CLAIM_PROTOCOL")
    )
    enable_refresh_mode: bool = Field(
        False, validation_alias=_also("COMITY_ENABLE_REFRESH_MODE", "ENABLE_REFRESH_MODE")
    )

    # What a host's priority is made of.
    weight_seed_rank: float = Field(1000.0, validation_alias=_also("COMITY_WEIGHT_SEED_RANK"))
    weight_image_yield: float = Field(1000.0, validation_alias=_also("COMITY_WEIGHT_IMAGE_YIELD"))
    weight_page_remaining: float = Field(2.0, validation_alias=_also("COMITY_WEIGHT_PAGE_REMAINING"))
    weight_error_rate: float = Field(500.0, validation_alias=_also("COMITY_WEIGHT_ERROR_RATE"))
    weight_day_waiting: float = Field(5.0, validation_alias=_also("COMITY_WEIGHT_DAY_WAITING"))

    @field_validator("allow_networks", mode="before")
    @classmethod
    def _read_networks(cls, value: Any) -> Any:
        """Networks come as a list or as one comma-separated text."""
        parts = value.split(",") if isinstance(value, str) else list(value)
        return tuple(ip_network(str(part).strip(), strict=False) for part in parts if str(part).strip())

    @field_validator("user_agent")
    @classmethod
    def _has_a_product_token(cls, value: str | None) -> str | None:
        """robots.txt is matched by the product token, so there must be one."""
        if value is not None and (not value[:1].isalpha() or not value.isascii() or not value.isprintable()):
            raise ValueError("must begin with a product token such as ComityBot/1.0, in plain ASCII")
        return value

    @model_validator(mode="after")
    def _check_together(self) -> Settings:
        """A lease must outlive a fetch, and be renewed at least twice in its time."""
        if self.heartbeat_minutes > self.lease_minutes / 2:
            raise ValueError("COMITY_HEARTBEAT_MINUTES must be at most half of COMITY_LEASE_MINUTES")
        if self.fetch_timeout_s > self.lease_minutes * 60 / 2:
            raise ValueError("COMITY_FETCH_TIMEOUT must be at most half of COMITY_LEASE_MINUTES")
        return self

    @property
    def identity(self) -> str:
        """The User-Agent that is sent: the configured one, or our name with the operator's contact."""
        return self.user_agent or f"ComityBot/{__version__} (+{self.contact or 'https://comity.example/bot'})"

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
        """When a host that is done is due again."""
        return timedelta(days=self.refresh_days)


def read_settings(**options: Any) -> Settings:
    """Read the environment, with options that somebody gave (None means not given) on top."""
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "settings"
        message = str(first["msg"]).removeprefix("Value error, ")
        raise BadInput(f"{where}: {message}") from None

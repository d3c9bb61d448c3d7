"""What the settings mean for each part: limits, profiles and terms, and what requests carry."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from comity.database.connection import file_of
from comity.model.fetch import ContentTypeRules, FetchLimits
from comity.model.gate import DOOR_PROFILES, Door, DoorProfile
from comity.model.queue import QUEUE_PROFILE
from comity.model.robots import RobotsUnreachable
from comity.model.run import CrawlScope
from comity.model.traps import TrapTerms
from comity.rules.queue.bot_limits import BreakerTerms
from comity.settings import Settings

if TYPE_CHECKING:  # slow to import, and most commands need none of them
    from comity.operate.request_options import RequestOptions
    from comity.rules.tracking import TrackingRules
    from comity.walk.robots.keeper import RobotsTerms


def fetch_limits(settings: Settings, most_bytes: int) -> FetchLimits:
    """The limits of one request; `most_bytes` is the largest body."""
    return FetchLimits(
        max_body_bytes=most_bytes,
        max_wire_bytes=most_bytes,
        connect_timeout_s=settings.connect_timeout_s,
        first_byte_timeout_s=settings.first_byte_timeout_s,
        idle_timeout_s=settings.idle_timeout_s,
        total_timeout_s=settings.fetch_timeout_s,
    )


def crawl_scope(settings: Settings) -> CrawlScope:
    """Which links a crawl follows."""
    return CrawlScope(
        max_depth=settings.max_depth,
        follow_links=settings.follow_links,
        respect_nofollow=settings.respect_nofollow,
        collapse_subdomains=settings.collapse_subdomains,
        follow_canonical=settings.follow_canonical,
        sitemaps=settings.sitemaps,
        content_types=ContentTypeRules(accept=settings.accept_types, reject=settings.reject_types),
    )


def crawl_profile(settings: Settings) -> DoorProfile:
    """The limits of crawls, with the operator's settings."""
    profile = profile_of(settings, Door.CRAWL, settings.delay_s, settings.retries)
    return replace(profile, max_concurrency=settings.per_host, max_adaptive_delay_s=settings.max_delay_s)


def audit_profile(settings: Settings) -> DoorProfile:
    """The limits of audits; a delay or a number of requests at once that was set replaces theirs."""
    profile = replace(
        DOOR_PROFILES[Door.AUDIT], retry_limit=settings.retries, max_retry_backoff_s=settings.max_retry_backoff_seconds
    )
    if "delay_s" in settings.model_fields_set:
        profile = replace(profile, interval_s=settings.delay_s, random_delay_s=None)
    return replace(profile, max_concurrency=settings.per_host if "per_host" in settings.model_fields_set else 2)


def profile_of(settings: Settings, door: Door, interval_s: float, retries: int) -> DoorProfile:
    """The limits of one kind of work, with its delay and retries."""
    profile, most_s = DOOR_PROFILES[door], settings.max_retry_backoff_seconds
    return replace(profile, interval_s=interval_s, retry_limit=retries, max_retry_backoff_s=most_s)


def robots_terms(settings: Settings, *, ignores_own: bool = False) -> RobotsTerms:
    """How robots.txt is read; `ignores_own`: not in networks of the user's own."""
    from comity.walk.robots.keeper import RobotsTerms

    return RobotsTerms(
        agent=settings.identity,
        ttl_s=settings.robots_ttl_hours * 3600,
        unreachable=RobotsUnreachable(settings.robots_unreachable),
        timeouts=fetch_limits(settings, settings.max_response_bytes),
        ignored_in=settings.allow_networks if ignores_own else (),
    )


def breaker_terms(settings: Settings) -> BreakerTerms:
    """When bots and sites that keep failing are paused."""
    return BreakerTerms(
        bot_failures=settings.bot_failures,
        bot_pause_s=settings.bot_pause_minutes * 60,
        site_failures=settings.site_failures,
        site_pause_s=settings.site_pause_minutes * 60,
    )


def queue_profile(settings: Settings) -> DoorProfile:
    """The limits of bots and other crawlers on one host, with the operator's settings."""
    most_s = settings.max_retry_backoff_seconds
    return replace(QUEUE_PROFILE, interval_s=settings.queue_delay_s, max_retry_backoff_s=most_s)


def tracking_rules(settings: Settings) -> TrackingRules | None:
    """Which parameters are removed from links; None for none."""
    from comity.rules.tracking import TRACKING_PARAMETERS, TrackingRules

    if not settings.strip_tracking:
        return None
    return TrackingRules(parameters=(*TRACKING_PARAMETERS, *settings.tracking_parameters))


def trap_terms(settings: Settings) -> TrapTerms | None:
    """How endless spaces are detected; None if they are not."""
    if not settings.avoid_traps:
        return None
    return TrapTerms(longest_target=settings.max_url_length, most_segments=settings.max_path_segments)


def read_request_options(settings: Settings, now: Callable[[], float]) -> RequestOptions:
    """What settings add to requests, with every secret that they refer to; `BadInput` if one cannot be read."""
    from comity.operate.request_options import OptionTexts, RequestOptions

    texts = OptionTexts(
        headers=settings.headers,
        cookies=settings.cookies,
        auth=settings.auth,
        proxy=settings.proxy,
        login=settings.login,
        origins=settings.request_origins,
        cookie_jar=settings.cookie_jar,
        keep_cookies=settings.keep_cookies,
        collapse_subdomains=settings.collapse_subdomains,
        proxy_login=(settings.proxy_user, settings.proxy_password),
    )
    return RequestOptions(texts, os.environ, now)


def cookie_folder(settings: Settings) -> Path | None:
    """Where cookies are kept between leases; None for a shared state without a setting."""
    if settings.cookie_folder:
        return Path(settings.cookie_folder)
    path = state_file(settings)
    return None if path is None else path.parent / "cookies"


def state_file(settings: Settings) -> Path | None:
    """The file of an embedded state, existing or not; None for a shared state."""
    return file_of(settings.where)

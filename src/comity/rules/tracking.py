"""Tracking and session parameters, which do not identify a page: takes a URL, returns it without them.

The rest of a query keeps its order and text. A question mark with nothing after it is dropped; a URL without a query
and without a session id in its path is returned unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from typing import Final
from urllib.parse import unquote

from comity.model.dataclass import dataclass

TRACKING_PARAMETERS: Final = (
    # Campaigns: "utm_*" stands for every name with this prefix.
    *("utm_*", "mtm_*", "matomo_*", "piwik_*", "hsa_*", "at_custom*"),
    *("pk_campaign", "pk_kwd", "pk_keyword", "pk_source", "pk_medium", "pk_content", "pk_cid"),
    *("ga_source", "ga_medium", "ga_term", "ga_content", "ga_campaign", "ga_place"),
    *("itm_source", "itm_medium", "itm_campaign", "itm_content", "itm_term"),
    *("mkt_tok", "wt_mc", "wt.mc_id", "s_cid", "s_kwcid", "ef_id", "sc_cid", "dm_i", "at_medium", "at_campaign"),
    # Clicks on advertisements and in search results.
    *("gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "srsltid", "_gl", "_ga", "_gac"),
    *("fbclid", "fb_action_ids", "fb_action_types", "fb_source", "fb_ref", "igshid", "igsh", "msclkid"),
    *("twclid", "ttclid", "li_fat_id", "epik", "yclid", "ymclid", "ysclid", "_openstat", "rb_clickid", "wickedid"),
    *("zanpid", "irclickid", "irgwc", "obclid", "tblci", "rdt_cid", "scclickid", "qclid", "cjevent"),
    # Newsletters.
    *("mc_cid", "mc_eid", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "vero_id", "vero_conv"),
    *("oly_anon_id", "oly_enc_id", "ml_subscriber", "ml_subscriber_hash", "_ke", "_kx", "ck_subscriber_id", "__s"),
    *("elqtrack", "elqtrackid", "elqcampaignid", "sfmc_id", "nr_email_referer", "bsft_*"),
    # How the visitor came to the page.
    *("ref_src", "__twitter_impression", "guccounter", "guce_referrer", "guce_referrer_sig"),
)
# Names that stand for a session whatever their value.
SESSION_PARAMETERS: Final = (
    *("jsessionid", "phpsessid", "aspsessionid*", "asp.net_sessionid", "cfid", "cftoken", "zenid", "oscsid"),
    *("sessionid", "session_id", "_session_id", "sess_id", "sesskey", "__viewstate"),
)
# Names that stand for a session only where the value looks like one: they are also used for other things.
OPAQUE_SESSION_PARAMETERS: Final = ("sid", "s", "session", "sess", "phpsid", "ssid", "xtcsid", "nlsid", "mpsid", "cuid")

# Letters and digits mixed, too long to be typed: hexadecimal digests and random identifiers.
_OPAQUE: Final = re.compile(r"(?=[^&]*[0-9])(?=[^&]*[a-zA-Z])(?:[0-9a-fA-F]{16,}|[0-9a-zA-Z]{24,}|[0-9a-zA-Z,_-]{26,})")
_PATH_SESSION: Final = re.compile(
    r";(?:jsessionid|phpsessid|sessionid|sid)=[^/?;]*"
    r"|/\((?:[A-Za-z]\([0-9A-Za-z_-]{20,}\))+\)(?=/)"  # ASP.NET without cookies
    r"|/\([0-9a-z]{24}\)(?=/)",
    re.IGNORECASE,
)
_DOT_SEGMENT: Final = re.compile(r"/(?:\.|%2e){1,2}(?=/|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TrackingRules:
    """Which parameters are dropped: names, ignoring case, with `*` at the end for any continuation."""

    parameters: tuple[str, ...] = TRACKING_PARAMETERS
    session_parameters: tuple[str, ...] = SESSION_PARAMETERS
    opaque_session_parameters: tuple[str, ...] = OPAQUE_SESSION_PARAMETERS
    strips_path_sessions: bool = True
    names: tuple[frozenset[str], tuple[str, ...], frozenset[str]] = field(init=False, repr=False, compare=False)
    """Names of parameters that are dropped, prefixes of such names, and names that depend on the value."""

    def __post_init__(self) -> None:
        names = [name.strip().lower() for name in (*self.parameters, *self.session_parameters)]
        whole = frozenset(name for name in names if name and name[-1] != "*")
        beginnings = tuple(name[:-1] for name in names if len(name) > 1 and name[-1] == "*")
        opaque = frozenset(name.strip().lower() for name in self.opaque_session_parameters)
        object.__setattr__(self, "names", (whole, beginnings, opaque))


DEFAULT_TRACKING: Final = TrackingRules()


def clean_query(url: str, rules: TrackingRules) -> str:
    """Drop what the rules name from an absolute URL or a path with its query; returns the same object if nothing is."""
    if rules.strips_path_sessions and (";" in url or "/(" in url):
        # A host may be written with a semicolon, too (`https://;sid=1/`): it stays.
        path_at = url.find("/", 8) % (len(url) + 1) if url.startswith(("http://", "https://")) else 0
        path, mark, query = url[path_at:].partition("?")
        stripped = _PATH_SESSION.sub("", path)
        # `/..;sid=1/a` names no parent folder, as `/../a` does: it stays.
        if stripped != path and _DOT_SEGMENT.search(stripped) is None:
            url = url[:path_at] + stripped + mark + query
    mark_at = url.find("?")
    if mark_at < 0:
        return url
    hash_at = url.find("#", mark_at)
    end = len(url) if hash_at < 0 else hash_at
    if mark_at + 1 == end:
        return url[:mark_at] + url[end:]
    parameters = url[mark_at + 1 : end].split("&")
    kept = _kept(parameters, rules)
    if len(kept) == len(parameters):
        return url
    # Nothing but separators is left of a query that was all tracking.
    query = "&".join(kept) if any(kept) else ""
    return f"{url[:mark_at]}{'?' if query else ''}{query}{url[end:]}"


def _kept(parameters: Iterable[str], rules: TrackingRules) -> list[str]:
    kept = []
    names, beginnings, opaque = rules.names
    for parameter in parameters:
        name = parameter.partition("=")[0].lower()
        if "%" in name:
            name = unquote(name).lower()
        if name in names or name.startswith(beginnings) or (name in opaque and _is_opaque(parameter)):
            continue
        kept.append(parameter)
    return kept


def _is_opaque(parameter: str) -> bool:
    return _OPAQUE.fullmatch(parameter.partition("=")[2]) is not None

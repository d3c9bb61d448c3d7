"""What the owner of a site can do if an audit could read none of its pages, in commands and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from comity.model.audit import AuditInfo
from comity.model.run import EndReason
from comity.rules.canonical import web_address

_ADVICE: Final[Mapping[str, str]] = {
    EndReason.DNS_FAILURE: "Check the spelling of {host}, and that its name resolves from here.",
    EndReason.CONNECTION_FAILURE: "Check that {host} answers from here, on the right port and by https or http.",
    EndReason.ADDRESS_REFUSED: "Check the address and its port; --allow-network CIDR allows a private network.",
    EndReason.SERVER_ERRORS: "Fix the server first, then run the same command.",
    EndReason.RATE_LIMITED: "Run the same command later, or let the server accept the User-Agent {agent}.",
    EndReason.ASKED_TO_WAIT: "Run the same command later: {host} asked for a pause.",
    EndReason.FORBIDDEN: "Let the server accept the User-Agent {agent}, or log in: --auth, --cookie or --login.",
    EndReason.LOGIN_REQUIRED: "Log in: --auth, --cookie or --login (docs/requests.md).",
    EndReason.LOGIN_FAILED: "Check the file of --login and its credentials (docs/requests.md).",
    EndReason.ROBOTS_DENIED: "`comity robots {site}` shows the line; allow {agent} in robots.txt to audit the site.",
    EndReason.ROBOTS_UNREACHABLE: "Fix robots.txt, or audit without it: --robots-unreachable allow.",
    EndReason.TAKEN_DOWN: "`comity takedown remove {host}` lifts the takedown.",
    EndReason.PROXY_FAILURE: "Check --proxy.",
    EndReason.HELD_ELSEWHERE: "Run the same command when the other crawl of {host} has ended.",
    EndReason.NOTHING_LEFT: "Check the address: {site} did not answer with a page.",
}


def read_nothing(info: AuditInfo) -> bool:
    """Whether an audit read no page of a site, or only the one that asks for a login."""
    return not info.pages or info.ended_by == EndReason.LOGIN_REQUIRED


def advice_for(info: AuditInfo) -> str | None:
    """What would let the audit read pages; None if it read some, or if nothing is known to help."""
    if not read_nothing(info):
        return None
    advice = _ADVICE.get(info.ended_by)
    if advice is None:
        return None
    agent = info.user_agent.partition("/")[0].partition(" ")[0] or "Comity"
    return advice.format(host=web_address(info.site).host, site=info.site, agent=agent)

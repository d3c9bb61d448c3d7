"""Where an item of a feed is found: its element and what it is relative to enter, an address leaves, or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from comity.extract.jobs.addresses import host_of, resolve, same_page
from comity.extract.jobs.xml_tree import XmlNode

_REGISTERED: Final = "http://www.iana.org/assignments/relation/"  # RFC 4287 §4.2.7.2
_ADDRESSES: Final = ("url", "applyurl", "joburl", "applicationurl")
# Better than nothing: the entry by itself, where it came from, and what it is about.
_LAST_RELATIONS: Final = ("self", "via", "related")
_BY_PROXY: Final = re.compile(r"(?:^|\.)(?:feedburner|feedproxy|feedblitz|pheedo|rss\.app)\b")


class FeedPage(NamedTuple):
    """A feed's own address, and the page that it is the feed of."""

    url: str
    home: str
    is_personio: bool = False


def link_of(item: XmlNode, base: str, page: FeedPage | None = None) -> str:
    """The address of an item: its link, else a guid that is one, else what the system is known to use."""
    for address in _candidates(item, base, page):
        if address and not (page and _leads_nowhere(address, page)):
            return address
    return ""


def identifier_of(item: XmlNode) -> str:
    """The name by which a feed knows an item again, which need not be an address."""
    node = item.first("guid", "id", "identifier")
    return node.own_text[:300] if node else ""


def _candidates(item: XmlNode, base: str, page: FeedPage | None) -> Iterator[str]:
    links = [(node, *_relation(node)) for node in item.all("link") if node.prefix != "media"]
    alternates = [(node, kind) for node, relation, kind in links if relation == "alternate"]
    # The item's own vocabulary first, then what is a page.
    alternates.sort(
        key=lambda pair: (pair[0].prefix not in (item.prefix, "atom"), bool(pair[1]) and "html" not in pair[1])
    )
    found = [address for node, _ in alternates if (address := _address(node, base))]
    if found and _BY_PROXY.search(host_of(found[0])):
        yield resolve(item.say("origlink"), base)
    yield from found
    for name in _ADDRESSES:
        yield resolve(item.say(name), base)
    guid = item.first("guid", "id")
    if guid is not None:
        said, permanent = guid.own_text, guid.attributes.get("ispermalink", "").strip().lower()
        is_address = said.startswith(("http://", "https://")) or (permanent == "true" and said.startswith("/"))
        # RSS 2.0: a guid is an address unless it says that it is none.
        yield resolve(said, base) if is_address and permanent != "false" else ""
    yield resolve(item.attributes.get("rdf:about", ""), base)
    if page and page.is_personio and (number := item.say("id")).isdecimal():
        yield resolve(f"/job/{number}", page.url)
    for wanted in _LAST_RELATIONS:
        yield from (_address(node, base) for node, relation, _ in links if relation == wanted)


def _relation(node: XmlNode) -> tuple[str, str]:
    """What a link is to its item, and the type of what it leads to."""
    said = node.attributes.get("rel", "alternate").strip().lower().removeprefix(_REGISTERED)
    words = said.split()
    return ("alternate" if not words or "alternate" in words else words[0]), node.attributes.get("type", "").lower()


def _address(node: XmlNode, base: str) -> str:
    base = resolve(node.attributes.get("xml:base", ""), base) or base
    said = node.attributes.get("href") or node.own_text
    while "&amp;" in said:  # escaped once too often; each turn makes it shorter
        said = said.replace("&amp;", "&")
    return resolve(said, base)


def _leads_nowhere(address: str, page: FeedPage) -> bool:
    """Whether an address is the feed's own, as "#" is."""
    return same_page(address, page.url) and not address.partition("#")[2]

"""Jobs in XML feeds and job files: RSS 0.9 to 2.0, RDF, Atom, Personio's file, lists of <job>.

Elements are matched by their name without prefix, because every job namespace chose another prefix for the same names.
Only a feed that calls itself news, or that carries recordings, is doubted, and only if none of its items mentions a
job: a list of jobs in an unknown language is still a list of jobs.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from comity.extract.jobs.addresses import host_of, path_of, resolve, same_page
from comity.extract.jobs.text import job, plain
from comity.extract.jobs.words.labels import labelled_fields
from comity.extract.jobs.words.pages import CAREERS, JOB_PATH
from comity.extract.jobs.words.titles import is_job_title
from comity.model.dataclass import dataclass
from comity.model.job import ExtractionMethod, JobFound

_REGISTERED: Final = "http://www.iana.org/assignments/relation/"  # RFC 4287 §4.2.7.2
_ADDRESSES: Final = ("url", "applyurl", "joburl", "applicationurl")
# Better than nothing: the entry by itself, where it came from, and what it is about.
_LAST_RELATIONS: Final = ("self", "via", "related")
_BY_PROXY: Final = re.compile(r"(?:^|\.)(?:feedburner|feedproxy|feedblitz|pheedo|rss\.app)\b")
_MAX_NODES: Final = 300_000
_MAX_DEPTH: Final = 64
_MARKUP: Final = re.compile(
    r"<(?:(!\[CDATA\[)|(!--)|([!?])|(/?)([A-Za-z_][\w.:-]*+)((?>[^<>\"']+|\"[^\"<]*\"|'[^'<]*'|[\"'])*+)>)"
)
_ATTRIBUTE: Final = re.compile(r"([\w:.-]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)')")
# With a semicolon only: "?a=1&copy=2" in a link that was not escaped names no sign.
_REFERENCE: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# Elements of HTML, as they stand inside titles and descriptions; text goes on without a break around the inline ones.
_INLINE_NAMES: Final = (
    "a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup "
    "tt u var wbr"
)
_BLOCK_NAMES: Final = (
    "address article blockquote body br center dd div dl dt figure h1 h2 h3 h4 h5 h6 hr html img li main ol p pre "
    "section table tbody td th thead tr ul"
)
_INLINE: Final = frozenset(_INLINE_NAMES.split())
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())
# Words of these vocabularies are about a picture, a recording or a comment, not about the item.
_ASIDE: Final = frozenset({"media", "itunes", "googleplay", "podcast", "thr", "slash", "wfw", "georss", "geo"})


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
    found = [address for node, _ in alternates if (address := _link_address(node, base))]
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
        yield from (_link_address(node, base) for node, relation, _ in links if relation == wanted)


def _relation(node: XmlNode) -> tuple[str, str]:
    """What a link is to its item, and the type of what it leads to."""
    said = node.attributes.get("rel", "alternate").strip().lower().removeprefix(_REGISTERED)
    words = said.split()
    return ("alternate" if not words or "alternate" in words else words[0]), node.attributes.get("type", "").lower()


def _link_address(node: XmlNode, base: str) -> str:
    base = resolve(node.attributes.get("xml:base", ""), base) or base
    said = node.attributes.get("href") or node.own_text
    while "&amp;" in said:  # escaped once too often; each turn makes it shorter
        said = said.replace("&amp;", "&")
    return resolve(said, base)


def _leads_nowhere(address: str, page: FeedPage) -> bool:
    """Whether an address is the feed's own, as "#" is."""
    return same_page(address, page.url) and not address.partition("#")[2]


_NEWS: Final = re.compile(
    r"\b(?:news|newsroom|newsfeed|blogs?|podcasts?|press|media releases?|stories|articles?|comments?|events?|episodes?|"
    r"magazine|insights|actualit[eé]s?|presse|communiqu[eé]s|noticias|prensa|novedades|nachrichten|aktuelles|neuigkeiten|"
    r"not[ií]cias|notizie|nieuws|nyheter|новости|新闻|新聞|ニュース|الأخبار|أخبار)\b",
    re.IGNORECASE,
)


def no_jobs_because(jobs: Sequence[JobFound], *, title: str, url: str, recordings: int) -> str:
    """Why a feed with items is not a feed of jobs; empty if it may be one."""
    if not jobs or any(is_job_title(found.title) or found.deadline_raw or found.employment_raw for found in jobs):
        return ""
    if recordings * 2 > len(jobs):
        return "the feed contains recordings, not jobs"
    address = f"{host_of(url)} {path_of(url)}".replace("-", " ").replace("_", " ").replace("/", " ").replace(".", " ")
    about = f"{title}\n{address}"
    if not _NEWS.search(about) or CAREERS.search(about) or any(JOB_PATH.search(path_of(j.apply_url)) for j in jobs):
        return ""
    return "the feed contains news, not jobs"


MOST_JOBS: Final = 5_000
_ITEMS: Final = frozenset({"item", "entry", "position", "job", "vacancy", "jobposting", "offer", "offre", "stelle"})
_FIELDS: Final = (
    (
        "org_name",
        ("company", "employer", "organisation", "organization", "hiringorganization", "companyname", "subcompany"),
    ),
    (
        "deadline_raw",
        (
            "deadline",
            "closingdate",
            "validthrough",
            "expires",
            "expirationdate",
            "expirydate",
            "expiry",
            "enddate",
            "applicationdeadline",
            "dateclosing",
            "closedate",
        ),
    ),
    ("posted_raw", ("pubdate", "published", "date", "dateposted", "createdat", "issued", "created", "updated")),
    ("employment_raw", ("employmenttype", "jobtype", "type", "contracttype", "schedule", "jobtypes")),
    ("workplace_raw", ("remotestatus", "remote", "workplacetype", "worklocationtype", "workplace")),
    ("level_raw", ("seniority", "experience", "level", "grade", "careerlevel")),
    ("reference", ("referencenumber", "reference", "requisitionid", "jobid", "refnumber")),
)
_TITLES: Final = ("title", "jobtitle", "name", "position")
_PLACES: Final = ("location", "joblocation", "office", "dutystation", "place", "regionname")
_ROOTS: Final = frozenset(
    {"rss", "feed", "rdf", "workzagjobs", "source", "jobs", "channel", "positions", "vacancies", "joblist", "jobfeed"}
)
# What a feed says of itself: with elements inside, and yet no item.
_ABOUT_THE_FEED: Final = frozenset(
    {"image", "textinput", "cloud", "author", "contributor", "owner", "skiphours", "skipdays", "items", "category"}
    | {"generator", "publisher", "license", "group", "managingeditor", "info"}
)
_LEAST_OF_AN_ITEM: Final = 2


class FeedRead(NamedTuple):
    """What a feed holds."""

    jobs: list[JobFound]
    items: int
    """How many items are there, whether or not they can be used."""
    item_name: str
    next_url: str
    is_whole: bool
    """Whether it goes on to its end; a server that falls over in the middle leaves that out."""
    title: str
    recordings: int
    """How many items bring sound or film."""


class _FeedItem(NamedTuple):
    node: XmlNode
    base: str
    language: str


def read_feed(root: XmlNode, *, url: str) -> FeedRead:
    """Take the jobs of a feed; of one that breaks off, those that came whole."""
    channel = root.first("channel") or root
    base = resolve(root.attributes.get("xml:base", ""), url) or url
    base = resolve(channel.attributes.get("xml:base", ""), base) or base
    page = FeedPage(url, link_of(channel, base) or url, is_personio=root.name == "workzagjobs")
    language = (channel.say("language") or root.attributes.get("xml:lang") or "")[:20]
    is_whole = root.is_closed or channel.is_closed
    items = [item for item in _items(root, url, language) if is_whole or item.node.is_closed]
    found: list[JobFound] = []
    for item in items:
        job_found = _job(item, page)
        if job_found is not None:
            found.append(job_found)
        if len(found) >= MOST_JOBS:
            break
    name, count = (items[0].node.name, len(items)) if items else _unknown_items(channel)
    recordings = sum(any(map(_is_recording, item.node.children)) for item in items)
    return FeedRead(found, count, name, _next(root, channel, base), is_whole, plain(channel.say("title")), recordings)


def is_feed(root: XmlNode) -> bool:
    """Whether the root is one that holds items, even none of them."""
    return root.name in _ROOTS


def _items(root: XmlNode, url: str, language: str) -> Iterator[_FeedItem]:
    """Elements that stand for a job, with what their addresses are relative to; the outermost where they nest."""
    waiting = [_FeedItem(root, url, language)]
    count = 0
    while waiting and count < MOST_JOBS * 2:
        node, base, spoken = waiting.pop()
        # XML Base §4: each one is relative to that of the element around it.
        base = resolve(node.attributes.get("xml:base", ""), base) or base
        spoken = node.attributes.get("xml:lang", spoken)[:20]
        if node.name in _ITEMS and node is not root and _is_outermost(node):
            count += 1
            yield _FeedItem(node, base, spoken)
        else:
            waiting.extend(_FeedItem(child, base, spoken) for child in reversed(node.children))


def _is_outermost(node: XmlNode) -> bool:
    """Whether an element is an item itself, and not one around others."""
    if node.first(*_TITLES):
        return True
    return bool(node.children) and not any(child.name in _ITEMS and child.children for child in node.children)


def _unknown_items(channel: XmlNode) -> tuple[str, int]:
    """Elements that are built like items, but have no name that we know."""
    names: dict[str, int] = {}
    for child in channel.children:
        if len(child.children) >= _LEAST_OF_AN_ITEM and child.name not in _ABOUT_THE_FEED:
            names[child.name] = names.get(child.name, 0) + 1
    return max(names.items(), key=lambda pair: pair[1], default=("", 0))


def _is_recording(node: XmlNode) -> bool:
    return node.name == "enclosure" and node.attributes.get("type", "").startswith(("audio/", "video/"))


def _job(item: _FeedItem, page: FeedPage) -> JobFound | None:
    node = item.node
    fields = {name: node.say(*elements) for name, elements in _FIELDS}
    description = node.say("description", "summary", "encoded", "content", "body")
    if not description:
        blocks = node.first("jobdescriptions")
        description = blocks.say("jobdescription") if blocks else ""
    for name, value in labelled_fields(plain(description, 4000)).items():
        # Feeds of ordinary sites write place and deadline into the text.
        if not fields.get(name) and name in ("deadline_raw", "location_raw"):
            fields[name] = value
    if place := _place(node):
        fields["location_raw"] = place
    fields["country_raw"] = node.say("country")
    address = link_of(node, item.base, page)
    # An identifier that the feed invented is not a reference of the employer; without a link it is all there is.
    identifier = node.say("id") if address else identifier_of(node)
    if not fields["reference"] and not (address and ":" in identifier):
        fields["reference"] = identifier.rstrip("/").replace("/", ":").rpartition(":")[2]
    return job(
        title=node.say(*_TITLES),
        apply_url=address or page.home,
        found_by=ExtractionMethod.FEED,
        description_snippet=description,
        language=item.language,
        **fields,
    )


def _place(item: XmlNode) -> str:
    """Where the job is: one element, several, or city and country apart."""
    places = [_address(node) for node in item.all(*_PLACES)]
    for group in item.all("locations", "additionaloffices", "offices"):
        places += [_address(node) for node in group.children]
    said = list(dict.fromkeys(filter(None, map(plain, places))))
    if said:
        return "; ".join(said[:20])
    parts = [plain(item.say(name)) for name in ("city", "state", "region", "country")]
    return ", ".join(dict.fromkeys(filter(None, parts)))


def _address(node: XmlNode) -> str:
    if not node.children or node.own_text:
        return node.own_text
    named = node.say("name", "title", "formatted")
    parts = [
        node.say(name) for name in ("city", "addresslocality", "region", "addressregion", "country", "addresscountry")
    ]
    joined = ", ".join(dict.fromkeys(filter(None, parts)))
    return joined or named or node.text


def _next(root: XmlNode, channel: XmlNode, base: str) -> str:
    """The next page of a feed (RFC 5005 §3)."""
    for node in (*root.all("link"), *channel.all("link")):
        if node.attributes.get("rel") == "next" and (href := node.attributes.get("href")):
            return resolve(href, base)
    return ""


@dataclass(slots=True)
class XmlNode:
    """One element: its name (lower case, no prefix or separators), its prefix, attributes and content in order."""

    name: str
    prefix: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[XmlNode] = field(default_factory=list)
    content: list[str | XmlNode] = field(default_factory=list)
    """Texts and children as they follow each other."""
    is_closed: bool = False
    """Whether it came to its end before the document did."""

    @property
    def text(self) -> str:
        """Everything that is written in markup of HTML; else the element's own text, or all below where it has none."""
        if not self.children:
            return "".join(part for part in self.content if isinstance(part, str))
        if all(child.name in _INLINE or child.name in _BLOCKS for child in self.children):
            return "".join(self._pieces())
        own = self.own_text
        return own or " ".join(filter(None, (node.own_text for node in self.walk())))

    @property
    def own_text(self) -> str:
        """Text that is directly in the element."""
        return "".join(part for part in self.content if isinstance(part, str)).strip()

    def all(self, *names: str) -> Iterator[XmlNode]:
        """Children of these names."""
        return (child for child in self.children if child.name in names)

    def first(self, *names: str) -> XmlNode | None:
        """The first child of the first of these names that is there."""
        return next(self._nearest(names), None)

    def say(self, *names: str) -> str:
        """The text of the first of these children that has any."""
        return next((text for child in self._nearest(names) if (text := _bare_text(child.text))), "")

    def walk(self) -> Iterator[XmlNode]:
        """The element and everything below it, in document order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def _nearest(self, names: tuple[str, ...]) -> Iterator[XmlNode]:
        """Children by name: of the element's own vocabulary first, of one about pictures and the like last."""
        named = [child for child in self.children if child.name in names]
        if len(named) > 1:
            named.sort(key=lambda child: (child.prefix in _ASIDE, names.index(child.name), child.prefix != self.prefix))
        return iter(named)

    def _pieces(self) -> Iterator[str]:
        """All text in document order, with blanks where a browser would break the line."""
        waiting: list[str | XmlNode] = list(reversed(self.content))
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                yield part
            elif part.name in _INLINE:
                waiting.extend(reversed(part.content))
            else:
                waiting.append(" ")
                waiting.extend(reversed(part.content))
                yield " "


def read_xml(text: str) -> XmlNode:
    """Read a document; the root is the outermost element, or an empty one. Warnings of a server may stand before it.

    However broken the markup is, the result is a tree of small nodes. Only numeric entities and the named ones of HTML
    are expanded, wrong end tags close what they can, and depth and number of nodes are bounded. Every pattern stops at
    the next `<`, so the time is linear.
    """
    top = XmlNode("")
    path = [top]
    end, room = 0, _MAX_NODES
    while room:
        found = _MARKUP.search(text, end)
        if found is None:
            break
        if found.start() > end and len(path) > 1:
            path[-1].content.append(_unescaped(text[end : found.start()]))
        end = _special_end(text, found, path[-1])
        if end:
            continue
        end = found.end()
        closing, name, attributes = found[4], found[5], found[6]
        if closing:
            _close(path, name)
            continue
        room -= 1
        if len(path) <= _MAX_DEPTH:
            prefix, _, local = name.rpartition(":")
            node = XmlNode(_bare(local), prefix.lower(), _attributes(attributes) if "=" in attributes else {})
            path[-1].children.append(node)
            path[-1].content.append(node)
            if attributes.rstrip().endswith("/"):
                node.is_closed = True
            else:
                path.append(node)
    first = top.children[0] if top.children else top
    return next((child for child in top.children if child.children), first)


def _special_end(text: str, found: re.Match[str], node: XmlNode) -> int:
    """Pass over a comment, declaration or CDATA section; 0 for an element."""
    if found[1]:
        close = text.find("]]>", found.end())
        close = close if close >= 0 else len(text)
        node.content.append(text[found.end() : close])
        return min(close + 3, len(text)) or 1
    if found[2]:
        close = text.find("-->", found.end())
        return close + 3 if close >= 0 else len(text)
    if found[3]:
        close = text.find(">", found.end())
        return close + 1 if close >= 0 else len(text)
    return 0


def _close(path: list[XmlNode], name: str) -> None:
    """Close the nearest open element of a name; an end tag without a start is passed over."""
    local = _bare(name.rpartition(":")[2])
    for depth in range(len(path) - 1, 0, -1):
        if path[depth].name == local:
            for node in path[depth:]:
                node.is_closed = True
            del path[depth:]
            return


def _bare(name: str) -> str:
    """A name in lower case without separators: `expiration_date` and `expirationDate` are one word."""
    return name.lower().replace("_", "").replace("-", "")


def _attributes(text: str) -> dict[str, str]:
    return {
        found[1].lower(): _unescaped(found[2] if found[2] is not None else found[3])
        for found in _ATTRIBUTE.finditer(text)
    }


def _bare_text(text: str) -> str:
    """Text without the marks of a CDATA section that was escaped, or stood in another one."""
    if "<![CDATA[" in text:
        text = text.replace("<![CDATA[", "").replace("]]>", "").rstrip().removesuffix("]]")
    return text.strip()


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text

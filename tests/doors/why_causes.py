"""Every cause that `comity why` is to name, and the table of them in docs/why.md.

A cause is planted by a function of `why_planting`, which asks `why` at once: a later one may change the state.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.walk.crawling import Place
from tests.walk.site import Site, Web

PAGE = Path(__file__).resolve().parents[2] / "docs" / "why.md"
BEGIN, END = "<!-- causes: begin -->", "<!-- causes: end -->"


class Cause(NamedTuple):
    """What happened to a URL, and how the first line names it: a code, and a pattern that it matches."""

    what: str
    code: str
    says: str


CAUSES: dict[str, Cause] = {
    # Visited.
    "fetched": Cause("a page that was fetched", "fetched", r"^It was fetched at .* \(HTTP 200, text/html\)"),
    "seed": Cause("a seed that was fetched", "fetched", r"^It was fetched at .*HTTP 200"),
    "fragment": Cause("a URL with a fragment, which is never sent", "fetched", r"^It was fetched at .*HTTP 200"),
    "not_modified": Cause("a page that had not changed", "not_modified", r"^It has not changed .*304"),
    "nofollow_page_itself": Cause(
        "a page that says nofollow", "fetched", r"fetched .*links were not followed.*nofollow"
    ),
    "noindex_meta": Cause("noindex in a meta element", "noindex", r"^It asks not to be indexed \(meta robots: noindex"),
    "noindex_header": Cause("noindex in X-Robots-Tag", "noindex", r"^It asks not to be indexed \(X-Robots-Tag"),
    "unavailable_after": Cause("unavailable_after in the past", "noindex", r"^It asks not to be indexed .*unavailable"),
    "login_wall": Cause("a login form in place of the page", "login_wall", r"^It requires a login"),
    "login_redirect": Cause("a redirect to a login page", "login_wall", r"^It requires a login"),
    "canonical": Cause(
        "a page with its canonical address elsewhere", "canonical_elsewhere", r"^It names \S+/page as its"
    ),
    "canonical_off_site": Cause("the same, on another host", "canonical_elsewhere", r"^It names \S+/original as its"),
    "meta_refresh": Cause("a page reached by a meta refresh", "fetched", r"^It was fetched at"),
    # Answers.
    "http_404": Cause("404", "http_404", r"^There is no such page: the server answered 404"),
    "http_410": Cause("410", "http_410", r"^The page is gone: the server answered 410"),
    "http_401": Cause("401", "http_401", r"^It needs a login: the server answered 401"),
    "http_403": Cause("403", "http_403", r"^The server refused it: it answered 403"),
    "http_418": Cause("another 4xx", "http_418", r"^The server answered 418"),
    "http_500_again": Cause("5xx, to be tried again", "http_500", r"answered 500.*; try \d of 6, it is .*tried again"),
    "http_500": Cause(
        "5xx, given up", "http_500", r"^The server failed: it answered 500.*; it was tried \d times and then given up"
    ),
    "http_503": Cause(
        "503 without Retry-After, given up", "http_503", r"^The server failed: it answered 503.*given up"
    ),
    "http_429": Cause("429", "http_429", r"^The host is rate-limited: the server answered 429.*tried again"),
    "host_blocked": Cause("a block by Retry-After", "host_blocked", r"^Its host asked Comity to wait until"),
    # Bodies that are not taken.
    "wrong_type": Cause("a content type that is not wanted", "wrong_type", r"^Its content type is not accepted .*pdf"),
    "too_large": Cause("an answer that is too large", "too_large", r"^The response is larger than the limit"),
    "too_large_policy": Cause(
        "larger than the host's policy", "too_large", r"^The response is larger than the limit .*1024"
    ),
    "bomb": Cause("a body that inflates without end", "decompression_bomb", r"^The body expands to far more"),
    "bad_encoding": Cause("a body that is not what its coding says", "bad_encoding", r"^The body does not match"),
    "header_flood": Cause("a header that is too long", "header_flood", r"^The response header is too long"),
    # The way there.
    "reset_again": Cause("a connection cut off, to be tried again", "reset", r"^The server closed.*try \d of 6"),
    "reset": Cause("a connection cut off, given up", "reset", r"^The server closed the connection.*given up"),
    "protocol_error": Cause("an answer that is not HTTP", "protocol_error", r"^The server broke the HTTP protocol"),
    "slow": Cause("an answer that does not come", "total_timeout", r"^The response took longer than"),
    "certificate": Cause("a certificate that is not valid", "certificate_refused", r"^The TLS certificate of its host"),
    "tls": Cause("a server that speaks no TLS", "tls_failure", r"^The TLS handshake with its host failed"),
    "refused": Cause(
        "a connection that is refused", "connect_failure", r"^Its host refused the connection, or cannot be"
    ),
    "dns": Cause("a name that does not resolve", "dns_failure", r"^Its host name cannot be resolved"),
    "private": Cause("a private address", "address_refused", r"^Its host has an address that is not public"),
    # Redirects.
    "redirect": Cause("a redirect on the same host", "redirected", r"^It redirects to \S+/moved, which was fetched"),
    "redirect_target": Cause("the target of that redirect", "redirect_target", r"^It was reached by a redirect from"),
    "redirect_off_site": Cause("a redirect to another host", "redirected_off_site", r"^It redirects off-site, to"),
    "redirect_off_site_target": Cause(
        "the target there", "redirect_target", r"^It was reached by a redirect from \S+/off"
    ),
    "redirect_loop": Cause("redirects in a circle", "too_many_redirects", r"^It redirects too often, or in a circle"),
    "redirect_private": Cause(
        "a redirect to a private address",
        "address_refused",
        r"^It redirects to a host whose address is not public.*127.0.0.2",
    ),
    "redirect_private_target": Cause("the private target", "address_refused", r"^Its host has an address .*not public"),
    "redirect_robots": Cause(
        "a redirect to what robots.txt forbids", "robots_denied", r"^It redirects to a page.*forbids"
    ),
    "redirect_takedown": Cause("a redirect to a takedown", "taken_down", r"^It redirects to a page that is taken down"),
    "redirect_mailto": Cause("a redirect to mailto:", "bad_redirect", r"^It redirects to something that is not a web"),
    "redirect_busy": Cause(
        "a redirect to a host held elsewhere", "host_busy", r"^It was postponed.*held by another worker"
    ),
    # Seen and left.
    "left_out_exclude": Cause(
        "a link that an exclude pattern matches",
        "left_out",
        r"^It was left out at .*: the exclude pattern /private/ matches it",
    ),
    "left_out_include": Cause(
        "a link that no include pattern matches",
        "left_out",
        r"^It was left out at .*: no include pattern matches it \(/docs/, /go\)",
    ),
    "left_out_under": Cause(
        "a link outside of the seed's path, with --under",
        "left_out",
        r"^It was left out at .*: it is not below .*/docs/",
    ),
    "left_out_policy": Cause(
        "a link that a pattern of the policy excludes",
        "left_out",
        r"^It was left out at .*: the exclude pattern \*\.pdf of its host's policy matches it",
    ),
    "left_out_redirect": Cause(
        "a redirect to what is left out", "left_out", r"^It redirects to a page that a pattern leaves out .*/private/y"
    ),
    "nofollow_link": Cause("a link with rel=nofollow", "nofollow", r"^The only link to it says rel=nofollow"),
    "nofollow_meta": Cause(
        "behind a page that says nofollow", "nofollow", r"^The page that links to it asks.*nofollow"
    ),
    "nofollow_header": Cause("behind X-Robots-Tag: nofollow", "nofollow", r"^The page that links to it asks.*nofollow"),
    "other_host": Cause("a link to another host", "other_host", r"^It is out of scope: on elsewhere.example"),
    "other_port": Cause("a link to another port", "other_host", r"^It is out of scope: on 127.0.0.1:"),
    "canonical_target": Cause("a canonical address on another host", "other_host", r"^It is out of scope.*canonical"),
    "sitemap_other_host": Cause("a sitemap's entry on another host", "other_host", r"^It is out of scope.*sitemap"),
    "image_other_host": Cause("an image on another host", "other_host", r"^It is out of scope.*an image on"),
    "too_deep": Cause("a link beyond --max-depth", "too_deep", r"(?i)^It (is too deep|lies \d+ steps).*--max-depth"),
    "links_off": Cause("a link under --no-follow-links", "links_off", r"^Links are not followed"),
    "canonical_off": Cause(
        "under --no-follow-canonical", "canonical_off", r"^It is the canonical address.*not followed"
    ),
    "robots_link": Cause(
        "a link that robots.txt forbids", "robots_denied", r"^robots.txt forbids it: line 2: Disallow"
    ),
    "robots_sitemap": Cause("a sitemap's entry that robots.txt forbids", "robots_denied", r"^robots.txt forbids it"),
    "robots_then": Cause(
        "forbidden once, allowed now", "robots_denied_then", r"^robots.txt forbade it at .*allows it now"
    ),
    "trap": Cause(
        "a page of an endless space", "trap", r"^It looks like part of an endless space \(repeated_segments\)"
    ),
    "taken_down": Cause("a takedown of the URL", "taken_down", r"^It is taken down by the entry \S+/a\.$"),
    "taken_down_below": Cause("a takedown of a folder", "taken_down", r"^It is taken down by the entry \S+/folder"),
    "taken_down_host": Cause("a takedown of the host", "taken_down", r"^It is taken down by the entry \S+:\d+\.$"),
    "was_taken_down": Cause("a takedown lifted since", "was_taken_down", r"^It was taken down .*no longer in force"),
    "folded": Cause(
        "a tracking parameter", "folded", r"^It is treated as \S+/a: `utm_source` does not identify a page"
    ),
    "folded_session": Cause("a session in the path", "folded", r"^It is treated as \S+/a: a session id"),
    "folded_query": Cause("an empty query", "folded", r"^It is treated as \S+/a: an empty query does not"),
    "other_spelling": Cause(
        "another spelling of a known URL", "other_spelling", r"^No crawl has found it.*/a is known"
    ),
    # Sitemaps, images, robots.txt.
    "sitemap_only": Cause("a page that only a sitemap names", "fetched", r"^It was fetched at"),
    "sitemap": Cause("a sitemap", "sitemap_read", r"^It is a sitemap: it was read at .* lists 5 entries"),
    "sitemap_robots": Cause(
        "a sitemap that robots.txt forbids", "sitemap_refused", r"^It is a sitemap that was not.*robots"
    ),
    "sitemap_missing": Cause("a sitemap that is not there", "sitemap_missing", r"^It was requested as a sitemap.*404"),
    "robots_file": Cause("robots.txt itself", "robots_file", r"^robots.txt is read before any page; it was last read"),
    "image": Cause("an image", "image", r"^It is an image; it was fetched at .*HTTP 200"),
    "image_missing": Cause("an image that is not there", "image_failed", r"^It is an image and was not stored: .*404"),
    "images_off": Cause("an image, without --images", "images_off", r"^It looks like an image.*only with --images"),
    "asset": Cause("a style sheet", "asset", r"^It looks like a script, style or font"),
    # The host.
    "cooldown": Cause(
        "a cooldown, of a URL that answered 403", "cooldown", r"^Its host is blocked since.*403.*tried again"
    ),
    "cooldown_unseen": Cause(
        "a cooldown, of a URL never found", "cooldown", r"^Its host is blocked since .*tried again"
    ),
    "cooldown_fetched": Cause(
        "a cooldown, of a page fetched before", "cooldown", r"^Its host is blocked.*It was fetched"
    ),
    "permanent_block": Cause(
        "a permanent block", "permanent_block", r"^Its host is blocked.*not retried automatically"
    ),
    "robots_all": Cause(
        "robots.txt that forbids the whole site", "robots_denied", r"^robots.txt forbids it: line 2.*blocked"
    ),
    "robots_unreadable": Cause("robots.txt that answers 500", "robots_unreadable", r"^robots.txt of its origin cannot"),
    "lease": Cause(
        "a queued URL, its host held elsewhere", "lease_held", r"^worker:elsewhere:0:0 holds the lease of its"
    ),
    "lease_unseen": Cause("the same, never found", "lease_held", r"^worker:elsewhere:0:0 holds the lease of its host"),
    "crawl_delay": Cause("a long Crawl-delay", "crawl_delay", r"^It waits for its turn: robots.txt asks for 3000 s"),
    "budget": Cause("a page budget that was spent", "budget", r"^The last run of its host left it.*\b2 pages"),
    "queued": Cause("a queued URL", "queued", r"^It is queued, 1 step from a seed"),
    "queued_again": Cause("queued again by a reset", "queued", r"^It is queued, .* visits it once more"),
    "not_due": Cause("a host that is not due", "not_due", r"^Its host is not due before"),
    "paused": Cause("a host whose crawl was stopped", "paused", r"^Workers do not crawl its host: a crawl of it had"),
    "not_seeded": Cause("a host that is not seeded", "not_seeded", r"^Its host was only requested by a redirect"),
    "unknown_host": Cause("a host that is not known", "unknown_host", r"^Its host nowhere.example is unknown"),
    "pending": Cause("a host that was never crawled", "waits_for_first_crawl", r"^Its host was seeded at .* waits"),
    "never_found": Cause(
        "a URL that nothing names", "never_found", r"^No link, sitemap or seed of its host mentions it; frames, forms"
    ),
    "merged": Cause("a host that was merged", "queued", r"^It is queued"),
    "collapsed": Cause("a sub-domain that is collapsed", "queued", r"^It is queued"),
    # Sources.
    "source": Cause(
        "a source that was read", "source_ok", r"^It is a source whose last run.*went well.*next be read at"
    ),
    "source_page": Cause("a later page of a source", "source_ok", r"^It belongs to the source \S+/careers"),
    "source_new": Cause(
        "a source that is due", "source_due", r"^It is a source that has not been read yet, and is due now"
    ),
    "source_failed": Cause(
        "a source that failed", "source_fail", r"^It is a source whose last run.*failed.*404.*next be read"
    ),
    "source_paused": Cause("a paused source", "source_paused", r"^It is a source, and is paused"),
    "source_blocked": Cause("a source that robots.txt forbids", "source_blocked", r"is blocked \(robots disallow\)"),
    "source_deleted": Cause("a deleted source", "source_deleted", r"^It is a source, and was deleted"),
    "source_running": Cause("a source that is being read", "source_running", r"^It is a source, and \S+ reads it now"),
    # The crawl service.
    "policy_due": Cause("a policy without a job yet", "policy_due", r"^Its policy is due\.$"),
    "job_waits": Cause("a job that waits", "job_waits", r"^Its job waits for a bot\.$"),
    "job_locked": Cause("a job that a bot has", "job_locked", r"^The bot shop-bot has its job until "),
    "job_postponed": Cause("a job to be retried", "job_postponed", r"^Its job waits until 2096.* \(HTTP 500\)\.$"),
    "job_failed": Cause(
        "a job that failed", "job_failed", r"^Its last job failed \(HTTP 500\); the next is due at 2096"
    ),
    "job_done": Cause("a job that was done", "job_done", r"^Its last job was done; the next is due at 2096"),
    "policy_disabled": Cause("a disabled policy", "policy_disabled", r"^Its last job was done; its policy is disabled"),
}


@dataclass(slots=True)
class Asked:
    """What `comity why` said."""

    url: str
    first_line: str
    text: str
    document: dict[str, Any]


@dataclass(slots=True)
class Planted:
    """A state with causes planted in it, and what `why` said of each."""

    place: Place
    web: Web
    database_url: str | None
    told: dict[str, Asked] = field(default_factory=dict)

    def crawl(self, *seeds: str, **changes: Any) -> Any:
        if self.database_url is not None:
            changes["database_url"] = self.database_url
        return self.place.crawl(*seeds, **changes)

    def opened(self, **changes: Any) -> Any:
        return self.place.opened(**({"database_url": self.database_url} if self.database_url else {}), **changes)

    def ask(self, name: str, url: str) -> None:
        """Have a cause explained, for people and for programs."""
        assert name in CAUSES, name
        assert name not in self.told, f"{name} is planted twice"
        people, programs = self.place.comity("why", url), self.place.comity("why", url, "--json")
        assert (people.code, programs.code) == (0, 0), (name, people.err, programs.err)
        self.told[name] = Asked(url, people.out.splitlines()[0], people.out, programs.json)

    def ask_all(self, site: Site, **paths: str) -> None:
        for name, path in paths.items():
            self.ask(name, path if "://" in path else site.url(path))

    def execute(self, statement: str, **values: Any) -> None:
        from sqlalchemy import text

        with self.opened() as state, state.database.write() as connection:
            connection.execute(text(statement), values)


Plant = Callable[[Planted], None]


def table(told: dict[str, Asked]) -> str:
    """The causes as docs/why.md shows them, with the first lines as they were."""
    lines = ["| what happened to the URL | code | the first line |", "|---|---|---|"]
    for name, cause in CAUSES.items():
        lines.append(f"| {cause.what} | `{cause.code}` | {_settled(told[name].first_line)} |")
    return "\n".join(lines)


def _settled(line: str) -> str:
    """A first line without what is another at every run: times, ports, and the words of the HTTP library."""
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC", "…", line)
    line = re.sub(r"\b127\.0\.0\.1:\d+", "example.org", line)
    line = re.sub(r"\b127\.0\.0\.2:\d+", "internal.example.org", line)
    line = re.sub(r"\btry \d of", "try 1 of", re.sub(r"\btried \d times", "tried 6 times", line))
    line = re.sub(r"; jitter [+-][\d.]+ %", "; jitter …", line)
    line = re.sub(r"(; try 1 of \d, )it is (due to be )?tried again( at …)?", r"\1it is tried again at …", line)
    line = re.sub(r" \((Recv|Unsupported|not complete|stdin|gzip|zlib)[^)]*\)", "", line)
    return line.replace("|", r"\|")


def written(told: dict[str, Asked]) -> str:
    """The page with today's table in it."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _old, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(told)}\n{END}{after}"

"""The webs that bench/crawl crawls: seeded, the same on every machine, and close to what pages of the web are like.

A web is a folder of files for nginx, one folder of pages for each host, every page compressed beforehand. All pages of
a host can be reached from `/`: page n links to its children in a tree. Beside these links a page carries what a
crawler meets on real sites: navigation that each page of the host repeats, links in every form (root-relative,
relative, absolute, with fragments, off the host, nofollow), scripts, styles, JSON-LD, SVG, comments, forms, tables and
images. Words, addresses and bodies differ between hosts.

Scripts, comments and templates also hold text that looks like links to `/not-a-link/…`. A browser sees no link there.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from posixpath import dirname, relpath
from urllib.parse import quote

from _site import host_address

VERSION = 4  # of the pages: a folder that another version wrote is not used again
CHILDREN = 8
NAVIGATION = 14
BYTES = {"light": (15_000, 60_000), "ordinary": (90_000, 260_000)}
TAGS = {"light": (220, 740), "ordinary": (1_230, 2_800)}  # of the smallest and the largest pages; start and end tags
RAW_TEXT = re.compile(r"<!--.*?-->|(<(script|style|template)\b[^>]*>).*?</\2>", re.DOTALL)
TAG = re.compile(r"</?[a-zA-Z]")


@dataclass(frozen=True)
class Web:
    """What a web is made of; two equal ones have the same bytes."""

    kind: str  # a key of BYTES
    hosts: int
    pages: int  # of each host
    port: int
    scheme: str = "http"
    seed: int = 1

    @property
    def name(self) -> str:
        """As tables call it."""
        return self.kind if self.scheme == "http" else f"{self.kind}, TLS"

    def folder_name(self) -> str:
        """Of the folder that holds it."""
        return f"{self.kind}-{self.hosts}x{self.pages}-{self.scheme}-{self.port}-{self.seed}-v{VERSION}"

    def authority(self, host: int) -> str:
        """Address and port of a host."""
        return f"{host_address(host)}:{self.port}"

    def origin(self, host: int) -> str:
        """The scheme, address and port of a host."""
        return f"{self.scheme}://{self.authority(host)}"

    def seeds(self) -> str:
        """The first page of every host, a line each."""
        return "".join(f"{self.origin(host)}/\n" for host in range(self.hosts))


def made_web(web: Web, parent: Path) -> Path:
    """The folder of a web, which is written on first use."""
    folder = parent / web.folder_name()
    if (folder / "web.json").exists():
        return folder
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.mkdir(parents=True)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        made = list(pool.map(write_host, [web] * web.hosts, range(web.hosts), [unfinished] * web.hosts))
    sizes = [size for sizes, _tags in made for size in sizes]
    tags = [count for _sizes, counts in made for count in counts]
    facts = {
        **asdict(web),
        "bytes_median": round(statistics.median(sizes)),
        "bytes_least": min(sizes),
        "bytes_most": max(sizes),
        "tags_median": round(statistics.median(tags)),
        "tags_least": min(tags),
        "tags_most": max(tags),
    }
    (unfinished / "web.json").write_text(json.dumps(facts, indent=1))
    unfinished.rename(folder)
    return folder


def write_host(web: Web, host: int, folder: Path) -> tuple[list[int], list[int]]:
    """Write the pages of one host; their sizes before compression, and the tags of some of them."""
    site = HostPages(web, host)
    root = folder / "www" / host_address(host)
    sizes, tags = [], []
    for number in range(web.pages):
        page = site.page(number)
        data = page.encode()
        sizes.append(len(data))
        if number % 10 == 0:
            tags.append(len(TAG.findall(RAW_TEXT.sub(r"\1", page))))
        write_file(root, file_name(site.paths[number]), data)
    write_file(root, "robots.txt", ROBOTS)
    return sizes, tags


def write_file(root: Path, name: str, data: bytes) -> None:
    """Write the compressed file, and beside it an empty one, by which nginx knows that the page exists."""
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_name(file.name + ".gz").write_bytes(gzip.compress(data, 6, mtime=0))
    file.touch()


def file_name(path: str) -> str:
    """The file of an unencoded path, with its query: what `try_files` of _origin.py looks for."""
    return path[1:] + ("index.html" if path.endswith("/") else "")


ROBOTS = b"""# Crawlers are welcome to what is not listed here.
User-agent: *
Disallow: /private/
Disallow: /search
Disallow: /cart/
Disallow: /*?sort=
Disallow: /*&sort=
Disallow: /*.cgi$
Allow: /private/terms.html

User-agent: ExampleBot
User-agent: OtherBot
Crawl-delay: 10
Disallow: /
"""

LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
OFTEN = range(26, 0, -1)
ACCENTED = "éüøñçž"


class HostPages:
    """The pages of one host, in order of their numbers."""

    def __init__(self, web: Web, host: int) -> None:
        self.web = web
        self.host = host
        self.origin = web.origin(host)
        self.chance = random.Random(f"{web.seed} {web.kind} {host}")
        self.words = self._words(900)
        self.sentences = [self._sentence() for _ in range(1200)]
        self.sections = self.chance.sample([word for word in self.words if len(word) > 4], 9)
        self.paths = ["/"] + [self._path(number) for number in range(1, web.pages)]
        self.titles = [" ".join(self._some_words(2, 6)).capitalize() for _ in self.paths]
        self.navigation = self._navigation()
        self.css = "".join(
            f".{word}{{margin:{n}px;color:#{n * 4369 % 4096:03x}}}" for n, word in enumerate(self.words[:60])
        )

    def _words(self, count: int) -> list[str]:
        chance = self.chance
        found = {"".join(chance.choices(LETTERS, OFTEN, k=chance.randint(2, 11))) for _ in range(count)}
        return sorted(found)

    def _some_words(self, least: int, most: int) -> list[str]:
        return self.chance.choices(self.words, k=self.chance.randint(least, most))

    def _sentence(self) -> str:
        text = " ".join(self._some_words(6, 22)).capitalize()
        return text + self.chance.choice(
            (".", ".", ".", "!", " &ndash; caf\u00e9 &amp; cr\u00e8me.", ", &quot;sic&quot;.")
        )

    def _path(self, number: int) -> str:
        """An address of its own, unencoded, in one of the shapes that sites use."""
        chance, words = self.chance, self.words
        section, slug = chance.choice(self.sections), "-".join(self._some_words(1, 5))
        return chance.choice(
            (
                f"/{section}/{slug}-{number}/",
                f"/{section}/20{chance.randint(10, 26)}/{chance.randint(1, 12):02}/{slug}-{number}.html",
                f"/{section}/{chance.choice(words)}/{chance.choice(words)}/{number}-{slug}",
                f"/{number}-{slug}",
                f"/{section}/item.php?id={number}&lang={chance.choice(('en', 'de', 'fr'))}",
                f"/{section}/view?q={'-'.join(self._some_words(1, 3))}&n={number}",
                f"/wiki/{slug.replace('-', '_').capitalize()}_({number})",
                f"/{section}/{chance.choice(words)}{chance.choice(ACCENTED)}/{slug}-{number}.html",
                f"/files/{slug.replace('-', ' ')} {number}.html",
                f"/a/{section}/b/{chance.choice(words)}/c/{slug}/{number}/",
            )
        )

    def href(self, number: int, here: str) -> str:
        """One of the ways to write a link to a page of this host, ready for an attribute."""
        path = self.paths[number]
        written = encoded(path)
        if self.chance.random() < 0.1:
            written = encoded(path, as_they_are=ACCENTED)  # as some sites do; browsers encode it
        roll = self.chance.random()
        if roll < 0.14:
            written = self.origin + written
        elif roll < 0.17:
            written = "//" + self.web.authority(self.host) + written
        elif roll < 0.32:
            written = relative(encoded(path), encoded(here))
        if self.chance.random() < 0.12:
            written += "#" + self.chance.choice(self.words)
        return attribute(written)

    def _elsewhere(self) -> str:
        """A link off the host: to another host of this web, or to one that no crawl was asked to visit."""
        if self.web.hosts > 1 and self.chance.random() < 0.5:
            other = self.chance.randrange(self.web.hosts - 1)
            return self.web.origin(other + (other >= self.host)) + "/"
        return f"https://www.{self.chance.choice(self.words)}.invalid/{self.chance.choice(self.words)}"

    def _navigation(self) -> str:
        items = "".join(
            f'<li class="menu-item menu-item-{n}"><a class="menu-link" href="{attribute(encoded(self.paths[n]))}" '
            f'data-menu="{n}"><span>{self.titles[n]}</span></a></li>\n'
            for n in range(1, min(NAVIGATION + 1, len(self.paths)))
        )
        return (
            f'<header class="top"><a class="skip" href="#content">Skip</a><a class="logo" href="/">{svg(7)}</a>'
            f'<nav aria-label="Main"><ul class="menu">{items}</ul></nav>'
            '<form class="search" action="/search" method="get" role="search"><label for="q">Search</label>'
            '<input type="search" id="q" name="q" placeholder="Search&hellip;"><button type="submit">Go</button></form>'
            '<a rel="nofollow" href="/private/account">Account</a></header>\n'
        )

    def page(self, number: int) -> str:
        """The whole page."""
        here = self.paths[number]
        least, most = BYTES[self.web.kind]
        wanted = min(most - 6_000, max(least, int(self.chance.triangular(least, most, least + (most - least) * 0.35))))
        few, many = TAGS[self.web.kind]
        wanted_tags = (few + (many - few) * (wanted - least) / (most - least)) * self.chance.uniform(0.95, 1.05)
        links = [n for n in range(number * CHILDREN + 1, number * CHILDREN + 1 + CHILDREN) if n < self.web.pages]
        links += [self.chance.randrange(self.web.pages) for _ in range(self.chance.randint(10, 34))]
        parts = [self._head(number), self.navigation, f'<main id="content"><h1>{self.titles[number]}</h1>\n']
        foot = self._foot(number)
        size, tags = sum(map(len, parts)) + len(foot), sum(part.count("<") for part in parts)
        while size < wanted or links:
            block = self.chance.choice(RICH if tags / wanted_tags < size / wanted else PLAIN)(self, here, links)
            parts.append(block)
            size, tags = size + len(block), tags + (0 if block.startswith("<script") else block.count("<"))
        return "".join(parts) + foot

    def _head(self, number: int) -> str:
        address, title = self.origin + encoded(self.paths[number]), self.titles[number]
        here, author = attribute(address), " ".join(self._some_words(2, 2)).title()
        described = {
            "@context": "https://schema.org",
            "@type": "Article",
            "headline": title,
            "url": address,
            "author": {"@type": "Person", "name": author},
        }
        return f"""<!DOCTYPE html>
<html lang="en" class="no-js">
<head>
<meta charset="utf-8">
<title>{title} | {self.sections[0]}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{title}. {number}">
<meta name="robots" content="index, follow">
<meta property="og:title" content="{title}"><meta property="og:type" content="article">
<meta property="og:url" content="{here}">
<link rel="canonical" href="{here}">
<link rel="icon" href="/static/icon.png"><link rel="stylesheet" href="/static/site.css">
<script type="application/ld+json">{json.dumps(described)}</script>
<style>{self.css}</style>
<!--[if lt IE 9]><script src="/static/old.js"></script><a href="/not-a-link/comment">old</a><![endif]-->
<script>window.queue=window.queue||[];for(var i=0;i<3&&i>-1;i++){{queue.push(i)}}</script>
<script async src="/static/app.js"></script>
</head>
<body class="page-{number} {self.sections[number % len(self.sections)]}">
"""

    def _foot(self, number: int) -> str:
        elsewhere = "".join(
            f'<li><a href="{self._elsewhere()}"{more}>{self.words[n]}</a></li>'
            for n, more in enumerate(("", ' rel="nofollow noopener" target="_blank"', ' rel="external"', ""))
        )
        known = [n % len(self.paths) for n in (3, 5, 8, 2)]
        legal = "".join(f'<a href="{attribute(encoded(self.paths[n]))}">{self.titles[n]}</a> ' for n in known)
        return f"""</main>
<aside><h2>Elsewhere</h2><ul>{elsewhere}</ul>
<a href="#top">Up</a> <a href="mailto:desk@example.org">Write</a> <a href="tel:+4930123456">Call</a>
<a href="javascript:void(0)" onclick="return false">Share</a>
<a rel="nofollow" href="{attribute(encoded(self.paths[number // 2]))}">Print</a></aside>
<footer><p>{legal}<a href="/">Home</a> &copy; 2026</p></footer>
<template><a href="/not-a-link/template">row</a></template>
<script>document.write('<a href="/not-a-link/script">more</a>');if(1<2){{console.log('<div>')}}</script>
</body>
</html>
"""

    def link(self, here: str, links: list[int]) -> str:
        """The next link that the page owes, or a known one again."""
        number = links.pop(0) if links else self.chance.randrange(min(40, self.web.pages))
        return f'<a href="{self.href(number, here)}" title="{self.titles[number]}">{self.titles[number]}</a>'

    # Blocks: what a page is filled with.

    def paragraphs(self, here: str, links: list[int]) -> str:
        """Prose with a link."""
        text = self.chance.choices(self.sentences, k=self.chance.randint(3, 7))
        text.insert(1, self.link(here, links) if links else f"<em>{self.chance.choice(self.words)}</em>")
        return f"<p>{' '.join(text)}</p>\n"

    def state(self, _here: str, _links: list[int]) -> str:
        """A script with the data of a widget."""
        entries = {
            word: [self.chance.randrange(10_000), self.chance.choice(self.titles)] for word in self._some_words(10, 30)
        }
        return f"<script>window.state=Object.assign(window.state||{{}},{json.dumps(entries)});</script>\n"

    def cards(self, here: str, links: list[int]) -> str:
        """Teasers as a section page has them."""
        return (
            '<section class="cards">'
            + "".join(self._card(here, links) for _ in range(self.chance.randint(2, 4)))
            + "</section>\n"
        )

    def _card(self, here: str, links: list[int]) -> str:
        n, word, sentence = (
            self.chance.randrange(1000),
            self.chance.choice(self.words),
            self.chance.choice(self.sentences),
        )
        return (
            f'<article class="card"><picture><source srcset="/static/{n}.webp 2x" type="image/webp">'
            f'<img src="/static/{n}.png" alt="{word}" loading="lazy" width="320" height="180"></picture>'
            f'<h3>{self.link(here, links)}</h3><p class="by"><span>{word}</span> '
            f'<time datetime="2026-0{1 + n % 9}-11">{n % 28} days</time></p><p>{sentence}</p></article>\n'
        )

    def listing(self, here: str, links: list[int]) -> str:
        """A list, some of it links."""
        items = (
            self.link(here, links)
            if n % 3 == 0
            else f"<strong>{self.chance.choice(self.words)}</strong> {self.chance.choice(self.sentences)}"
            for n in range(6)
        )
        return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>\n"

    def table(self, _here: str, _links: list[int]) -> str:
        """Rows of figures."""
        rows = (
            "".join(f"<td>{self.chance.randrange(10_000)}</td>" for _ in range(4))
            for _ in range(self.chance.randint(3, 8))
        )
        return (
            "<table><tbody>"
            + "".join(f'<tr><th scope="row">{self.chance.choice(self.words)}</th>{row}</tr>' for row in rows)
            + "</tbody></table>\n"
        )

    def replies(self, here: str, links: list[int]) -> str:
        """A short thread of comments."""
        inner, *more = self.chance.choices(self.sentences, k=self.chance.randint(3, 5))
        inner = f"<blockquote>{inner}</blockquote>"
        for text in more:
            who = self.chance.choice(self.words)
            inner = f'<div class="reply"><p><b>{who}</b> <i>{text}</i></p>{inner}</div>'
        return f'{inner}<p>{self.link(here, links)}</p><!-- {more[0]} <a href="/not-a-link/comment">old</a> -->\n'

    def form(self, _here: str, _links: list[int]) -> str:
        """A form that asks for an address."""
        choices = "".join(f'<option value="{n}">{word}</option>' for n, word in enumerate(self._some_words(4, 8)))
        return (
            '<form action="/private/subscribe" method="post"><fieldset><legend>Newsletter</legend>'
            f'<label>Mail <input type="email" name="mail" required></label><select name="topic">{choices}</select>'
            f'<input type="hidden" name="token" value="{self.chance.getrandbits(64):016x}">'
            "<button>Send</button></fieldset></form>\n"
        )

    def icons(self, here: str, links: list[int]) -> str:
        """Drawings with a line of text each."""
        return (
            "".join(
                f'<div class="icon">{svg(self.chance.randrange(99))}<span>{self.link(here, links)}</span></div>'
                for _ in range(3)
            )
            + "\n"
        )


Block = Callable[[HostPages, str, list[int]], str]
RICH: tuple[Block, ...] = (
    HostPages.cards,
    HostPages.cards,
    HostPages.listing,
    HostPages.table,
    HostPages.replies,
    HostPages.form,
    HostPages.icons,
)
PLAIN: tuple[Block, ...] = (HostPages.paragraphs, HostPages.paragraphs, HostPages.paragraphs, HostPages.state)


def encoded(path: str, as_they_are: str = "") -> str:
    """A path and query as they are sent, or with some characters left as they are."""
    name, mark, query = path.partition("?")
    return "".join(part if part in as_they_are else quote(part, "/()") for part in name) + mark + query


def attribute(url: str) -> str:
    """A URL as most sites write it into their pages: with `&` as it is, which browsers read as it is meant.

    wget2 takes `&amp;` literally and would miss such pages, so that its figures could not be compared.
    """
    return url.replace('"', "&quot;")


def relative(path: str, here: str) -> str:
    """The address of a page as seen from another page of the host."""
    name, mark, query = path.partition("?")
    found = relpath(name, dirname(here.partition("?")[0]))
    if name.endswith("/"):
        found += "/"
    # A first segment with a colon would be a scheme; `./` is right in every case.
    return (found if found.startswith(".") else f"./{found}") + mark + query


def svg(number: int) -> str:
    """A small drawing."""
    return (
        f'<svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><title>{number}</title><g fill="none">'
        f'<path d="M{number % 24} 4h6l4 {number % 9}-5 9z"/><circle cx="12" cy="{number % 20}" r="3"/></g></svg>'
    )

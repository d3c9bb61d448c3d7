"""The main content of pages beside trafilatura and resiliparse: word F1, and milliseconds of CPU a page.

    python bench/text.py [--half dev|held] [--folder FOLDER] [--repeat 3] [--worst 10] [--peers PYTHON]

Pages are those of bench/corpus/text-dev.zip and text-held.zip: 66 pages from 22 templates (news, blog, documentation,
product, forum, recipe, wiki, government, listing, university, job, help, questions …; semantic markup, tables as
layout, divs without names) in 15 languages. The comments `<!--content-->` and `<!--/content-->` enclose the content;
they are removed before anything reads the page. The pages of text-dev.zip were at hand while the heuristics were
made; those of text-held.zip were written before they were scored, and nothing was changed for their sake.
`--folder` scores other pages: NAME.html beside NAME.txt, which is the content.

F1 is that of bags of words: words of the page's text and of the label, with their counts, regardless of order; each
character counts as a word in scripts without spaces. The mean is over pages. Peers are installed once into an
environment of their own (bench/results/text-peers); `--peers` names the interpreter of another one. Their time includes
parsing, as ours does; "parsing" is what the crawl has to do in any case.

The answer decides whether our own heuristics are good enough to stand beside tools that do nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
import venv
import zipfile
from collections import Counter
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from comity.extract.decode import parse_html
from comity.extract.main_content import read_main_content

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PACKAGES = ("trafilatura", "resiliparse", "lxml_html_clean")
HALVES = ("dev", "held")
_MARK = re.compile(r"<!--/?content-->")
_WORD = re.compile(r"[\u0e00-\u0e7f\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")


@dataclass(frozen=True)
class Page:
    """A page without its marks, and its content."""

    name: str
    body: bytes
    label: str


class _Marked(HTMLParser):
    """Gathers the text between the marks."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = False
        self.found: list[str] = []

    def handle_comment(self, data: str) -> None:
        self.inside = {"content": True, "/content": False}.get(data, self.inside)

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found.append(data)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the parser calls it so
        if self.inside:
            self.found.append(" ")


def corpus(half: str) -> list[Page]:
    """One half of our own pages."""
    pages = []
    with zipfile.ZipFile(HERE / "corpus" / f"text-{half}.zip") as archive:
        for name in sorted(archive.namelist()):
            markup = archive.read(name).decode()
            marked = _Marked()
            marked.feed(markup)
            pages.append(Page(name.removesuffix(".html"), _MARK.sub("", markup).encode(), "".join(marked.found)))
    return pages


def folder_pages(folder: Path) -> list[Page]:
    """Pages that were labelled elsewhere."""
    return [
        Page(path.stem, path.read_bytes(), path.with_suffix(".txt").read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.html"))
        if path.with_suffix(".txt").exists()
    ]


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def scores(found: str, label: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of bags of words."""
    ours, wanted = words(found), words(label)
    common = (ours & wanted).total()
    if not common:
        return (0.0, 0.0, float(not ours and not wanted))
    precision, recall = common / ours.total(), common / wanted.total()
    return precision, recall, 2 * precision * recall / (precision + recall)


def ours(body: bytes) -> str:
    return read_main_content(parse_html(body, "text/html; charset=utf-8")).text or ""


def markdown_too(body: bytes) -> str:
    document = parse_html(body, "text/html; charset=utf-8")
    return read_main_content(document, text=True, markdown=True, base_url="https://example.com/").text or ""


def parsing(body: bytes) -> str:
    parse_html(body, "text/html; charset=utf-8")
    return ""


def timed(read: object, pages: list[Page], repeat: int) -> tuple[dict[str, str], float]:
    """What each page's content is, and milliseconds of CPU a page: the least of several rounds."""
    assert callable(read)
    found = {page.name: read(page.body) for page in pages}
    best = float("inf")
    for _round in range(repeat):
        began = time.process_time()
        for page in pages:
            read(page.body)
        best = min(best, time.process_time() - began)
    return found, 1000 * best / len(pages)


def peers_python(named: str | None) -> Path:
    """The interpreter of the peers' own environment, which is made once."""
    if named is not None:
        return Path(named)
    place = RESULTS / "text-peers"
    python = place / "bin" / "python"
    if not (place / "complete").exists():
        venv.create(place, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True)
        (place / "complete").touch()
    return python


def by_peers(python: Path, pages: list[Page], repeat: int) -> dict[str, tuple[dict[str, str], float]]:
    """The same by the peers, in a process of their own."""
    asked = {"repeat": repeat, "pages": [[page.name, page.body.decode("utf-8", "replace")] for page in pages]}
    script = str(HERE / "_text_peers.py")
    done = subprocess.run([str(python), script], input=json.dumps(asked), capture_output=True, text=True, check=True)
    return {name: (values["found"], values["ms"]) for name, values in json.loads(done.stdout).items()}


def report(title: str, pages: list[Page], python: Path | None, repeat: int, worst: int) -> dict[str, object]:
    """Score every reader on some pages, and print a table."""
    readings = {name: timed(read, pages, repeat) for name, read in (("comity", ours), ("with Markdown", markdown_too))}
    if python is not None:
        readings |= by_peers(python, pages, repeat)
    readings["parsing"] = timed(parsing, pages, repeat)
    size = statistics.mean(len(page.body) for page in pages)
    print(f"\n{title}: {len(pages)} pages, {size / 1000:.1f} KB on average")
    print(f"{'':16} precision  recall     F1  worst page  ms of CPU a page")
    rows: dict[str, object] = {}
    for name, (found, ms) in readings.items():
        each = {page.name: scores(found[page.name], page.label) for page in pages}
        precision, recall, f1 = (statistics.mean(score[part] for score in each.values()) for part in range(3))
        rows[name] = {"precision": precision, "recall": recall, "f1": f1, "ms": ms}
        if name in ("parsing", "with Markdown"):
            print(f"{name:16} {'':38}{ms:8.2f}")
            continue
        least = min(score[2] for score in each.values())
        print(f"{name:16} {precision:9.3f} {recall:7.3f} {f1:6.3f} {least:11.3f} {ms:8.2f}")
        if name == "comity":
            for page, score in sorted(each.items(), key=lambda pair: pair[1][2])[:worst]:
                print(f"    {page:30} precision {score[0]:.3f}, recall {score[1]:.3f}, F1 {score[2]:.3f}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--peers", help="the interpreter of an environment that has them; 'none' leaves them out")
    options = parser.parse_args()
    python = None if options.peers == "none" else peers_python(options.peers)
    if options.folder is not None:
        sets = {str(options.folder): folder_pages(options.folder)}
    else:
        sets = {half: corpus(half) for half in HALVES if options.half in (None, half)}
    measured = {title: report(title, pages, python, options.repeat, options.worst) for title, pages in sets.items()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "text.json").write_text(json.dumps(measured, indent=1))


if __name__ == "__main__":
    sys.exit(main())

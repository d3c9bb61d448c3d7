"""A whole crawl beside wget2 and tuned Scrapy, on webs like the real one.

    python bench/crawl.py [--webs light,ordinary] [--hosts 50] [--pages 400] [--repeats 3] [--only comity,wget2]
                          [--seed 1] [--write]

The webs (see _web.py) are generated once and served by nginx on one core; the crawlers take turns on the other. The
access log of the origin says whether a crawler fetched every page, and how often. Webs: light, ordinary, and the same
two over TLS with HTTP/2: light-tls, ordinary-tls. `--pages` is for light pages; ordinary ones are a fifth as many.

`--only comity,comity-text,comity-markdown` compares a plain crawl with crawls that store the main content.

Prints pages per second, CPU and peak memory of each crawler, and the ratios. `--write` also puts the table into
docs/performance.md. It decides whether the crawl is as fast as the documentation claims.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from _crawlers import NAMES, Cost, PeerCrashed, missing, refuse_if_busy, run_crawler, version_of
from _origin import NGINX_MISSING, Origin, Seen, nginx
from _site import CORES, pinned
from _web import Web, made_web

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PAGE = HERE.parent / "docs" / "performance.md"
MARKS = ("<!-- bench/crawl.py writes below this line -->", "<!-- bench/crawl.py writes above this line -->")
WEBS = ("light", "ordinary", "light-tls", "ordinary-tls")
PORTS = {"http": 18180, "https": 18543}
TITLES = {
    "comity": "comity",
    "comity-text": "comity, --text",
    "comity-markdown": "comity, --markdown",
    "wget2": "wget2",
    "scrapy-jobdir": "Scrapy, JOBDIR",
    "scrapy": "Scrapy",
}


@dataclass(frozen=True)
class Run:
    """One crawl: what it cost, and what the origin saw."""

    cost: Cost
    seen: Seen

    @property
    def rate(self) -> float:
        """Distinct pages a second, from the start of the program to its end."""
        return self.seen.pages / self.cost.seconds

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU for 1,000 pages."""
        return self.cost.cpu_s / max(self.seen.pages, 1) * 1000


@dataclass(frozen=True)
class Figures:
    """All runs on one web."""

    web: Web
    facts: dict[str, int]
    runs: dict[str, list[Run]]

    @property
    def wanted(self) -> int:
        """How many pages there are."""
        return self.web.hosts * self.web.pages

    def median_rate(self, name: str) -> float:
        """Pages a second."""
        return statistics.median(run.rate for run in self.runs[name])


def chosen_web(name: str, hosts: int, pages: int, seed: int) -> Web:
    """The web that an option names."""
    kind, _dash, tls = name.partition("-")
    scheme = "https" if tls else "http"
    return Web(kind, hosts, pages if kind == "light" else max(pages // 5, 1), PORTS[scheme], scheme, seed)


def measure(web: Web, names: list[str], repeats: int) -> Figures:
    """Run the crawlers in turns on one web."""
    folder = made_web(web, RESULTS / "webs")
    facts = json.loads((folder / "web.json").read_text())
    print(f"== {describe(web, facts)}", flush=True)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as work:
        origin = Origin(web, folder, Path(work))
        try:
            for turn in range(repeats):
                for name in names if turn % 2 == 0 else names[::-1]:
                    runs[name].append(one_run(name, web, origin))
                    print(f"{name}: {describe_run(runs[name][-1])}", flush=True)
        finally:
            origin.close()
    return Figures(web, facts, runs)


def one_run(name: str, web: Web, origin: Origin) -> Run:
    """One crawl in a new folder; a peer that crashes is started again, twice at most."""
    for crashes_left in (2, 1, 0):
        with tempfile.TemporaryDirectory(prefix="comity-bench-") as text:
            seeds = Path(text) / "seeds.txt"
            seeds.write_text(web.seeds())
            try:
                cost = run_crawler(name, Path(text), seeds, origin.authority)
            except PeerCrashed as crash:
                origin.seen()  # forget the requests of the run that counts for nothing
                print(f"{crash}; its run is repeated", flush=True)
                if crashes_left:
                    continue
                raise SystemExit(f"{crash} three times in a row") from None
        break
    return Run(cost, origin.seen())


def describe(web: Web, facts: dict[str, int]) -> str:
    """A web in a line."""
    return (
        f"{web.name}: {web.hosts} hosts × {web.pages:,} pages, {facts['bytes_least'] / 1000:.0f}–"
        f"{facts['bytes_most'] / 1000:.0f} KB (median {facts['bytes_median'] / 1000:.0f}), "
        f"{facts['tags_least']:,}–{facts['tags_most']:,} tags (median {facts['tags_median']:,})"
    )


def describe_run(run: Run) -> str:
    """One run in a line."""
    seen = run.seen
    return (
        f"{run.rate:.0f} pages/s, {run.cpu_s:.2f} s of CPU per 1,000, {run.cost.memory_mb:.0f} MB; {seen.pages} pages, "
        f"{seen.repeats} repeats, {seen.other} other requests ({seen.forbidden} forbidden), {seen.connections} "
        f"connections, {seen.protocols}"
    )


def row(figures: Figures, name: str) -> list[str]:
    """A crawler's line of the table."""
    runs = figures.runs[name]
    rates = [run.rate for run in runs]
    pages = [run.seen.pages for run in runs]
    spread = (max(rates) - min(rates)) / statistics.median(rates)
    complete = "all" if min(pages) == figures.wanted else f"{min(pages):,} of {figures.wanted:,}"
    return [
        figures.web.name,
        TITLES[name],
        f"{statistics.median(rates):,.0f}",
        f"{max(rates):,.0f}",
        f"{spread:.0%}",
        f"{statistics.median(run.cpu_s for run in runs):.2f}",
        f"{max(run.cost.memory_mb for run in runs):,.0f}",
        complete,
        f"{max(run.seen.repeats for run in runs):,}",
        f"{max(run.seen.forbidden for run in runs):,}",
        f"{round(statistics.median(run.seen.connections for run in runs)):,}",
    ]


HEADS = [
    "web",
    "crawler",
    "pages/s, median",
    "best",
    "spread",
    "CPU s per 1,000 pages",
    "peak MB",
    "pages",
    "repeats",
    "forbidden",
    "connections",
]


def ratios(figures: Figures) -> list[list[str]]:
    """How comity stands to each of the others on one web: speed, CPU, and the range that the runs leave open."""
    ours = figures.runs.get("comity", [])
    lines = []
    for name, runs in figures.runs.items():
        if name == "comity" or not ours:
            continue
        cpu = statistics.median(run.cpu_s for run in ours) / statistics.median(run.cpu_s for run in runs)
        least = min(run.rate for run in ours) / max(run.rate for run in runs)
        most = max(run.rate for run in ours) / min(run.rate for run in runs)
        speed = figures.median_rate("comity") / figures.median_rate(name)
        against = f"comity / {TITLES[name]}"
        lines.append([figures.web.name, against, f"{speed:.2f}", f"{least:.2f}–{most:.2f}", f"{cpu:.2f}"])
    return lines


RATIO_HEADS = ["web", "ratio", "pages/s, medians", "worst to best", "CPU"]


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """A table for the page."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def plain(heads: list[str], rows: list[list[str]]) -> str:
    """A table for the terminal."""
    widths = [max(len(cells[column]) for cells in [heads, *rows]) for column in range(len(heads))]
    return "".join("  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + "\n" for cells in [heads, *rows])


def machine() -> str:
    """What the figures were measured on, in a sentence."""
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    memory_gb = int(memory[1]) / 1e6 if memory else 0
    return (
        f"{len(CORES)} cores ({found[1] if found else platform.machine()}), {memory_gb:.0f} GB, "
        f"Linux {platform.release()}, Python {platform.python_version()}"
    )


def versions(names: list[str]) -> str:
    """The versions of everything that took part."""
    found = {TITLES[name].partition(",")[0]: version_of(name) for name in names}
    if program := nginx():
        said = subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr
        found["nginx"] = said.rpartition("/")[2].split()[0]
    return ", ".join(f"{name} {version}" for name, version in found.items())


def report(all_figures: list[Figures], names: list[str], load: float) -> str:
    """The section of docs/performance.md."""
    today = datetime.now(UTC).date()
    webs = "".join(f"- {describe(figures.web, figures.facts)}\n" for figures in all_figures)
    repeats = len(next(iter(all_figures[0].runs.values())))
    called = " ".join(["python bench/crawl.py", *sys.argv[1:]])
    server = "nginx" if nginx() else "a server in Python, because nginx was not installed"
    return (
        f"Measured on {today:%d %B %Y} with `{called}`: {repeats} runs of each crawler, in turns.\n"
        f"Machine: {machine()}; load average {load:.2f} before the start. Origin: {server}.\n"
        f"Versions: {versions(names)}.\n\n{webs}\n"
        + markdown(RATIO_HEADS, [line for figures in all_figures for line in ratios(figures)])
        + "\n"
        + markdown(HEADS, [row(figures, name) for figures in all_figures for name in figures.runs])
    )


def write_page(text: str) -> None:
    """Replace what stands between the marks."""
    before, first, rest = PAGE.read_text().partition(MARKS[0])
    _old, last, after = rest.partition(MARKS[1])
    if not first or not last:
        raise SystemExit(f"{PAGE} has no place for the table: the two lines {MARKS} are missing.")
    PAGE.write_text(f"{before}{first}\n{text}\n{last}{after}")


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--webs", default="light,ordinary", help=f"of {', '.join(WEBS)}")
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--pages", type=int, default=400, help="light pages of each host; ordinary ones are a fifth")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="comity,wget2,scrapy-jobdir", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--seed", type=int, default=1, help="of the webs")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--even-if-busy", action="store_true", help="write although other programs use the machine")
    chosen = parser.parse_args()
    chosen.webs, chosen.only = chosen.webs.split(","), chosen.only.split(",")
    if unknown := {*chosen.webs} - {*WEBS} | {*chosen.only} - {*NAMES}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return chosen


def main() -> None:
    chosen = options()
    load = os.getloadavg()[0]
    if chosen.write and not chosen.even_if_busy:
        refuse_if_busy()
    if len(CORES) == 1:
        print("There is one core only: origin and crawlers share it, and the figures say little.", file=sys.stderr)
    if not nginx():
        print(NGINX_MISSING, file=sys.stderr)
    problems = {name: missing(name) for name in chosen.only}
    for problem in filter(None, problems.values()):
        print(problem, file=sys.stderr)
    names = [name for name in chosen.only if not problems[name]]
    webs = [chosen_web(name, chosen.hosts, chosen.pages, chosen.seed) for name in chosen.webs]
    for web in webs:
        made_web(web, RESULTS / "webs")  # with all cores, before the first measurement
    pinned(0)()  # what watches the crawlers must not run on their core
    all_figures = [measure(web, names, chosen.repeats) for web in webs]
    raw = [{**asdict(figures.web), "runs": asdict(figures)["runs"]} for figures in all_figures]
    (RESULTS / "crawl.json").write_text(json.dumps(raw, indent=1))
    print("\n" + plain(HEADS, [row(figures, name) for figures in all_figures for name in figures.runs]))
    print(plain(RATIO_HEADS, [line for figures in all_figures for line in ratios(figures)]))
    if chosen.write:
        write_page(report(all_figures, names, load))


if __name__ == "__main__":
    main()

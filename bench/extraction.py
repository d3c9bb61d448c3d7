"""Job postings found on labelled pages: precision and recall per posting, fields, and time per page.

    python bench/extraction.py [--repeat 5] [--misses]
    python bench/extraction.py --folder FOLDER [--misses] [--today 2026-11-16]

The second form scores a folder, or a zip archive, of pages that were labelled elsewhere (NAME.html beside
NAME.json; see bench/_labelled_folder.py), by kind of page and by language. bench/corpus has two: careers-dev.zip was at
hand while the heuristics were made; careers-held.zip was kept aside and is the one to judge by.

A posting is right if its title and its address are both exactly the label's. "place" and "deadline" are the shares of
right postings whose raw words are the label's, where saying nothing is right if the label says nothing. "kind" and
"next" are shares of pages. The known pages were at hand while the heuristics were made; the held-out ones were written
last and nothing was changed for their sake, so theirs are the figures to expect elsewhere. The peer is what a crawler
gets for nothing: schema.org data alone, as extruct and its kind read it. The answer decides whether heuristics are good
enough to go without a hint, and whether a page can be read on the event loop.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

from _job_corpus import LabelledPage, Score, labelled_pages
from _labelled_folder import Sum, pages_of

from comity.model.job import ExtractionMethod, Listing, ListingKind

HEADER = f"{'':28} pages  jobs  precision  recall   place  deadline   kind   next"
STRUCTURED = {ExtractionMethod.JSON_LD, ExtractionMethod.MICRODATA, ExtractionMethod.RDFA}


def scored(pages: list[LabelledPage], *, structured_only: bool = False) -> Score:
    score = Score()
    for page in pages:
        listing = page.read()
        if structured_only:
            jobs = tuple(job for job in listing.jobs if job.found_by in STRUCTURED)
            listing = Listing(ListingKind.JOBS if jobs else ListingKind.NOTHING_FOUND, jobs, listing.next_url)
        score.add(page, listing)
    return score


def line(name: str, score: Score) -> str:
    right, pages = max(1, score.right), max(1, score.pages)
    return (
        f"{name:28} {score.pages:5} {score.expected:5} {score.precision:10.3f} {score.recall:7.3f} "
        f"{score.places_right / right:7.3f} {score.deadlines_right / right:9.3f} "
        f"{score.kinds_right / pages:6.3f} {score.next_right / pages:6.3f}"
    )


def times_us(pages: list[LabelledPage], repeat: int) -> list[float]:
    best: list[float] = []
    for page in pages:
        samples = []
        for _ in range(repeat):
            before = time.perf_counter()
            page.read()
            samples.append(time.perf_counter() - before)
        best.append(min(samples) * 1e6)
    return best


def score_folder(folder: Path, now: datetime, *, misses: bool) -> None:
    """Print precision, recall and the shares of right fields of a labelled folder, by kind and by language."""
    sums: dict[tuple[str, str], Sum] = {}
    for page in pages_of(folder):
        found = page.read(now)
        for key in (("kind", page.kind), ("language", page.language), ("all", "pages")):
            differences = sums.setdefault(key, Sum()).add(page.postings, found)
        if misses and differences:
            print(page.name, *(f"    {difference}" for difference in differences), sep="\n")
    for theme in ("kind", "language", "all"):
        print(f"\n{theme:16} pages right  full wanted precision    recall      link     place  deadline")
        for key in sorted(key for key in sums if key[0] == theme):
            print(f"{key[1]:16} {sums[key].row()}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--misses", action="store_true", help="name every difference")
    arguments.add_argument("--folder", type=Path, help="score the labelled pages of this folder instead")
    arguments.add_argument("--today", default="2026-11-16", help="the day from which dates without a year count")
    chosen = arguments.parse_args()
    if chosen.folder:
        now = datetime.fromisoformat(chosen.today).replace(tzinfo=UTC)
        score_folder(chosen.folder, now, misses=chosen.misses)
        return
    pages = labelled_pages()
    known = [page for page in pages if not page.held_out]
    held_out = [page for page in pages if page.held_out]
    results = {}
    print(HEADER)
    for name, chosen_pages in (("known", known), ("held out", held_out)):
        for method in ("all", *sorted({page.method for page in chosen_pages})):
            of_method = [page for page in chosen_pages if method in ("all", page.method)]
            score = scored(of_method)
            label = {"all": name, "none": "  no jobs"}.get(method, f"  {method}")
            print(line(label, score))
            results[f"{name} {method}"] = {
                "pages": score.pages,
                "jobs": score.expected,
                "precision": score.precision,
                "recall": score.recall,
                "place": score.places_right / max(1, score.right),
                "deadline": score.deadlines_right / max(1, score.right),
            }
            if chosen.misses and method == "all":
                print(*(f"    {miss}" for miss in score.misses), sep="\n")
        print(line("  (structured data alone)", scored(chosen_pages, structured_only=True)))
    times = times_us(pages, chosen.repeat)
    median, mean = statistics.median(times), statistics.fmean(times)
    print(f"\ntime a page: median {median:,.0f} µs, mean {mean:,.0f}, worst {max(times):,.0f}")
    results["time_us"] = {"median": statistics.median(times), "worst": max(times)}
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "extraction.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

"""How much of what is wrong with a site does an audit find, and how much of what it reports is wrong?

    python bench/audit.py [FOLDER …] [--quick] [--list]

A FOLDER is a labelled site, with a `site.json`, or holds several of them:

    {"routes": {"/": {"status": 200, "headers": {}, "body": "…", "body_file": "…", "delay_s": 0}},
     "faults": [{"code": "missing_title", "url": "/about"}]}

Without one, the sites of `tests/audit/sites` are scored. Each site is served on loopback and
audited by `comity audit SITE --json`; `--quick` reads it without the crawler and applies the rules alone.
A label and a finding agree where code and address are equal; of a link, the page that holds it may be named, too.
`--list` prints every label that was missed and every finding that no label speaks of.

The answer decides about thresholds: a rule that is often wrong is worse than none.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from comity.rules.audit.findings import find  # noqa: E402
from tests.audit.scoring import FoundPage, Score, score  # noqa: E402
from tests.audit.sites.kinds import KINDS  # noqa: E402
from tests.audit.sites.labelled import AUTHORITY, LabelledSite, read_folder, served  # noqa: E402
from tests.audit.sites.planted import PLANTED, clean_site  # noqa: E402
from tests.audit.small_audit import SmallAudit  # noqa: E402
from tests.walk.site import Web  # noqa: E402

RESULTS = HERE / "results"
MAX_SECONDS = 1_800
"""For the audit of one site."""
Found = Iterable[tuple[str, Iterable[FoundPage]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="apply the rules without the crawler")
    parser.add_argument("--list", action="store_true", help="print what was missed and what was too much")
    options = parser.parse_args()
    sites = list(sites_in(options.folders)) if options.folders else [make() for make in (*PLANTED, clean_site, *KINDS)]
    if not sites:
        parser.error("there is no site.json in these folders")
    everything = Score()
    with Web() as web:
        for site in sites:
            begun = time.monotonic()
            with served(site, web) as origin:
                audited = audit_quickly(site, origin) if options.quick else audit(site, origin)
                scored = score(site.labels(origin), audited)
            everything.add(scored)
            print(f"{site.name:30} {in_words(scored)}, {time.monotonic() - begun:.0f} s", flush=True)
            if options.list:
                print_differences(scored, origin)
    print_table(everything)
    write_results(everything, [site.name for site in sites])


def sites_in(folders: Iterable[Path]) -> Iterator[LabelledSite]:
    """The labelled sites of folders, each with a site.json or with folders that have one."""
    for folder in folders:
        for file in sorted(folder.glob("site.json")) or sorted(folder.glob("*/site.json")):
            yield read_folder(file.parent)


def audit(site: LabelledSite, origin: str) -> Found:
    """What the command finds, by its JSON."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COMITY_")} | {
            "COMITY_STATE": str(folder / "state.db"),
            "COMITY_AUDITS": str(folder / "audits"),
            "COMITY_ALLOW_NETWORKS": "127.0.0.0/8",
            "COMITY_CONTACT": "bench@example.org",
            "SSL_CERT_FILE": str(AUTHORITY),
        }
        command = [sys.executable, "-m", "comity", "audit", origin + site.start, "--max-pages", "0", "--json"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    try:
        return list(_read_report(json.loads(ran.stdout)))
    except (ValueError, KeyError, TypeError) as problem:
        raise SystemExit(
            f"{site.name}: no report ({problem!r}), exit code {ran.returncode}: {ran.stderr[-500:]}"
        ) from None


def _read_report(report: dict[str, Any]) -> Iterator[tuple[str, list[FoundPage]]]:
    for finding in report["findings"]:
        pages = [FoundPage(page["url"], page.get("detail", ""), page.get("sources", ())) for page in finding["pages"]]
        yield finding["code"], pages


def audit_quickly(site: LabelledSite, origin: str) -> Found:
    """What the rules find, from pages that were read without the crawler."""
    found = find(SmallAudit(origin, site.start).run())
    return [(str(each.code), [FoundPage(*page) for page in each.pages]) for each in found]


def in_words(scored: Score) -> str:
    labels = scored.hits.total() + len(scored.missed)
    return f"{scored.hits.total():4} of {labels:4} faults found, {len(scored.wrong):4} findings without a label"


def print_differences(scored: Score, origin: str) -> None:
    for word, faults in (("missed", scored.missed), ("no label", scored.wrong)):
        for code, url in sorted(faults):
            print(f"    {word:8} {code:32} {url.removeprefix(origin)}")


def print_table(everything: Score) -> None:
    print(f"\n{'code':34} {'labels':>6} {'found':>6} {'wrong':>6} {'precision':>9} {'recall':>7}")
    for code in [*everything.codes(), None]:
        hits = everything.hits[code] if code else everything.hits.total()
        missed = sum(code in (None, each.code) for each in everything.missed)
        wrong = sum(code in (None, each.code) for each in everything.wrong)
        shares = f"{_share(everything.precision(code)):>9} {_share(everything.recall(code)):>7}"
        print(f"{code or 'in all':34} {hits + missed:6} {hits:6} {wrong:6} {shares}")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def write_results(everything: Score, names: list[str]) -> None:
    RESULTS.mkdir(exist_ok=True)
    result = {
        "sites": names,
        "precision": everything.precision(),
        "recall": everything.recall(),
        "by_code": {
            code: {"precision": everything.precision(code), "recall": everything.recall(code)}
            for code in everything.codes()
        },
    }
    (RESULTS / "audit.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

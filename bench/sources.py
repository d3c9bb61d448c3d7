"""Many sources due at once: do all of them run once, no host hurried, and no more at once than the pool allows?

    python bench/sources.py [--sources 1000] [--hosts 300] [--delay 0.2] [--at-once 3] [--schedulers 1]

Compared with the least time: what the pool can do at best if every run costs the requests of a lone page. With several
schedulers on one state it shows whether any source is run twice.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

from _site import host_address

PORT = 8391
HERE = Path(__file__).parent


def add_sources(where: str, sources: int, hosts: int) -> None:
    from comity.assemble import open_state
    from comity.operate.sources import add_source
    from comity.settings import read_settings

    with open_state(read_settings(state=where, database_url="")) as state:
        for number in range(sources):
            url = f"http://{host_address(number % hosts)}:{PORT}/careers/{number // hosts}"
            add_source(state.database, state.clock, url, org_name=f"House {number}", org_type="ngo")


def run(where: str, delay_s: float, at_once: int, schedulers: int) -> tuple[float, list[dict[str, object]]]:
    comity = str(Path(sys.executable).parent / "comity")
    environment = os.environ | {
        "COMITY_ALLOW_NETWORKS": "127.0.0.0/8",
        "COMITY_SOURCE_DELAY": str(delay_s),
        "COMITY_SOURCES_AT_ONCE": str(at_once),
    }
    command = [comity, "sources", "run-due", "--all", "--json", "--state", where]
    began = monotonic()
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(schedulers)]
    said = [json.loads(process.communicate(timeout=3600)[0]) for process in running]
    return monotonic() - began, said


def verify(where: str) -> bool:
    """Whether the ledger shows that every request kept its distance."""
    comity = str(Path(sys.executable).parent / "comity")
    return subprocess.run([comity, "verify-politeness", "--state", where], stdout=subprocess.DEVNULL).returncode == 0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sources", type=int, default=1000)
    options.add_argument("--hosts", type=int, default=300)
    options.add_argument("--delay", type=float, default=0.2)
    options.add_argument("--at-once", type=int, default=3)
    options.add_argument("--schedulers", type=int, default=1)
    chosen = options.parse_args()
    site = subprocess.Popen(
        [sys.executable, str(HERE / "_careers.py"), str(PORT), str(chosen.hosts)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert site.stdin is not None
    assert site.stdout is not None
    try:
        site.stdout.readline()
        with tempfile.TemporaryDirectory(prefix="comity-bench-") as folder:
            where = str(Path(folder) / "state.db")
            add_sources(where, chosen.sources, chosen.hosts)
            seconds, said = run(where, chosen.delay, chosen.at_once, chosen.schedulers)
            is_polite = verify(where)
        site.stdin.write("report\n")
        site.stdin.flush()
        seen = json.loads(site.stdout.readline())
    finally:
        site.stdin.close()
        site.wait(10)
    runs = [each for document in said for each in document["runs"]]  # type: ignore[attr-defined]
    ok = sum(each["status"] == "ok" and each["inserted"] == 10 for each in runs)
    print(
        f"{chosen.sources} sources on {chosen.hosts} hosts, {chosen.schedulers} schedulers, {chosen.at_once} at once: "
        f"{seconds:.1f} s, {len(runs) / seconds:.1f} runs/s\n"
        f"runs {len(runs)}, of them with all their postings {ok}; pages asked {seen['pages']}, most of one "
        f"{seen['most_of_a_page']}; robots.txt {seen['robots']}\n"
        f"most requests at once {seen['most_at_once']}; shortest gap on a host {seen['least_gap_s'] * 1000:.1f} ms "
        f"(wanted {chosen.delay * 1000:.0f}; an origin that is busy itself notes requests late); "
        f"the ledger {'agrees' if is_polite else 'DOES NOT AGREE'}"
    )
    expected = chosen.sources if chosen.schedulers == 1 else len(runs)  # a host that the other has is left for later
    if (ok, seen["most_of_a_page"]) != (expected, 1) or not is_polite:
        raise SystemExit("not as it should be")


if __name__ == "__main__":
    main()

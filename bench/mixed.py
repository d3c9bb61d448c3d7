"""A Scrapy spider, Comity's own worker and ten bots on the same twenty hosts at once, over a kill -9 of the server.

    python -m bench.mixed [--database sqlite|postgresql] [--sites 20] [--bots 10] [--pages 5] [--delay 1.0]

Asked: is any gap in the sites' own logs shorter than the delay, is everything done, and does the ledger agree?
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.integrations.mixed import Trial, run
from tests.servers.postgres import postgres_for_tests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--bots", type=int, default=10)
    parser.add_argument("--pages", type=int, default=5)
    parser.add_argument("--delay", type=float, default=1.0)
    options = parser.parse_args()
    size = {"sites": options.sites, "bots": options.bots, "pages": options.pages, "delay_s": options.delay}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.database == "sqlite":
            outcome = run(Trial(folder, f"sqlite:///{folder}/state.db", **size))
        else:
            with postgres_for_tests() as server:
                outcome = run(Trial(folder, server.create_database(), **size))
    print(
        f"{options.database}: {outcome.requests} requests to {options.sites} hosts in {outcome.seconds:.0f} s; "
        f"smallest gap {outcome.smallest_gap_s:.3f} s with a delay of {options.delay:g} s; "
        f"{len(outcome.missing)} pages missing, "
        f"{outcome.jobs_open} jobs open, {len(outcome.violations)} violations in the ledger"
    )


if __name__ == "__main__":
    main()

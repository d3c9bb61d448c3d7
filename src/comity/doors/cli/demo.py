"""`comity demo`: crawl three small sites that this machine serves itself."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import JsonOption, read_invocation
from comity.doors.cli.output import write_as_is, write_line


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    command(root, "demo", panel="Crawl")(demo)


def demo(context: typer.Context, as_json: JsonOption = False) -> None:
    """Crawl three small sites on this machine, to see what a crawl looks like."""
    from comity.doors.cli.crawl.command import run_crawl
    from comity.rules.seed_list import read_seed
    from comity.run.demo_web import demo_web

    folder = Path("comity-data/demo")
    shutil.rmtree(folder, ignore_errors=True)
    invocation = read_invocation(
        context,
        str(folder / "state.db"),
        as_json,
        pages=str(folder / "pages"),
        delay_s=0.1,
        allow_networks=("127.0.0.0/8",),
    )
    with demo_web() as sites:
        if not invocation.as_json:
            write_line("Crawling three small sites on this machine, 0.1 s between requests or as robots.txt asks.")
        run_crawl(invocation, [read_seed(site.url) for site in sites])
    if not invocation.as_json:
        write_line("")
        write_line("Next, try:")
        program = os.path.relpath(sys.argv[0]) if os.sep in sys.argv[0] else "comity"
        for example in ("domains list", "verify-politeness", f"why {sites[1].url}private/diary"):
            write_as_is(f"  {program} --state {folder}/state.db {example}")

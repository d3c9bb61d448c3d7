"""docs/grants.md: its example runs as it is written."""

from __future__ import annotations

import subprocess
import sys

from tests.documents import blocks, read_page
from tests.doors.web.served import Served
from tests.walk.site import Web, page


def test_the_example_with_httpx_runs(server: Served, web: Web) -> None:
    site = web.site({"/": page()}, robots="User-agent: *\nDisallow: /private\n")
    (example,) = (block for block in blocks(read_page("grants.md"), "python") if "httpx" in block)
    example = example.replace("http://127.0.0.1:8000", server.url).replace(
        "http://localhost:8080", site.url("").rstrip("/")
    )
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "200"
    assert second.startswith("Comity denies")
    assert "Disallow: /private" in second


def test_integrations_import_nothing_else_of_comity() -> None:
    script = (
        "import sys, comity.integrations.scrapy, comity.integrations.httpx; "
        "print(sorted(name for name in sys.modules if name.startswith('comity')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    allowed = ["comity", *(f"comity.integrations{each}" for each in ("", ".grants", ".httpx", ".scrapy"))]
    assert done.stdout.strip() == str(allowed)

"""Take a picture of every page of the console with demonstration data: light, dark, and on a phone.

Run it by `make screenshots`; the pictures are in build/screenshots. Names on the command line choose pages by part of
their path: `make screenshots ARGS="hosts queue"`. Every page is found by its route.
"""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import sync_playwright  # noqa: E402

from tests.console.looks import open_page  # noqa: E402
from tests.console.page_paths import page_paths, seed_audits  # noqa: E402
from tests.console.seeding import seed  # noqa: E402
from tests.doors.web.served import Served, served  # noqa: E402
from tests.servers.chromium import installed  # noqa: E402

FOLDER = ROOT / "build" / "screenshots"
LOOKS = {"light": {}, "dark": {"dark": True}, "phone": {"phone": True}}


def _console(folder: str) -> AbstractContextManager[Served]:
    places = {"pages": f"{folder}/pages", "audits": f"{folder}/audits"}
    return served(f"sqlite:///{folder}/state.db", env="dev", **places)


def main(wanted: list[str]) -> None:
    """Take the pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _console(folder) as console:
        seed(console.state)
        if not wanted or any(each in "audits" for each in wanted):
            seed_audits(console)
        chosen = [
            path
            for path in page_paths(console.state)
            if not wanted or any(each in (path if path != "/" else "dashboard") for each in wanted)
        ]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox"])
            for path in chosen:
                name = re.sub(r"[^\w.-]+", "-", path.strip("/")) or "dashboard"
                for look, options in LOOKS.items():
                    with open_page(browser, console.url, path, **options) as page:
                        file = FOLDER / f"{name}-{look}.png"
                        page.screenshot(path=file, full_page=True)
                        print(file.relative_to(ROOT))
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])

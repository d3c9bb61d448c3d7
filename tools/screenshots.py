"""Take a picture of every page of the console with demonstration data: light, dark, and on a phone.

Run it by `make screenshots`; the pictures are in build/screenshots. Names on the command line choose pages by part of
their path: `make screenshots ARGS="hosts queue"`. Every page that takes no parameter is found by its route; PATHS adds
those that need one.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fastapi.routing import iter_route_contexts  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from comity.doors.web.audiences import Audience, DeclaredRoute  # noqa: E402
from comity.doors.web.console.pages import PAGE_ROUTERS  # noqa: E402
from tests.console.looks import open_page  # noqa: E402
from tests.console.seeding import PATHS, seed  # noqa: E402
from tests.doors.web.served import served  # noqa: E402
from tests.servers.chromium import installed  # noqa: E402

FOLDER = ROOT / "build" / "screenshots"
LOOKS = {"light": {}, "dark": {"dark": True}, "phone": {"phone": True}}


def page_paths() -> Iterator[str]:
    """The pages that need no parameter, below the prefix."""
    for router in PAGE_ROUTERS:
        for context in iter_route_contexts(router.routes):
            route = context.original_route
            is_page = isinstance(route, DeclaredRoute) and route.rules.serves_pages
            if is_page and route.rules.audience is Audience.ADMIN and "GET" in (context.methods or ()):
                path = (context.path or "").removeprefix("/admin") or "/"
                if "{" not in path:
                    yield path


def main(wanted: list[str]) -> None:
    """Take the pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, served(f"sqlite:///{folder}/state.db", env="dev") as console:
        seed(console.state)
        paths = dict.fromkeys([*page_paths(), *(path for find in PATHS for path in find(console.state))])
        chosen = [
            path
            for path in paths
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

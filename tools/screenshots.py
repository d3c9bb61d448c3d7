"""Take a picture of every page of the console: light, dark, and on a phone.

Run it by `make screenshots`; the pictures are in build/screenshots. Names on the command line choose pages by part of
their name: `make screenshots ARGS="hosts queue"`. Every page is found by its route, and shown with demonstration data;
`empty` are pages of an empty state, `error` are error pages.
"""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from tests.console.looks import open_page  # noqa: E402
from tests.console.page_paths import page_paths, seed_audits  # noqa: E402
from tests.console.seeding import seed  # noqa: E402
from tests.doors.web.served import PASSWORD_HASH, Served, served  # noqa: E402
from tests.servers.chromium import installed  # noqa: E402

FOLDER = ROOT / "build" / "screenshots"
LOOKS = {"light": {}, "dark": {"dark": True}, "phone": {"phone": True}}
EMPTY = (
    *("/", "/sources", "/crawl", "/crawl/logs", "/crawl/runs", "/hosts", "/queue", "/crawl_policies", "/crawl_jobs"),
    *("/crawl_results", "/crawl_results/late", "/bots", "/webhooks", "/webhooks/deliveries", "/pages", "/audits"),
    *("/postings", "/takedowns", "/activity"),
)
ERRORS = {"404": "/nowhere", "404-noun": "/hosts/unknown.example", "422": "/crawl_jobs/nothing"}


def _console(folder: Path, **settings: str) -> AbstractContextManager[Served]:
    places = {"pages": str(folder / "pages"), "audits": str(folder / "audits")}
    return served(f"sqlite:///{folder / 'state.db'}", env="dev", **places, **settings)


def _take(browser: Browser, console: Served, pictures: dict[str, str]) -> None:
    """Take pictures: of the paths, under the names."""
    for name, path in pictures.items():
        for look, options in LOOKS.items():
            with open_page(browser, console.url, path, **options) as page:
                file = FOLDER / f"{name}-{look}.png"
                # A window as high as the page: what sticks to the window, such as the sections, has its full height.
                assert page.viewport_size is not None
                height = page.evaluate("document.documentElement.scrollHeight")
                page.set_viewport_size({"width": page.viewport_size["width"], "height": height})
                page.screenshot(path=file)
                print(file.relative_to(ROOT), flush=True)


def _name(path: str) -> str:
    return re.sub(r"[^\w.-]+", "-", path.strip("/"))[:100] or "dashboard"


def main(wanted: list[str]) -> None:
    """Take the pictures that are wanted; all without names."""
    FOLDER.mkdir(parents=True, exist_ok=True)

    def chosen(pictures: dict[str, str]) -> dict[str, str]:
        return {name: path for name, path in pictures.items() if not wanted or any(each in name for each in wanted)}

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox"])
        filled, empty, guarded = (Path(folder, name) for name in ("filled", "empty", "guarded"))
        for each in (filled, empty, guarded):
            each.mkdir()
        with _console(filled) as console:
            seed(console.state)
            if not wanted or any(each in "audits" for each in wanted):
                seed_audits(console)
        with _console(filled) as console:  # another: the first counted the hours of the past before there were rows
            _take(browser, console, chosen({_name(path): path for path in page_paths(console.state)}))
        if some := chosen({f"empty-{_name(path)}": path for path in EMPTY}):
            with _console(empty) as console:
                _take(browser, console, some)
        others = {"login": "/login"} | {f"error-{name}": path for name, path in ERRORS.items()}
        if some := chosen(others):
            with _console(guarded) as console:
                _take(browser, console, {name: path for name, path in some.items() if name != "login"})
            if "login" in some:
                with _console(guarded, admin_password_hash=PASSWORD_HASH) as console:
                    _take(browser, console, {"login": "/login"})
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])

"""docs/output.md: every command on it runs, and its tables are true."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from comity.doors.schemas.runs import EVENTS
from comity.run.crawl.view import LEFT_OUT_CODES
from comity.telemetry.request_log import FIELDS
from tests.documents import blocks
from tests.walk.crawling import Place
from tests.walk.site import Web, tree

PAGE = Path(__file__).parents[2] / "docs" / "output.md"


def request_fields() -> str:
    lines = ["| field | meaning |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in FIELDS.items())]
    return "\n".join(lines)


def test_every_command_on_the_page_runs(web: Web, place: Place) -> None:
    site = web.site(tree(6))
    lines = [line for block in blocks(PAGE.read_text(encoding="utf-8"), "sh") for line in block.splitlines()]
    assert len(lines) > 12
    assert place.server is not None
    environment = place.server().on_the_path(place.environment() | {"COMITY_DELAY": "0.01"})
    for line in lines:
        command = line.replace("https://example.com/", site.url())
        done = subprocess.run(["sh", "-c", command], cwd=place.folder, env=environment, capture_output=True, timeout=60)
        assert done.returncode == 0, (line, done.stderr)
        if ">" in line:
            assert (place.folder / line.rpartition("> ")[2]).stat().st_size > 0, line
    assert (place.folder / "pages.csv").read_bytes().startswith(b"url,surt_key,")
    assert len((place.folder / "requests.jsonl").read_text().splitlines()) >= 6
    assert '"event": "summary"' in (place.folder / "events.jsonl").read_text().splitlines()[-1]


def test_the_page_lists_every_event_and_every_field_of_a_request() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text[text.index("| event |") : text.index("[json.md]")], re.MULTILINE)
    assert listed == list(EVENTS)
    fields = text[text.index("<!-- request fields -->") : text.index("<!-- end of request fields -->")]
    assert fields.strip() == f"<!-- request fields -->\n{request_fields()}"


def test_every_reason_for_leaving_a_link_out_has_words() -> None:
    from comity.doors.cli.crawl.rendering import left_out_line

    for code in LEFT_OUT_CODES:
        assert "_" not in left_out_line({code: (1, None)}), code

"""`comity audit`: a site is audited, reported, listed and compared; what cannot be read is explained."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow.parquet
import pytest

import comity as library
from comity.doors.cli.audit.results import write_comparison
from comity.doors.schemas.audits import AuditComparisonView, AuditInfoView, AuditView
from comity.doors.schemas.base import Schema
from comity.model.audit import AuditInfo
from comity.model.run import EndReason
from comity.run.audit.audit import advice_for
from comity.run.signals import INTERRUPTED
from tests.audit.memory import audit_info
from tests.doors.command_line import PATIENCE_S, CommandLine
from tests.servers.ports import closed_port
from tests.servers.waiting import wait_until
from tests.walk.site import Answer, Route, Site, Web, page, redirect

ROBOTS = "User-agent: *\nDisallow: /private/\n\nUser-agent: GPTBot\nDisallow: /\n"
SHOP: dict[str, Route] = {
    "/": page("/a", "/gone", "/private/x", title="Shop"),
    "/a": page("/", title="Shop"),
}
MENDED: dict[str, Route] = {"/": page("/a", "/private/x", title="Shop"), "/a": page("/", title="A page of its own")}


@pytest.fixture
def audit(comity: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
    return comity


def strictly(schema: type[Schema], document: Any) -> None:
    schema.model_validate(document)
    assert set(document) == set(schema.model_fields)


def codes(document: Any) -> set[str]:
    return {finding["code"] for finding in document["findings"]}


def test_an_audit_from_first_request_to_comparison(audit: CommandLine, web: Web) -> None:
    site = web.site(SHOP, robots=ROBOTS)
    answer = audit("audit", site.url(), "--report", "a.html", "--tables", "tables", "--fail-on", "error", "--json")
    assert answer.code == 1, answer
    first = answer.document
    strictly(AuditView, first)
    assert {"broken_link", "duplicate_title"} <= codes(first)
    assert first["totals"]["denied"] == 1
    assert "Links to pages" in Path("a.html").read_text(encoding="utf-8")
    assert pyarrow.parquet.read_table("tables/pages.parquet").num_rows == first["totals"]["urls"]
    assert first["report"] == "a.html"
    gpt = next(agent for agent in first["agents"] if agent["agent"] == "GPTBot")
    assert gpt["by_section"]["/"] == {"allowed": False, "line_number": 5, "rule": "Disallow: /"}

    (listed,) = audit.json("audit", "list")
    strictly(AuditInfoView, listed)
    assert listed["audit_id"] in audit.done("audit", "list").out
    requests = len(site.log)
    again = audit.json("audit", "report", listed["audit_id"])
    assert again | {"report": "a.html", "tables": first["tables"]} == first
    assert len(site.log) == requests, "a stored audit is reported without a request"

    site.routes = MENDED | {"/robots.txt": site.routes["/robots.txt"]}
    assert audit("audit", site.url(), "--fail-on", "error").code == 0
    compared = audit.json("audit", "compare", listed["audit_id"], site.url())
    strictly(AuditComparisonView, compared)
    changes = {change["code"]: change for change in compared["changes"]}
    assert [each["url"] for each in changes["broken_link"]["better"]] == [site.url("/gone")]
    assert not changes["broken_link"]["worse"]
    assert compared["better"] >= 2
    assert audit.json("audit", "compare", site.url(), site.url()) == compared, "a site means its last two audits"
    assert audit("audit", "compare", site.url(), listed["audit_id"], "--fail-on", "error").code == 1
    assert audit("audit", "compare", listed["audit_id"], site.url(), "--fail-on", "error").code == 0


def test_the_summary_fits_80_columns(audit: CommandLine, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    long = "/a-rather-long-address-of-a-page-that-nobody-types-" + "x" * 60
    site = web.site({"/": page(long, title="Start")}, robots=ROBOTS)
    answer = audit("audit", site.url())
    assert answer.code == 0, answer
    assert max(map(len, answer.lines)) <= 80
    assert "error" in answer.out
    assert "1 error, " in answer.out
    (listed,) = audit.json("audit", "list")
    answer = audit("audit", "compare", listed["audit_id"], site.url())
    assert answer.code == 0
    assert max(map(len, answer.lines)) <= 80
    assert "0 worse, 0 better" in answer.out


def ending_of(audit: CommandLine, site: Site | str, *options: str) -> tuple[int, Any]:
    url = site if isinstance(site, str) else site.url()
    answer = audit("audit", url, "--json", *options)
    return answer.code, answer.document


def test_a_site_that_does_not_answer(audit: CommandLine) -> None:
    code, document = ending_of(audit, f"http://127.0.0.1:{closed_port()}/", "--retries", "0")
    assert code == 1
    assert document["audit"]["ended_by"] in ("connection_failure", "robots_unreachable")
    assert document["advice"]


def test_a_site_that_disallows_everything(audit: CommandLine, web: Web) -> None:
    site = web.site(SHOP, robots="User-agent: *\nDisallow: /\n")
    code, document = ending_of(audit, site)
    assert (code, document["audit"]["ended_by"]) == (1, "robots_denied")
    assert "comity robots" in document["advice"]
    (decision,) = [each for each in document["decisions"] if each["url"] == site.url()]
    assert (decision["allowed"], decision["matched_rule"], decision["line"]) == (False, "Disallow: /", 2)
    name = document["audit"]["audit_id"]
    compared = audit("audit", "compare", name, name, "--fail-on", "error")
    assert compared.code == 1, "an audit without a page is no proof that all faults are gone"
    assert "read no page" in compared.err


def test_the_summary_says_once_why_an_audit_ended(audit: CommandLine, web: Web) -> None:
    site = web.site({"/": page("/a", "/b", "/c"), "/a": page(), "/b": page(), "/c": page()}, robots=ROBOTS)
    spent = audit("audit", site.url(), "--max-pages", "2", "--no-sitemaps", "--report", "spent.html")
    assert "Ended: the limit of 2 pages per run was reached." in spent.out
    assert "80 %" not in spent.out
    assert "The audit ended early: the limit of 2 pages" in Path("spent.html").read_text(encoding="utf-8")

    closed = audit("audit", web.site(SHOP, robots="User-agent: *\nDisallow: /\n").url())
    assert "blocked by robots.txt. Ended: robots.txt forbids it." in closed.out

    broken = audit("audit", web.site(SHOP | {"/robots.txt": Answer(500)}).url())
    assert "Ended: robots.txt could not be read." in broken.out
    assert "blocked by robots.txt" not in broken.out

    port = audit("audit", "http://127.0.0.1:9/")
    assert "Ended: port 9 is not used for HTTP." in port.out
    assert "Check the address and its port" in port.out


def test_a_site_that_redirects_elsewhere_is_followed_and_said(audit: CommandLine, web: Web) -> None:
    there = web.site(MENDED, robots=ROBOTS)
    here = web.site({"/": redirect(there.url(), 301)}, robots=ROBOTS)
    code, document = ending_of(audit, here)
    assert code == 0
    assert any(there.url() in each["sentence"] for each in document["audit"]["warnings"])


def test_a_site_that_is_taken_down(audit: CommandLine, web: Web) -> None:
    site = web.site(SHOP, robots=ROBOTS)
    audit("takedown", "add", site.host)
    code, document = ending_of(audit, site)
    assert (code, document["audit"]["ended_by"]) == (1, "taken_down")
    assert "comity takedown remove" in document["advice"]
    assert site.log == []


def test_a_site_that_needs_a_login(audit: CommandLine, web: Web) -> None:
    site = web.site({"/": Answer(401)}, robots=ROBOTS)
    code, document = ending_of(audit, site, "--retries", "0")
    assert code == 1
    assert document["audit"]["ended_by"] in ("login_required", "forbidden")
    assert "--auth" in document["advice"]


def test_a_site_of_which_every_page_leads_to_a_login(audit: CommandLine, web: Web) -> None:
    form = page(body='<form action="/login"><input type="password" name="p"></form>')
    site = web.site({"/": redirect("/login"), "/login": form}, robots=ROBOTS)
    code, document = ending_of(audit, site)
    assert (code, document["audit"]["ended_by"]) == (1, "login_required")
    assert "--login" in document["advice"]


def test_a_start_that_is_no_page(audit: CommandLine, web: Web) -> None:
    code, document = ending_of(audit, web.site({"/": Answer(404)}, robots=ROBOTS))
    assert code == 1
    assert codes(document) >= {"broken_page"}
    assert document["advice"].startswith("Check the address")


@pytest.mark.parametrize("reason", sorted(EndReason))
def test_advice_has_no_gaps(reason: EndReason) -> None:
    info = audit_info(ended_by=str(reason), pages=0)
    advice = advice_for(info)
    assert advice is None or "{" not in advice
    one_page = audit_info(ended_by=str(reason), pages=1)
    assert (advice_for(one_page) is None) is (reason is not EndReason.LOGIN_REQUIRED)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("audit", "compar"), "did you mean comity audit compare?"),
        (("audit", "shop"), "write it as https://example.com/"),
        (("audit", "https://a.example/", "--report", "."), "is a folder"),
        (("audit", "https://a.example/", "--report", "a.pdf"), "a.pdf must end with .html; for other formats"),
        (("audit", "report", "a.example", "--report", "audit"), "audit must end with .html"),
        (("audit", "https://a.example/", "--report", "no/such/a.html"), "there is no folder no/such"),
        (("audit", "https://a.example/", "--tables", "file"), "is a file"),
        (("audit", "https://a.example/", "--fail-on", "fatal"), "--fail-on"),
        (("audit", "https://a.example/", "b.example"), "unexpected argument: b.example"),
        (("audit", "ftp://a.example/"), "a.example"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_done(
    comity: CommandLine, arguments: tuple[str, ...], said: str
) -> None:
    Path("file").write_text("")
    answer = comity(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert not Path("comity-data").exists()


def test_an_audit_that_is_not_there(comity: CommandLine) -> None:
    for arguments in (("audit", "report", "nowhere.example"), ("audit", "compare", "a", "b")):
        answer = comity(*arguments, "--json")
        assert answer.code == 1
        assert json.loads(answer.err)["error"] == "not_found"
        assert "comity audit list" in answer.err
    assert comity.done("audit", "list").out == "No audit is stored.\n"


def test_a_site_with_one_audit_has_nothing_to_compare_it_with(audit: CommandLine, web: Web) -> None:
    site = web.site(SHOP, robots=ROBOTS)
    audit("audit", site.url())
    answer = audit("audit", "compare", site.url(), site.url(), "--fail-on", "warning")
    assert (answer.code, answer.out) == (1, "")
    assert f"there is no audit of {site.url()} before " in answer.err


@pytest.mark.parametrize("said", ["{", "[]", "null", '{"list_id": 1}'])
def test_one_damaged_audit_does_not_hide_the_others(audit: CommandLine, web: Web, said: str) -> None:
    site = web.site(SHOP, robots=ROBOTS)
    audit("audit", site.url())
    damaged = Path("comity-data/audits/damaged-1")
    damaged.mkdir()
    (damaged / "audit.json").write_text(said)
    answer = audit("audit", "list")
    assert answer.code == 0, answer
    assert site.host.replace(":", "-") in answer.out
    assert f"{damaged / 'audit.json'} cannot be read" in answer.err
    assert audit("audit", "report", site.url()).code == 0
    assert audit("audit", "report", "damaged-1").code == 1


def test_an_audit_with_damaged_tables_says_which_file_it_is(audit: CommandLine, web: Web) -> None:
    site = web.site(SHOP, robots=ROBOTS)
    audit("audit", site.url())
    (folder,) = Path("comity-data/audits").iterdir()
    robots = folder / "tables" / "robots.jsonl"
    for path in (robots, folder / "tables" / "pages.jsonl.zst", folder / "tables" / "outcomes.json"):
        whole = path.read_bytes()
        path.write_bytes(whole[:20])
        answer = audit("audit", "report", site.url())
        assert (answer.code, answer.out) == (1, "")
        assert "is damaged" in answer.err
        assert str(path.relative_to(folder).parts[1]).partition(".")[0] in answer.err
        assert "unexpected" not in answer.err
        path.write_bytes(whole)


def test_a_comparison_says_which_audit_ended_early(capsys: pytest.CaptureFixture[str]) -> None:
    from comity.model.audit import AuditComparison

    def info(name: str, left: int) -> AuditInfo:
        return audit_info(audit_id=name, left=left)

    write_comparison(AuditComparison(info("one", 0), info("two", 5), ()))
    said = capsys.readouterr().out
    assert "two ended early (5 known URLs not visited)" in said
    assert "one ended early" not in said


def test_python_audits_too(audit: CommandLine, web: Web) -> None:
    site = web.site(SHOP, robots=ROBOTS)
    before = library.audit(site.url(), allow_networks=["127.0.0.0/8"])
    assert before.info.pages == 2
    assert "broken_link" in {finding.code for finding in before.findings}
    assert {link.link.url for link in before.links()} >= {site.url("/gone")}
    assert {each.url for each in before.pages()} >= {site.url("/"), site.url("/gone")}
    assert before.write_html("python.html").stat().st_size > 10_000
    assert (before.write_tables("tables") / "links.csv").is_file()
    stored = library.read_audit(before.folder)
    assert stored.findings == before.findings
    assert stored.compare(before).same == sum(finding.count for finding in before.findings)
    assert before.advice is None
    with pytest.raises(library.ComityError, match="comity audit list"):
        library.read_audit("nowhere.example")
    with pytest.raises(library.BadInput):
        library.audit("not a site")


@pytest.mark.roomy
def test_an_audit_that_is_stopped_goes_on_by_the_same_command(audit: CommandLine, web: Web) -> None:
    release = Event()
    held = Answer(body=page("/b"), held=release)
    site = web.site({"/": page("/a"), "/a": held, "/b": page("/")}, robots=ROBOTS)
    arguments = ("audit", site.url(), "--allow-network", "127.0.0.0/8", "--json")
    with audit.started(*arguments) as process:
        wait_until(lambda: bool(site.of("/a")), PATIENCE_S, "the page that is held")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert b"finishing the requests in flight" in process.stderr.readline()
        release.set()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == INTERRUPTED, (out, err)
    stopped = json.loads(out)["audit"]
    again = audit(*arguments)
    assert again.code == 0, again
    assert again.document["audit"]["audit_id"] == stopped["audit_id"]
    assert again.document["audit"]["pages"] == 3
    assert len(site.of("/")) == 1, "what was read is not read again"

"""The planted sites and the clean one: every planted fault is found, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from comity.model.audit import AuditData, FindingCode
from comity.rules.audit.findings import find
from comity.run.audit.audit import AuditRun, plan_audit
from comity.settings import read_settings
from tests.audit.scoring import score
from tests.audit.sites.kinds import KINDS
from tests.audit.sites.labelled import AUTHORITY, LabelledSite, read_folder, served, write_folder
from tests.audit.sites.planted import PLANTED, bare_site, clean_site, closed_site
from tests.audit.small_audit import SmallAudit
from tests.walk.site import Web

MakeSite = Callable[[], LabelledSite]


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


def differences(site: LabelledSite, web: Web, audit: Callable[[str], AuditData]) -> tuple[set[str], set[str]]:
    """What was missed and what was too much, as code and path."""
    with served(site, web) as origin:
        found = find(audit(origin + site.start))
        scored = score(site.labels(origin), ((each.code, each.pages) for each in found))
    # A page that is slow because this machine is busy is no fault of the site.
    wrong = [each for each in scored.wrong if each.code != FindingCode.SLOW_PAGE]
    return (
        {f"{code} {url.removeprefix(origin)}" for code, url in scored.missed},
        {f"{code} {url.removeprefix(origin)}" for code, url in wrong},
    )


@pytest.mark.parametrize("make", [*PLANTED, clean_site, *KINDS], ids=lambda make: make.__name__)
def test_an_audit_finds_every_planted_fault_and_no_other(
    make: MakeSite, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))

    def audit(url: str) -> AuditData:
        settings = read_settings(
            state=str(tmp_path / "state.db"),
            audits=str(tmp_path / "audits"),
            allow_networks=("127.0.0.0/8",),
            delay_s=0.0,
            retries=0,
        )
        run = AuditRun(plan_audit(settings, url))
        run.start()
        assert run.wait(120)
        return run.close()

    assert differences(make(), web, audit) == (set(), set())


@pytest.mark.parametrize("make", [bare_site, closed_site, clean_site], ids=lambda make: make.__name__)
def test_the_rules_alone_find_the_same(make: MakeSite, web: Web) -> None:
    assert differences(make(), web, lambda url: SmallAudit(url.rstrip("/")).run()) == (set(), set())


def test_each_code_is_planted() -> None:
    faults = [fault for make in PLANTED for fault in make().faults]
    assert {fault.code for fault in faults} == set(FindingCode)
    assert len(faults) >= 40


def test_a_site_written_to_a_folder_is_the_same_site(tmp_path: Path) -> None:
    site = clean_site()
    write_folder(site, tmp_path / "clean")
    again = read_folder(tmp_path / "clean")
    assert again.is_secure == site.is_secure
    origin = "https://127.0.0.1:1"
    assert again.web_routes(origin) == site.web_routes(origin)
    assert again.labels(origin) == site.labels(origin)

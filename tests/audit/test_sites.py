"""The planted sites and the clean one: every planted fault is found, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from comity.model.audit import FindingCode
from comity.rules.audit.findings import find
from tests.audit.scoring import score
from tests.audit.sites.labelled import LabelledSite, read_folder, served, write_folder
from tests.audit.sites.planted import PLANTED, clean_site
from tests.audit.small_audit import SmallAudit
from tests.walk.site import Web


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


def found_on(site: LabelledSite, web: Web) -> tuple[set[str], set[str]]:
    """What was missed and what was too much, as code and path."""
    with served(site, web) as origin:
        found = find(SmallAudit(origin, site.start).run())
        scored = score(site.labels(origin), ((each.code, each.pages) for each in found))
    return (
        {f"{code} {url.removeprefix(origin)}" for code, url in scored.missed},
        {f"{code} {url.removeprefix(origin)}" for code, url in scored.wrong},
    )


@pytest.mark.parametrize("make", PLANTED, ids=lambda make: make.__name__)
def test_every_planted_fault_is_found_and_no_other(make, web: Web) -> None:
    missed, wrong = found_on(make(), web)
    assert missed == set()
    assert wrong == set()


def test_the_clean_site_has_no_finding(web: Web) -> None:
    assert found_on(clean_site(), web) == (set(), set())


def test_each_code_is_planted() -> None:
    faults = [fault for make in PLANTED for fault in make().faults]
    assert {fault.code for fault in faults} == set(FindingCode)
    assert len(faults) >= 40


def test_a_site_written_to_a_folder_is_the_same_site(tmp_path: Path, web: Web) -> None:
    site = clean_site()
    write_folder(site, tmp_path / "clean")
    again = read_folder(tmp_path / "clean")
    assert again.is_secure == site.is_secure
    origin = "https://127.0.0.1:1"
    assert again.web_routes(origin) == site.web_routes(origin)
    assert again.labels(origin) == site.labels(origin)

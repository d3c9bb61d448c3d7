"""Postings that share a title, a reference or a link: what is one stays one, in all its places, run after run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from comity.model.source import Counts
from tests.walk.site import Answer, Web
from tests.walk.sourcing import Office

PLACES = ("Nairobi, Kenya", "Kampala, Uganda", "Arusha, Tanzania")
ALL = "Nairobi, Kenya; Kampala, Uganda; Arusha, Tanzania"
Row = tuple[str, str, str]  # title, link, place


def table(rows: Sequence[Row], following: str = "") -> str:
    lines = "".join(
        f'<tr><td><a href="{link}">{title}</a></td><td>{place}</td><td>PO-2026-1</td></tr>'
        for title, link, place in rows
    )
    link = f'<a rel="next" href="{following}">Next</a>' if following else ""
    head = "<tr><th>Position</th><th>Location</th><th>Reference</th></tr>"
    return f"<html lang=en><title>Careers</title><h1>Vacancies</h1><table>{head}{lines}</table>{link}</html>"


def found(bureau: Office) -> list[tuple[str, str]]:
    rows = bureau.rows("SELECT apply_url, location_raw FROM job_postings WHERE closed_at IS NULL ORDER BY apply_url")
    return [(row["apply_url"].rpartition("/")[2], row["location_raw"]) for row in rows]


def changed(counts: Counts) -> tuple[int, int, int]:
    return counts.inserted, counts.updated, counts.closed


def test_one_title_and_reference_in_three_countries_are_three_postings(web: Web, bureau: Office) -> None:
    rows = [("Programme Officer", f"/jobs/officer-{place[:3].lower()}", place) for place in PLACES]
    site = web.site({"/careers": table(rows)})
    source = bureau.add(site.url("/careers"))
    assert changed(bureau.run(source).counts) == (3, 0, 0)
    assert found(bureau) == sorted((link.rpartition("/")[2], place) for _, link, place in rows)
    assert changed(bureau.run(source).counts) == (0, 0, 0)
    site.routes["/careers"] = table(rows[:2])
    assert changed(bureau.run(source).counts) == (0, 0, 1)


def test_without_links_of_their_own_places_tell_postings_apart(web: Web, bureau: Office) -> None:
    posted = [{"@type": "JobPosting", "title": "Officer", "identifier": "PO-17", "jobLocation": p} for p in PLACES]
    page = f'<title>Careers</title><script type="application/ld+json">{json.dumps(posted)}</script>'
    source = bureau.add(web.site({"/careers": page}).url("/careers"))
    assert changed(bureau.run(source).counts) == (3, 0, 0)
    assert sorted(place for _, place in found(bureau)) == sorted(PLACES)
    assert changed(bureau.run(source).counts) == (0, 0, 0)


def test_one_posting_listed_for_each_place_is_one_with_all_places(web: Web, bureau: Office) -> None:
    for at, link in enumerate(("/jobs/officer", "/jobs/4711")):
        rows = [("Programme Officer", link, place) for place in PLACES]
        site = web.site({"/careers": table(rows)})
        source = bureau.add(site.url("/careers"))
        assert changed(bureau.run(source).counts) == (1, 0, 0)
        assert found(bureau)[-1 if at else 0][1] == ALL
        assert changed(bureau.run(source).counts) == (0, 0, 0)
        # Another order is no change; a place that is added or goes away is one, of the same posting.
        site.routes["/careers"] = table(rows[::-1])
        assert changed(bureau.run(source).counts) == (0, 0, 0)
        site.routes["/careers"] = table(rows[:2])
        assert changed(bureau.run(source).counts) == (0, 1, 0)
        site.routes["/careers"] = table(rows)
        assert changed(bureau.run(source).counts) == (0, 1, 0)
        bureau.execute("DELETE FROM job_sightings")
        bureau.execute("DELETE FROM job_postings")


def test_places_on_several_pages_are_joined_whichever_page_is_unchanged(web: Web, bureau: Office) -> None:
    rows = [("Programme Officer", "/jobs/officer", place) for place in PLACES]
    other = ("Driver", "/jobs/driver", "Goma, DRC")
    first = Answer(body=table([rows[0], other], "/careers?page=2"), etag='"one"')
    second = Answer(body=table(rows[1:]), etag='"two"')
    site = web.site({"/careers": first, "/careers?page=2": second})
    source = bureau.add(site.url("/careers"))
    assert changed(bureau.run(source).counts) == (2, 0, 0)
    assert dict(found(bureau))["officer"] == ALL
    for _ in range(3):
        assert changed(bureau.run(source).counts) == (0, 0, 0)
    assert dict(found(bureau))["officer"] == ALL


def test_a_place_that_appears_on_a_later_page_is_joined_at_the_next_run(web: Web, bureau: Office) -> None:
    rows = [("Programme Officer", "/jobs/officer", place) for place in PLACES]
    driver, nurse = ("Driver", "/jobs/driver", "Goma, DRC"), ("Nurse", "/jobs/nurse", "Juba, South Sudan")
    first = Answer(body=table([rows[0], driver], "/careers?page=2"), etag='"one"')
    site = web.site({"/careers": first, "/careers?page=2": Answer(body=table([nurse]), etag='"two"')})
    source = bureau.add(site.url("/careers"))
    assert changed(bureau.run(source).counts) == (3, 0, 0)
    site.routes["/careers?page=2"] = Answer(body=table([nurse, rows[1]]), etag='"three"')
    counts = [bureau.run(source).counts for _ in range(4)]
    assert [each.inserted + each.closed for each in counts] == [0, 0, 0, 0]
    assert [each.updated for each in counts] == [0, 1, 0, 0]
    assert dict(found(bureau))["officer"] == "Nairobi, Kenya; Kampala, Uganda"


def test_items_of_a_feed_without_links_are_kept_and_stay_what_they_are(web: Web, bureau: Office) -> None:
    def feed(*items: str) -> Answer:
        body = f"<rss><channel><title>Jobs</title><link>/careers</link>{''.join(items)}</channel></rss>"
        return Answer(body=body, type="application/rss+xml")

    nurse = "<item><title>Nurse</title><guid isPermaLink='false'>VA-2026-17</guid></item>"
    second = "<item><title>Nurse</title><guid isPermaLink='false'>VA-2026-18</guid></item>"
    driver = "<item><title>Driver</title></item>"
    site = web.site({"/feed": feed(nurse, second, driver)})
    source = bureau.add(site.url("/feed"), source_type="rss")
    assert changed(bureau.run(source).counts) == (3, 0, 0)
    assert changed(bureau.run(source).counts) == (0, 0, 0)
    site.routes["/feed"] = feed(driver, nurse)
    assert changed(bureau.run(source).counts) == (0, 0, 1)
    site.routes["/feed"] = feed(nurse.replace("Nurse", "Senior Nurse"), driver)
    assert changed(bureau.run(source).counts) == (0, 1, 0)
    assert bureau.titles() == ["Driver", "Senior Nurse"]

"""A slip gets a sentence, not silence: no folder called s3:, no empty answer that says there is nothing."""

from __future__ import annotations

import pytest

import comity as library
from comity.model.errors import BadInput
from comity.model.job import CAREER_TYPES, LEVELS, MISSION_TAGS, MODALITIES
from comity.rules.search.query import checked_filter
from comity.run.settings_in_force import missing_contact, unknown_variables
from comity.settings import Settings, read_settings
from tests.doors.command_line import CommandLine


@pytest.mark.parametrize(
    "arguments",
    [
        ("crawl", "example.com", "--into", "s3://bucket/pages"),
        ("crawl", "example.com", "--into", "gs://bucket/pages.jsonl"),
        ("crawl", "example.com", "--into", "file:///tmp/pages"),
        ("work", "--idle-exit", "--into", "S3://bucket/pages"),
        ("pages", "list", "--pages", "s3://bucket/pages"),
        ("pages", "export", "s3://bucket/pages.jsonl"),
        ("search", "--country", "Kenyaa"),
        ("search", "--country", "XQ"),
        ("search", "--level", "boss"),
        ("search", "--modality", "remot"),
        ("search", "--type", "forever"),
        ("search", "--tag", "helth"),
        ("search", "--language", "Klingonese"),
        ("sources", "add", "https://e.example/careers", "--org-type", "foo"),
        ("sources", "add", "https://e.example/careers", "--country", "Kenyaa"),
        ("sources", "list", "--org-type", "foo"),
        ("crawl", "example.com", "--user-agent", "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/115.0"),
    ],
)
def test_a_slip_is_an_error_before_anything_is_made(comity: CommandLine, arguments: tuple[str, ...]) -> None:
    told = comity(*arguments)
    assert told.code == 2, told
    assert told.out == ""
    assert told.err.startswith("comity: ")
    assert told.err.count("\n") == 1
    assert list(comity.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("search", "--country", "Kenyaa"), "--country: 'Kenyaa' is not a country; did you mean Kenya?"),
        (("search", "--tag", "helth"), "did you mean health?"),
        (("search", "--language", "Englsh"), "did you mean English?"),
        (("sources", "list", "--org-type", "acadmic"), "did you mean academic?"),
        (
            ("crawl", "example.com", "--into", "s3://b/x"),
            "s3://b/x: pages are stored on this machine; s3:// is not supported",
        ),
    ],
)
def test_the_nearest_that_is_known_is_named(comity: CommandLine, arguments: tuple[str, ...], words: str) -> None:
    assert words in comity(*arguments).err


@pytest.mark.parametrize(
    ("column", "written", "meant"),
    [
        (
            "country_iso",
            ["Kenya", "ke", "KEN", "south sudan", "Côte d'Ivoire", "UK"],
            ["KE", "KE", "KE", "SS", "CI", "GB"],
        ),
        ("language", ["en", "English", "FRENCH", "pt-BR", "spa"], ["en", "en", "fr", "pt", "es"]),
        ("level_norm", ["Senior"], ["senior"]),
        ("career_type", ["Fixed-Term"], ["fixed-term"]),
        ("org_name", ["Any House"], ["Any House"]),
    ],
)
def test_a_filter_is_taken_as_people_write_it(column: str, written: list[str], meant: list[str]) -> None:
    assert list(checked_filter(column, written)) == meant


def test_every_word_of_a_vocabulary_is_known() -> None:
    for column, known in (
        ("level_norm", LEVELS),
        ("work_modality", MODALITIES),
        ("career_type", CAREER_TYPES),
        ("mission_tags", MISSION_TAGS),
    ):
        assert checked_filter(column, known) == known


@pytest.mark.parametrize("place", ["/typo", "typo.parquet", "typo.duckdb", "typo.jsonl"])
def test_a_place_that_is_named_and_not_there_is_an_error(comity: CommandLine, place: str) -> None:
    with pytest.raises(BadInput, match="there is no such file or folder"):
        library.read_pages(place)
    for command in (("pages", "list"), ("pages", "query", "SELECT 1"), ("pages", "parts")):
        told = comity(*command, "--pages", place)
        assert (told.code, told.out) == (2, "")
        assert "there is no such file or folder" in told.err


def test_the_default_place_may_still_be_empty(comity: CommandLine) -> None:
    assert list(library.read_pages()) == []
    assert comity("pages", "list").code == 0


def test_an_address_is_no_place_for_pages_from_python(comity: CommandLine) -> None:
    with pytest.raises(BadInput, match="s3:// is not supported"):
        list(library.crawl("http://127.0.0.1:9/", into="s3://bucket/pages"))
    with pytest.raises(BadInput, match="s3:// is not supported"):
        library.read_pages("s3://bucket/pages")
    assert list(comity.folder.iterdir()) == []


def test_a_variable_that_nobody_reads_is_told_with_the_nearest(
    comity: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMITY_DELAYS", "5")
    monkeypatch.setenv("COMITY_TRACEBACK", "")
    told = comity("status")
    assert told.code == 0
    assert "comity: COMITY_DELAYS is not a known setting; did you mean COMITY_DELAY?\n" in told.err
    assert "TRACEBACK" not in told.err
    told = comity("status", "--json")
    assert isinstance(told.document, dict), "stdout is one document all the same"
    with pytest.warns(UserWarning, match="did you mean COMITY_DELAY"):
        library.read_pages()


def test_every_setting_is_a_known_variable() -> None:
    names = {
        str(name)
        for field in Settings.model_fields.values()
        for name in field.validation_alias.choices  # type: ignore[union-attr]
    }
    assert unknown_variables(dict.fromkeys(names, "x")) == []
    assert len(unknown_variables({f"COMITY_X{number}": "" for number in range(100)})) == 10


def test_without_a_contact_nothing_is_made_up_and_it_is_told_once(
    comity: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMITY_CONTACT")
    settings = read_settings()
    assert settings.identity == f"ComityBot/{library.__version__}"
    assert missing_contact(settings) is not None
    for named in (
        read_settings(contact="me@example.org"),
        read_settings(user_agent="AcmeBot/1.0 (+https://acme.example/bot)"),
        read_settings(user_agent="AcmeBot/1.0 (me@example.org)"),
    ):
        assert missing_contact(named) is None
    assert read_settings(contact="me@example.org").identity == f"ComityBot/{library.__version__} (+me@example.org)"
    told = comity("crawl", "http://127.0.0.1:9/", "--json")
    assert told.err.count("COMITY_CONTACT") == 1
    assert "COMITY_CONTACT" not in told.out
    assert comity("status").err == "", "who asks no site needs no contact"


def test_a_user_agent_that_begins_like_a_browser_is_known_by_its_own_name() -> None:
    agent = "Mozilla/5.0 (compatible; AcmeBot/1.0; +https://acme.example/bot)"
    assert read_settings(user_agent=agent).identity == agent
    with pytest.raises(BadInput, match="names only a browser; add your crawler's name"):
        read_settings(user_agent="Mozilla/5.0 (Windows NT 10.0)")

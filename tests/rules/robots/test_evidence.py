"""What a verdict and a parsed file tell beside yes and no."""

import pytest

from comity.model.robots import Confidence, RobotsVerdict
from comity.rules.robots.parse import MAX_BYTES, MAX_LINE_BYTES, product_token
from comity.rules.robots.verdict import parse_robots

FILE = b"""# for everyone
User-agent: *
Disallow: /private/   # keep out
Allow: /private/press

User-agent: Other
User-agent: ComityBot/2.0
Crawl-delay: 1.5
Disallow: /*?sort=
"""


def test_a_refusal_names_rule_line_and_group() -> None:
    verdict = parse_robots(FILE).verdict("someone", "/private/x")
    assert verdict == RobotsVerdict(
        allowed=False,
        reason="robots.txt line 3: Disallow: /private/",
        rule="Disallow: /private/",
        line_number=3,
        agent="*",
        agent_line_number=2,
    )


def test_a_permission_by_rule_names_it_too() -> None:
    verdict = parse_robots(FILE).verdict("someone", "/private/press/1")
    assert (verdict.allowed, verdict.rule, verdict.line_number) == (True, "Allow: /private/press", 4)


def test_the_own_group_is_named_as_written() -> None:
    verdict = parse_robots(FILE).verdict("comitybot", "/a?sort=up")
    assert (verdict.agent, verdict.agent_line_number, verdict.line_number) == ("ComityBot/2.0", 7, 9)
    assert verdict.crawl_delay_seconds == 1.5


def test_without_a_matching_rule_the_group_is_still_named() -> None:
    verdict = parse_robots(FILE).verdict("comitybot", "/private/x")
    assert (verdict.allowed, verdict.rule, verdict.line_number) == (True, None, None)
    assert (verdict.agent_line_number, verdict.crawl_delay_seconds) == (7, 1.5)
    assert "line 7" in verdict.reason


def test_without_a_group_nothing_is_named() -> None:
    verdict = parse_robots(b"User-agent: x\nDisallow: /").verdict("y", "/")
    assert (verdict.allowed, verdict.agent, verdict.agent_line_number) == (True, None, None)


def test_each_rule_of_a_merged_group_names_its_own_agent_line() -> None:
    rules = parse_robots(
        b"User-agent: a\nDisallow: /x\nUser-agent: b\nDisallow: /\nUser-agent: A\nDisallow: /y"
    ).for_agent("a")
    assert [rules.verdict(path).agent_line_number for path in ("/x", "/y")] == [1, 5]


def test_the_first_of_several_agent_lines_that_name_us_is_given() -> None:
    verdict = parse_robots(b"User-agent: a/1\nUser-agent: A/2\nDisallow: /x").verdict("a", "/x")
    assert (verdict.agent, verdict.agent_line_number) == ("a/1", 1)


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
def test_lines_are_counted_alike_whatever_ends_them(ending: str) -> None:
    body = ending.join(["User-agent: *", "", "", "Disallow: /a", "# no", "Disallow: /b"]).encode()
    rules = parse_robots(body).for_agent("bot")
    assert [rules.verdict(path).line_number for path in ("/a", "/b")] == [4, 6]


def test_the_first_of_equal_rules_is_named() -> None:
    verdict = parse_robots(b"User-agent: *\nDisallow: /%7Ea\nDisallow: /~a").verdict("bot", "/~a")
    assert (verdict.line_number, verdict.rule) == (2, "Disallow: /%7Ea")


def test_a_folder_allowed_by_its_index_page_names_that_line() -> None:
    verdict = parse_robots(b"User-agent: *\nDisallow: /\nAllow: /a/index.html").verdict("bot", "/a/")
    assert (verdict.allowed, verdict.rule) == (True, "Allow: /a/index.html")


def test_evidence_is_readable_and_short_whatever_the_bytes() -> None:
    body = b"User-agent: *\nDisallow: /\xff\xc3\xa9\nDisallow: /long" + b"x" * 9000
    rules = parse_robots(body).for_agent("bot")
    assert rules.verdict("/%FF%C3%A9").rule == "Disallow: /\\xffé"
    assert len(rules.verdict("/long" + "x" * 9000).rule or "") < 600


def test_robots_txt_itself_is_allowed_with_its_delay() -> None:
    verdict = parse_robots(b"User-agent: *\nCrawl-delay: 2\nDisallow: /").verdict("bot", "/robots.txt")
    assert (verdict.allowed, verdict.crawl_delay_seconds) == (True, 2.0)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5.0),
        ("0", 0.0),
        ("0.5", 0.5),
        (".25", 0.25),
        ("10.", 10.0),
        ("007", 7.0),
        ("3 # seconds", 3.0),
        ("86401", 86_400.0),
        ("9" * 30, 86_400.0),
        ("9" * 400, None),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1e3", None),
        ("nan", None),
        ("inf", None),
        ("Infinity", None),
        ("ten", None),
        ("5s", None),
        ("1,5", None),
        ("1.2.3", None),
        ("٣", None),
        ("²", None),
    ],
)
def test_a_crawl_delay_is_a_plain_number_of_seconds(value: str, seconds: float | None) -> None:
    rules = parse_robots(f"User-agent: *\nCrawl-delay: {value}\nDisallow:".encode()).for_agent("bot")
    assert rules.crawl_delay_seconds == seconds


@pytest.mark.parametrize(
    ("body", "agent", "seconds"),
    [
        ("User-agent: *\nCrawl-delay: 5\nUser-agent: a\nCrawl-delay: 9", "a", 9.0),
        ("User-agent: *\nCrawl-delay: 5\nUser-agent: a\nCrawl-delay: 9", "b", 5.0),
        ("User-agent: *\nCrawl-delay: 5\n\nUser-agent: SemrushBot\nCrawl-delay: 3600", "ComityBot", 5.0),
        ("User-agent: *\nCrawl-delay: 5\n\nUser-agent: SemrushBot\nCrawl-delay: 3600", "SemrushBot", 3600.0),
        ("User-agent: SemrushBot\nCrawl-delay: 3600\n\nUser-agent: *\nCrawl-delay: 5", "ComityBot", 5.0),
        ("User-agent: SemrushBot\nCrawl-delay: 3600\nUser-agent: *\nCrawl-delay: 5", "ComityBot", 5.0),
        ("User-agent: *\nCrawl-delay: 5\nSitemap: https://e.example/s.xml\nUser-agent: b\nCrawl-delay: 60", "a", 5.0),
        ("User-agent: *\n# slowly\nCrawl-delay: 5\n# others\nUser-agent: b\nCrawl-delay: 60", "a", 5.0),
        ("User-agent: *\nCrawl-delay: 5\nUser-agent: b\nCrawl-delay: 60\nUser-agent: *\nCrawl-delay: 7", "a", 7.0),
        ("User-agent: *\nSitemap: https://e.example/s.xml\nUser-agent: b\nCrawl-delay: 60", "a", 60.0),
        ("User-agent: *\nNoindex: /x\nCrawl-delay: 5\nUser-agent: b\nCrawl-delay: 60\nDisallow: /", "a", 5.0),
        ("User-agent: a\nUser-agent: *\nCrawl-delay: 4\nUser-agent: b\nDisallow: /", "a", 4.0),
        ("User-agent: *\nCrawl-delay:\nUser-agent: b\nCrawl-delay: 60", "a", None),
        ("User-agent: a\nCrawl-delay: 9\nUser-agent: b\nCrawl-delay: 5", "a", 9.0),
        ("User-agent: a\nCrawl-delay: 9\nUser-agent: b\nCrawl-delay: 5", "b", 5.0),
        ("User-agent: a\nCrawl-delay: 9\nUser-agent: b\nDisallow: /", "b", None),
        ("User-agent: *\nCrawl-delay: 5\nDisallow:\nUser-agent: a\nDisallow: /x", "a", None),
        ("User-agent: a\nDisallow: /x\nCrawl-delay: 4", "a", 4.0),
        ("User-agent: a\nCrawl-delay: 2\nDisallow:\nUser-agent: a\nCrawl-delay: 3\nCrawl-delay: 1", "a", 3.0),
        ("Crawl-delay: 7\nUser-agent: *\nDisallow:", "a", None),
        ("User-agent: *\ncrawldelay: 7", "a", 7.0),
        ("User-agent: *\nCrawl delay: 7", "a", 7.0),
        ("User-agent: *\nCrawl-delay 7", "a", 7.0),
    ],
)
def test_a_crawl_delay_is_asked_of_the_agents_above_it(body: str, agent: str, seconds: float | None) -> None:
    assert parse_robots(body.encode()).for_agent(agent).crawl_delay_seconds == seconds


def test_sitemaps_belong_to_no_group_and_are_kept_once_in_order() -> None:
    body = (
        b"Sitemap: https://e.example/1.xml\nUser-agent: x\nSITEMAP:https://e.example/2.xml # comment\nDisallow: /\n"
        b"site-map: https://e.example/3.xml\nSitemap: https://e.example/1.xml\nSitemap:\nSitemap https://e.example/4.xml\n"
        b"Sitemap: /relative.xml\nSitemap: https://e.example/\xc3\xa9.xml"
    )
    assert parse_robots(body).sitemaps == (
        "https://e.example/1.xml",
        "https://e.example/2.xml",
        "https://e.example/3.xml",
        "https://e.example/4.xml",
        "/relative.xml",
        "https://e.example/é.xml",
    )


def test_the_version_changes_with_the_content_alone() -> None:
    one, same, other = (parse_robots(body).version for body in (FILE, bytes(FILE), FILE + b"\n"))
    assert one == same
    assert one != other
    assert parse_robots(FILE, version="given").version == "given"


def test_at_least_500_kib_are_parsed() -> None:
    filler = b"# filler\n" * (500 * 1024 // 9 - 10)
    file = parse_robots(b"User-agent: *\n" + filler + b"Disallow: /late\n")
    assert not file.truncated
    assert not file.verdict("bot", "/late").allowed


def test_what_lies_behind_the_limit_is_not_read_and_lowers_confidence() -> None:
    body = b"User-agent: *\nDisallow: /early\n" + b"#\n" * MAX_BYTES + b"Disallow: /late\n"
    file = parse_robots(body)
    assert file.truncated
    assert file.verdict("bot", "/late").allowed
    assert file.verdict("bot", "/late").confidence is Confidence.LOW
    assert not file.verdict("bot", "/early").allowed


@pytest.mark.parametrize(
    ("max_bytes", "disallowed"),
    [
        (29, []),  # inside the first rule
        (30, ["/aa"]),  # just before its line end
        (31, ["/aa"]),  # just behind it
        (44, ["/aa"]),  # inside the second rule
        (45, ["/aa", "/bbb"]),
        (46, ["/aa", "/bbb"]),
    ],
)
def test_a_line_that_the_limit_cuts_is_dropped(max_bytes: int, disallowed: list[str]) -> None:
    file = parse_robots(b"User-agent: *   \nDisallow: /aa\nDisallow: /bbb\n" + b"#" * 99, max_bytes=max_bytes)
    assert [path for path in ("/aa", "/bbb", "/b", "/a") if not file.verdict("bot", path).allowed] == disallowed


def test_a_line_is_cut_at_its_length_limit() -> None:
    pattern = "/" + "x" * MAX_LINE_BYTES
    file = parse_robots(f"User-agent: *\nDisallow: {pattern}end".encode())
    kept = MAX_LINE_BYTES - len("Disallow: ")
    assert not file.verdict("bot", pattern[:kept]).allowed
    assert file.verdict("bot", pattern[: kept - 1]).allowed


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        ("ComityBot", "comitybot"),
        ("ComityBot/1.0 (+https://e.example)", "comitybot"),
        ("Comity_Bot-X 2", "comity_bot-x"),
        ("", ""),
        ("7bot", ""),
        (" bot", ""),
        ("bötchen", "b"),
    ],
)
def test_a_product_token_is_the_leading_run_of_letters_hyphens_and_underscores(agent: str, token: str) -> None:
    assert product_token(agent) == token


def test_rules_are_gathered_once_for_an_agent() -> None:
    file = parse_robots(FILE)
    assert file.for_agent("ComityBot/1") is file.for_agent("comitybot")
    assert file.verdict("comitybot", "/a?sort=1") is file.verdict("comitybot", "/b?sort=2")


def test_any_number_of_agents_can_be_asked_about() -> None:
    file = parse_robots(b"User-agent: *\nDisallow: /")
    names = [first + second for first in "abcde" for second in "abcde"]
    assert not any(file.verdict(name, "/x").allowed for name in names)


def test_the_patterns_in_force_can_be_listed() -> None:
    file = parse_robots(FILE)
    assert file.for_agent("comitybot").disallowed() == ["/*?sort="]
    assert file.for_agent("someone").disallowed() == ["/private/"]
    assert file.for_agent("someone").disallowed(most=0) == []
    assert parse_robots(b"").for_agent("someone").disallowed() == []

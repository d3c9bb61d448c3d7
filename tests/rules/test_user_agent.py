"""Which name robots.txt knows us by, for the ways in which crawlers write their User-Agent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.robots.verdict import parse_robots
from comity.rules.user_agent import agent_token


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("ComityBot/1.0 (+mailto:me@example.org)", "comitybot"),
        ("AcmeBot", "acmebot"),
        ("Acme-Bot_x/2 (like Mozilla/5.0)", "acme-bot_x"),
        ("Mozilla/5.0 (compatible; AcmeBot/1.0; +https://acme.example/bot)", "acmebot"),
        ("Mozilla/5.0 (compatible; AcmeBot; +https://acme.example/bot)", "acmebot"),
        ("Mozilla/5.0 (compatible;AcmeBot/1.0)", "acmebot"),
        ("mozilla/5.0 (Compatible; AcmeBot/1.0)", "acmebot"),
        ("Mozilla/5.0 (AcmeBot/1.0; +https://acme.example/bot)", "acmebot"),
        ("Mozilla/5.0 AcmeBot/1.0", "acmebot"),
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120 Safari/537.36 AcmeBot/1",
            "acmebot",
        ),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; AcmeBot/1.0; +https://a.example) Chrome/1",
            "acmebot",
        ),
        (
            "Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537 Mobile Safari/537 (compatible; AcmeBot/2.1; +x)",
            "acmebot",
        ),
        # Nothing but a browser: there is no name to obey by.
        ("Mozilla/5.0", ""),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0", ""),
        ("Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)", ""),
        ("Mozilla/5.0 (compatible; +https://acme.example/bot)", ""),
        ("", ""),
    ],
)
def test_the_token_is_the_crawlers_own_name(user_agent: str, token: str) -> None:
    assert agent_token(user_agent) == token


def test_a_group_for_the_bot_holds_for_a_user_agent_that_begins_like_a_browser() -> None:
    robots = parse_robots(b"User-agent: mozilla\nDisallow: /\n\nUser-agent: AcmeBot\nDisallow: /private")
    agent = "Mozilla/5.0 (compatible; AcmeBot/1.0; +https://acme.example/bot)"
    assert robots.verdict(agent, "/open").allowed
    assert not robots.verdict(agent, "/private").allowed


@given(st.text(max_size=300))
def test_any_text_gives_a_token_of_the_right_letters_or_none(text: str) -> None:
    token = agent_token(text)
    assert (
        token == "" or (token.isascii() and token.replace("-", "").replace("_", "x").isalpha()) or set(token) <= {"-"}
    )

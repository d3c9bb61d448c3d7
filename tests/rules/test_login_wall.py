"""Telling a login wall from a page that merely has a login form."""

from __future__ import annotations

from typing import Any

import pytest

from comity.rules.responses import is_login_address, is_login_wall

ASKED = "https://example.com/articles/7"


def wall(**changes: Any) -> bool:
    facts: dict[str, Any] = {
        "status": 200,
        "requested_url": ASKED,
        "final_url": ASKED,
        "has_password_field": True,
        "link_count": 3,
        "title": None,
    }
    return is_login_wall(**(facts | changes))


@pytest.mark.parametrize(
    "path",
    ["/login", "/log-in", "/Login/", "/signin", "/sign-in?next=/articles/7", "/users/sign_in", "/accounts/login/",
     "/auth", "/auth/realms/x", "/session/new", "/sso/start", "/wp-login.php", "/anmelden", "/signon",
     "/user/login.html"],
)  # fmt: skip
def test_being_sent_to_a_login_page_is_a_wall(path: str) -> None:
    assert wall(final_url=f"https://example.com{path}")
    assert wall(final_url=f"https://id.example.org{path}", link_count=500), "also on another host, and with many links"


@pytest.mark.parametrize(
    "path", ["/authors/ann", "/blogin", "/catalogin", "/design-index", "/sessions", "/oauthless", "/logins-of-history"]
)
def test_words_that_only_contain_a_login_word_are_none(path: str) -> None:
    assert not wall(final_url=f"https://example.com{path}")


@pytest.mark.parametrize(
    "title", ["Log in", "Login", "Sign in – Example", "Please sign in", "Example: Log-in", "Anmelden"]
)
def test_a_bare_page_whose_title_asks_for_a_login_is_a_wall(title: str) -> None:
    assert wall(title=title)
    assert not wall(title=title, link_count=200), "a whole page with a form in its corner is none"
    assert not wall(title=title, has_password_field=False)


def test_a_form_alone_is_no_wall() -> None:
    assert not wall(title="News of the day")
    assert not wall(title=None)


def test_401_is_a_wall_whatever_else_it_is() -> None:
    assert wall(status=401, has_password_field=False, link_count=900, title="News")


def test_a_login_page_that_was_asked_for_is_no_wall() -> None:
    assert not wall(requested_url="https://example.com/login", final_url="https://example.com/login", title="Log in")
    assert is_login_address("https://example.com/login?next=/")
    assert not is_login_address("https://example.com/?login")

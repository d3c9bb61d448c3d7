"""Reading what an operator adds to requests: secrets are looked up, hosts get their own, no error repeats a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from comity.extract.forms import fill_form, passes
from comity.model.errors import BadInput
from comity.model.fetch import FormLogin, LoginCheck
from comity.model.host import HostPolicy
from comity.operate.policy import get_policy, set_policy, set_request_options
from comity.operate.request_options import OptionTexts, RequestOptions, policy_options
from comity.rules.cookies import cookie_field, own_cookie
from comity.store.cookie_files import CookieFiles
from tests.database.states import State

NOW = 1_800_000_000.0
SITE = "https://example.com"
LOGIN = '{"page": "https://example.com/in", "fields": {"p": "env:P"}, "check": {"text": "hello"}}'


def read(environment: dict[str, str] | None = None, **texts: Any) -> RequestOptions:
    return RequestOptions(OptionTexts(origins=(SITE,), **texts), environment or {}, lambda: NOW)


def test_without_options_a_host_has_no_identity_at_all() -> None:
    assert read().identity_of("example.com", None) is None
    assert read().identity_of("example.com", HostPolicy("example.com")) is None
    assert read(headers=["X-A: 1"]).identity_of("other.example", None) is None


def test_each_host_gets_its_own() -> None:
    options = read(
        {"T": "t0ken", "U": "me"},
        headers=["X-A: env:T", "https://b.example: X-B: 2", "http://c.example: X-C: 3"],
        auth=["basic env:U env:T", "https://b.example: bearer env:T"],
        cookies=["a=env:T"],
    )
    first = options.identity_of("example.com", None)
    assert first is not None
    assert dict(first.headers) == {SITE: (("X-A", "t0ken"), ("Authorization", "Basic bWU6dDBrZW4="))}
    assert cookie_field(first.cookies, f"{SITE}/x", NOW) == "a=t0ken"
    second = options.identity_of("b.example", None)
    assert second is not None
    assert dict(second.headers) == {"https://b.example": (("X-B", "2"), ("Authorization", "Bearer t0ken"))}
    third = options.identity_of("c.example", None)
    assert third is not None
    assert set(third.headers) == {"http://c.example", "https://c.example"}
    assert "t0ken" not in repr([first, second, third])


def test_a_subdomain_that_is_crawled_as_its_domain_still_gets_only_its_own() -> None:
    texts = OptionTexts(headers=["https://a.example.com: X-A: 1"], collapse_subdomains=True)
    found = RequestOptions(texts, {}, lambda: NOW).identity_of("example.com", None)
    assert found is not None
    assert dict(found.headers) == {"https://a.example.com": (("X-A", "1"),)}


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"headers": ["X-A: env:MISSING"]}, "headers: the environment variable MISSING is not set"),
        ({"headers": ["X-A: env:EMPTY"]}, "headers: env:EMPTY is empty"),
        ({"headers": ["X-A: env:LINES"]}, "headers: env:LINES contains a line break"),
        ({"headers": ["X-A: env:WIDE"]}, "headers: env:WIDE contains a character that headers cannot contain"),
        ({"headers": ["X-A: file:/nowhere/at/all"]}, "headers: cannot read /nowhere/at/all: No such file or directory"),
        ({"auth": ["bearer env:LINES"]}, "auth: env:LINES contains a line break"),
        ({"cookies": ["a=env:LINES"]}, "cookies: env:LINES contains a line break"),
        ({"cookies": ["a=env:SPACED"]}, "cookies: the value of the cookie a contains a character"),
        ({"cookies": ["file:/nowhere.txt"]}, "cookies: cannot read /nowhere.txt"),
        ({"proxy": ["env:MISSING"]}, "proxy: the environment variable MISSING is not set"),
        ({"proxy": ["env:SPACED"]}, "proxy: a proxy must be scheme://host:port"),
        ({"login": ["/nowhere.toml"]}, "login: cannot read /nowhere.toml"),
        ({"login": ["{}"]}, "login: a login needs the URL of its page"),
        ({"login": [LOGIN.replace("https://example.com/in", "/in")]}, "must be a whole URL"),
        ({"login": [LOGIN.replace('{"text": "hello"}', "{}")]}, "a login needs a check that it worked"),
        ({"login": [LOGIN.replace("hello", "")]}, "selector, text and url of a check must be strings"),
        ({"login": [LOGIN.replace('"check"', '"cheque"')]}, "cheque is not a key of a login file"),
        ({"login": [LOGIN.replace('"text": "hello"', '"selector": "a[["')]}, "a[[ is not a CSS selector"),
        ({"login": [LOGIN, LOGIN]}, "there are two logins for example.com"),
    ],
)
def test_what_cannot_be_read_is_an_error_without_the_value(texts: dict[str, Any], reason: str) -> None:
    environment = {
        "EMPTY": "",
        "LINES": "s3cret\nX: y",
        "WIDE": "s3cret\u20ac",
        "SPACED": "s3cret s3cret",
        "P": "s3cret",
    }
    with pytest.raises(BadInput) as refusal:
        read(environment, **texts)
    assert reason in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


def test_a_secret_file_ends_with_a_line_and_has_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("t0ken\n")
    found = read(headers=[f"Authorization: Bearer file:{file}"]).identity_of("example.com", None)
    assert found is not None
    assert found.headers[SITE] == (("Authorization", "Bearer t0ken"),)
    file.write_text("s3cret" * 20_000)
    with pytest.raises(BadInput, match="is larger than 65,536 bytes") as refusal:
        read(headers=[f"X-A: file:{file}"])
    assert "s3cret" not in str(refusal.value)


def test_a_policy_adds_to_a_run_and_its_problem_names_no_value() -> None:
    options = policy_options("example.com", None, {"headers": ["X-A: env:A", "Accept-Language: de"]})
    assert options == {"headers": ["X-A: env:A", "Accept-Language: de"], "origins": [SITE]}
    policy = HostPolicy("example.com", request_options=options)
    found = read({"A": "1"}, headers=["X-A: 0", "X-B: 2"]).identity_of("example.com", policy)
    assert found is not None
    assert dict(found.headers[SITE]) == {"X-A": "1", "X-B": "2", "Accept-Language": "de"}
    missing = read({}).identity_of("example.com", policy)
    assert missing is not None
    assert missing.problem == (
        "the policy of example.com cannot be used: headers: the environment variable A is not set"
    )
    assert policy_options("example.com", options, {"headers": [], "origins": []}) is None


def test_kept_cookies_come_back_and_an_unreadable_file_is_no_cookie(tmp_path: Path) -> None:
    files = CookieFiles(tmp_path / "cookies")
    assert files.load("example.com") == ()
    cookies = (own_cookie(SITE, "a", "1")._replace(expires_at=NOW), own_cookie("http://[::1]:8080", "b", "2"))
    files.save("[::1]:8080", cookies)
    assert files.load("[::1]:8080") == cookies
    assert files.path("[::1]:8080").parent == files.folder, "no host leads out of the folder"
    assert files.path("../../etc/passwd").parent == files.folder
    files.path("example.com").write_text("[[1]]")
    assert files.load("example.com") == ()
    files.save("[::1]:8080", ())
    assert not files.path("[::1]:8080").exists()


FORM = b"""<base href="/deep/"><form id=other method=post><input name=user></form>
<form method=POST action="send?x=1"><input type=hidden name=csrf value="a&amp;b"><input name=user value=old>
<input type=password name=pass><select name=lang><option value=en><option value=de selected></select>
<input type=checkbox name=no value=1><input type=submit name=go value=Enter><input type=submit name=stop></form>"""


def test_a_form_takes_along_what_the_page_put_into_it() -> None:
    login = FormLogin("https://example.com/in", (("user", "m\u00e9"), ("pass", "a b&c")), LoginCheck(text="x"))
    form = fill_form(FORM, "text/html; charset=utf-8", "https://example.com/in", login)
    assert not isinstance(form, str)
    assert form.address.url == "https://example.com/deep/send?x=1"
    assert form.body == b"csrf=a%26b&lang=de&go=Enter&user=m%C3%A9&pass=a+b%26c"
    assert "a b" not in repr(form)
    latin = fill_form(FORM, "text/html; charset=iso-8859-1", "https://example.com/in", login)
    assert not isinstance(latin, str)
    assert b"user=m%E9&" in latin.body
    chosen = FormLogin("https://example.com/in", (("user", "me"),), LoginCheck(text="x"), form="#other")
    other = fill_form(FORM, "text/html", "https://example.com/in", chosen)
    assert not isinstance(other, str)
    assert (other.address.url, other.body) == ("https://example.com/in", b"user=me")


@pytest.mark.parametrize(
    ("check", "url", "does"),
    [
        (LoginCheck(selector="p.me"), "/", True),
        (LoginCheck(selector="p.you"), "/", False),
        (LoginCheck(text="Hello, me"), "/", True),
        (LoginCheck(text="Goodbye"), "/", False),
        (LoginCheck(url="/account"), "/account", True),
        (LoginCheck(url="/account"), "/account?tab=1", True),
        (LoginCheck(url="/account"), "/account/orders", True),
        (LoginCheck(url="/account"), "/accounts", False),
        (LoginCheck(url="/account"), "/login", False),
        (LoginCheck(url="https://example.com/account"), "/account", True),
        (LoginCheck(url="https://example.org/account"), "/account", False),
        (LoginCheck(selector="p.me", url="/x"), "/", False),
    ],
)
def test_a_check_looks_at_the_page_where_the_login_led(check: LoginCheck, url: str, does: bool) -> None:
    body = b"<p class=me>Hello, <b>me</b></p>"
    assert passes(check, body, "text/html", f"https://example.com{url}") is does


def test_a_policy_keeps_its_options_apart_from_its_limits_on_both_databases(state: State) -> None:
    changes = {"headers": ["X-A: env:A"], "keep_cookies": True}
    first = set_request_options(state.database, state.clock, "example.com", "http://www.example.com", changes)
    assert first.request_options == changes | {"origins": ["http://www.example.com"]}
    limited = set_policy(state.database, state.clock, "example.com", max_pages=3)
    assert limited.request_options == first.request_options
    second = set_request_options(state.database, state.clock, "example.com", "example.com", {"proxy": ["http://p:1"]})
    assert second.max_pages == 3
    assert second.request_options == {
        **changes,
        "proxy": ["http://p:1"],
        "origins": ["http://www.example.com", "https://example.com"],
    }
    assert get_policy(state.database, "example.com") == second
    nothing: dict[str, Any] = {"headers": [], "proxy": [], "keep_cookies": False}
    cleared = set_request_options(state.database, state.clock, "example.com", "example.com", nothing)
    assert (cleared.request_options, cleared.max_pages) == (None, 3)

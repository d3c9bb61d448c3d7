"""What a log may show of a URL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.url_secrets import masked_url, only_origin

WORD = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-._~%", min_size=8, max_size=20)
NAMES = (
    "password", "passwd", "pwd", "secret", "token", "access_token", "id_token", "csrf-token", "api_key", "apikey",
    "api-key", "X-Amz-Signature", "X-Amz-Credential", "X-Goog-Signature", "sig", "key", "auth", "session", "sid",
    "PHPSESSID", "jsessionid", "code", "client_secret", "AWSAccessKey",
)  # fmt: skip


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://example.com/", "https://example.com/"),
        ("https://example.com/a?page=2&sort=asc#top", "https://example.com/a?page=2&sort=asc#top"),
        ("https://ana:s3cret@example.com/x", "https://***@example.com/x"),
        ("https://ana@example.com/x", "https://***@example.com/x"),
        ("https://a:p@ss@example.com/x", "https://***@example.com/x"),
        ("https://example.com/@ana/p?x=1", "https://example.com/@ana/p?x=1"),
        ("https://example.com/p?to=a@b.example", "https://example.com/p?to=a@b.example"),
        ("https://example.com/?q=1&access_token=abc&b=2", "https://example.com/?q=1&access_token=***&b=2"),
        ("https://example.com/a;jsessionid=ABC?x=1", "https://example.com/a;jsessionid=***?x=1"),
        ("https://example.com/#access_token=abc", "https://example.com/#access_token=***"),
        (
            "https://example.com/?monkey=1&design=2&keyword=3&decode=4",
            "https://example.com/?monkey=1&design=2&keyword=3&decode=4",
        ),
    ],
)
def test_secrets_are_masked_and_the_rest_stays(url: str, masked: str) -> None:
    assert masked_url(url) == masked


@given(st.sampled_from(NAMES), WORD, WORD)
def test_no_value_of_a_secret_parameter_is_left(name: str, secret: str, other: str) -> None:
    url = f"https://example.com/path?first={other}&{name}={secret}&last=1"
    assert masked_url(url) == f"https://example.com/path?first={other}&{name}=***&last=1"


@given(WORD, WORD)
def test_no_user_or_password_is_left(user: str, password: str) -> None:
    assert masked_url(f"https://{user}:{password}@example.com/") == "https://***@example.com/"


@given(st.text(max_size=200))
def test_any_text_can_be_masked_twice(text: str) -> None:
    assert masked_url(masked_url(text)) == masked_url(text)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example/services/T0/B0/x4Kd9", "https://hooks.example/…"),
        ("https://hooks.example/?token=abc", "https://hooks.example/…"),
        ("https://hooks.example?abc", "https://hooks.example/…"),
        ("https://hooks.example:8443/#abc", "https://hooks.example:8443/…"),
        ("https://hooks.example/", "https://hooks.example/"),
        ("https://hooks.example", "https://hooks.example/"),
        ("https://ana:s3cret@hooks.example/", "https://hooks.example/"),
        ("http:\\\\hooks.example\\secret", "…"),
        ("hooks.example/secret", "…"),
    ],
)
def test_only_the_host_of_a_webhook_is_shown(url: str, shown: str) -> None:
    assert only_origin(url) == shown


@given(secret=WORD)
def test_nothing_after_the_host_is_shown(secret: str) -> None:
    for url in (f"https://h.example/{secret}", f"https://h.example/?{secret}", f"https://h.example#{secret}"):
        assert only_origin(url) == "https://h.example/…"

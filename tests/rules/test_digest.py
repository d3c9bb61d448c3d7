"""Digest authentication: the examples of RFC 7616, and what servers really send."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.digest import Challenge, digest_authorization, next_nonce, read_challenges

REALM = "http-auth@example.org"
NONCE = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
OPAQUE = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
CNONCE = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"


def parts_of(header: str) -> dict[str, str]:
    assert header.startswith("Digest ")
    return {name: quoted or plain for name, quoted, plain in re.findall(r'([\w*]+)=(?:"([^"]*)"|([^\s,]+))', header)}


@pytest.mark.parametrize(
    ("algorithm", "response"),
    [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ],
)
def test_the_examples_of_rfc_7616_section_3_9_1(algorithm: str, response: str) -> None:
    field = f'Digest realm="{REALM}", qop="auth, auth-int", algorithm={algorithm}, nonce="{NONCE}", opaque="{OPAQUE}"'
    challenge = read_challenges([field])
    assert challenge is not None
    header = digest_authorization(
        challenge, "Mufasa", "Circle of Life", method="GET", target="/dir/index.html", cnonce=CNONCE, count=1
    )
    assert parts_of(header) == {
        "username": "Mufasa",
        "realm": REALM,
        "uri": "/dir/index.html",
        "algorithm": algorithm,
        "nonce": NONCE,
        "nc": "00000001",
        "cnonce": CNONCE,
        "qop": "auth",
        "response": response,
        "opaque": OPAQUE,
    }


def test_the_user_is_hashed_on_request_and_named_in_utf_8_otherwise() -> None:
    """RFC 7616 §3.9.2 with the digest of its erratum 4897."""
    nonce = "5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK"
    field = f'Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="{nonce}", userhash=true'
    challenge = read_challenges([field])
    assert challenge is not None
    arguments = {"method": "GET", "target": "/doe.json", "cnonce": "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm", "count": 1}
    header = digest_authorization(challenge, "Jäsøn Doe", "Secret, or not?", **arguments)  # type: ignore[arg-type]
    found = parts_of(header)
    assert found["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b"
    assert (found["userhash"], found["qop"]) == ("true", "auth")
    plain = Challenge("r", "n")
    header = digest_authorization(plain, "Jäsøn Doe", "x", **arguments)  # type: ignore[arg-type]
    assert "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe" in header
    assert header.isascii()


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (['Basic realm="a"'], None),
        ([], None),
        (["Digest"], None),
        (['Digest realm="a"'], None),
        (['Digest realm="a", nonce="b"'], Challenge("a", "b")),
        (['digest NONCE="b",realm=a'], Challenge("a", "b")),
        (['Basic realm="a, b", Digest realm="c\\"d", nonce="e"'], Challenge('c"d', "e")),
        (['Digest realm="a", nonce="b", Basic realm="c"'], Challenge("a", "b")),
        (['Negotiate, Digest realm="a", nonce="b", stale=TRUE'], Challenge("a", "b", is_stale=True)),
        (['Digest realm="a", nonce="b", algorithm=MD6'], None),
        (['Digest realm="a", nonce="b", qop="auth-conf"'], None),
        (['Digest realm="a", nonce="b", qop="auth-int"'], Challenge("a", "b", qop="auth-int")),
        (['Digest realm="a", nonce="b", qop="AUTH"'], Challenge("a", "b", qop="auth")),
        (
            ['Digest realm="a", nonce="b", algorithm=MD5', 'Digest realm="a", nonce="c", algorithm=SHA-256'],
            Challenge("a", "c", "SHA-256", names_algorithm=True),
        ),
        (['Digest realm="ä", nonce="b"'], None),
        (['Digest realm="a\x01", nonce="b"'], None),
    ],
)
def test_challenges(fields: list[str], found: Challenge | None) -> None:
    assert read_challenges(fields) == found


@given(st.text(max_size=200), st.text(max_size=30), st.text(max_size=30))
def test_whatever_a_server_says_is_answered_in_one_line_or_not_at_all(said: str, user: str, password: str) -> None:
    for field in (said, f"Digest {said}", f'Digest realm="{said}", nonce="{said}"'):
        challenge = read_challenges([field])
        if challenge is not None:
            header = digest_authorization(challenge, user, password, method="GET", target="/", cnonce="00", count=1)
            assert "\n" not in header
            assert "\r" not in header
            assert header.startswith("Digest ")


def test_a_server_may_name_its_next_nonce() -> None:
    assert next_nonce(['qop=auth, rspauth="ab", nextnonce="x y"']) == "x y"
    assert next_nonce(['rspauth="nextnonce"', ""]) is None

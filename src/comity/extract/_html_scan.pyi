from collections.abc import Callable

Scanned = tuple[
    tuple[str, ...] | list[str],
    frozenset[str] | None,
    bool,
    list[tuple[int, str]],
    str | None,
    list[str],
    list[tuple[str | None, str | None, str | None]],
    list[tuple[str, str | None, int]],
    bool,
]
"""Links, once each and without anchors, and those of them with nofollow; or a list of all as written, to be read with
`rel`, and None. Whether none is too long; place and rel of links; base; titles; name, http-equiv
and content of metas; rel and href of link elements, with the number of links before them; whether there is a password
field."""

FORMAT: int

def scan(
    body: bytes,
    start: int,
    token: bytes,
    decode: Callable[[str], str | None],
    hrefs_most: int,
    others_most: int,
    may_change_encoding: bool,
    /,
) -> Scanned | None: ...

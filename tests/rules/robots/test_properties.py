"""What holds for every robots.txt: no bytes raise, and the index agrees with a plain reading of every rule."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from comity.rules.robots import verdict
from comity.rules.robots.verdict import normalize, normalized_target, parse_robots
from tests.sizes import sized

LETTERS = "ab/"
paths = st.text(alphabet=LETTERS, max_size=12).map(lambda text: "/" + text)
patterns = st.text(alphabet=LETTERS + "*$", min_size=1, max_size=9).map(
    lambda text: text if text[0] == "*" else "/" + text
)
rules = st.lists(st.tuples(st.booleans(), patterns), max_size=12)


def write(group: list[tuple[bool, str]], agent: str = "*") -> bytes:
    """Write a group; the empty rule at its end keeps it apart from what follows."""
    lines = [f"{'Allow' if allowed else 'Disallow'}: {pattern}" for allowed, pattern in group]
    return "\n".join([f"User-agent: {agent}", *lines, "Disallow:"]).encode()


def reaches(pattern: str, path: str) -> bool:
    """Match octet by octet, keeping every place of the path that the pattern so far can have reached."""
    places = {0}
    for at, octet in enumerate(pattern):
        if octet == "$" and at == len(pattern) - 1:
            return len(path) in places
        if octet == "*":
            places = set(range(min(places), len(path) + 1))
        else:
            places = {place + 1 for place in places if path[place : place + 1] == octet}
        if not places:
            return False
    return True


def plain_verdict(group: list[tuple[bool, str]], path: str) -> bool:
    """Try every rule: longest first, Allow first among equals."""
    matching = [(len(pattern), allowed) for allowed, pattern in group if reaches(pattern, path)]
    return max(matching)[1] if matching else True


def spelled(group: list[tuple[bool, str]]) -> list[tuple[bool, str]]:
    """Leave out patterns whose inner dollar sign would count three characters once it is encoded."""
    return [(allowed, pattern) for allowed, pattern in group if "$" not in pattern[:-1]]


robots_like = st.lists(
    st.one_of(
        st.sampled_from(
            [b"User-agent: *", b"User-agent: a", b"Allow: /", b"Disallow: /a*", b"Crawl-delay: 1", b"\xef\xbb"]
        ),
        st.binary(max_size=12),
        st.tuples(st.sampled_from([b"Allow: ", b"Disallow:", b"Disallow ", b"Sitemap: "]), st.binary(max_size=12)).map(
            b"".join
        ),
    ),
    max_size=12,
).flatmap(lambda lines: st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\r"]).map(lambda ending: ending.join(lines)))


@given(
    st.one_of(st.binary(max_size=400), robots_like),
    st.one_of(st.just("a"), st.text(max_size=8)),
    st.one_of(st.just("/a"), st.text(max_size=40)),
)
@example(b"User-agent: a\nDisallow: /\nSitemap: https://example.com/s.xml\nSitemap:", "a", "/a")
@example(b"\xff\xfe", "a", "/")
@example(b"\xff\xfeU\0\xd8", "a", "/")
@example(b"User-agent: *\nDisallow: /\xff", "*", "\ud800")
@example(b"user-agent:*\nallow:*$*", "", "://")
def test_no_bytes_agent_or_target_raise(body: bytes, agent: str, target: str) -> None:
    file = parse_robots(body)
    verdict = file.verdict(agent, target)
    assert verdict.allowed or verdict.line_number is not None  # nothing is forbidden without a line that says so
    assert all(file.sitemaps), "a Sitemap line without a value names none"


@given(robots_like, st.integers(min_value=0, max_value=200), st.text(alphabet="/ab%$*?é", max_size=20))
def test_nearly_right_files_do_not_raise_either(body: bytes, max_bytes: int, target: str) -> None:
    file = parse_robots(body, max_bytes=max_bytes)
    verdict = file.verdict("a", target)
    assert (verdict.rule is None) == (verdict.line_number is None)
    if not verdict.allowed:
        assert verdict.line_number is not None


@settings(max_examples=sized(30, 1000))
@given(rules, st.lists(paths, min_size=1, max_size=6))
def test_the_index_agrees_with_trying_every_rule(group: list[tuple[bool, str]], asked: list[str]) -> None:
    group = spelled(group)
    found = parse_robots(write(group)).for_agent("bot")
    assert [found.verdict(path).allowed for path in asked] == [plain_verdict(group, path) for path in asked]


@settings(max_examples=sized(30, 1000))
@given(rules, paths)
def test_the_named_rule_matches_and_is_the_longest(group: list[tuple[bool, str]], path: str) -> None:
    group = spelled(group)
    verdict = parse_robots(write(group)).verdict("bot", path)
    matching = [pattern for _, pattern in group if reaches(pattern, path)]
    if verdict.line_number is None:
        assert not matching
    else:
        allowed, pattern = group[verdict.line_number - 2]
        assert allowed is verdict.allowed
        assert len(pattern) == max(map(len, matching))


@settings(max_examples=sized(30, 1000))
@given(st.lists(patterns, min_size=1, max_size=40), paths)
@example(["/*ab*b$"], "/xab")
@example(["/*aba*aba"], "/ababa")
def test_sorted_suffixes_agree_with_plain_search(many: list[str], path: str) -> None:
    """The way through a hostile file gives what the usual way gives."""
    group = spelled([(False, pattern) for pattern in many])
    usual = parse_robots(write(group)).verdict("bot", path)
    threshold, verdict._MANY_CANDIDATES = verdict._MANY_CANDIDATES, 0
    try:
        hostile = parse_robots(write(group)).verdict("bot", path)
    finally:
        verdict._MANY_CANDIDATES = threshold
    assert (hostile.allowed, hostile.line_number) == (usual.allowed, usual.line_number)


@given(rules, patterns, paths)
def test_one_more_allow_never_forbids_a_path(group: list[tuple[bool, str]], pattern: str, path: str) -> None:
    before = parse_robots(write(group)).verdict("bot", path)
    after = parse_robots(write([*group, (True, pattern)])).verdict("bot", path)
    assert after.allowed or not before.allowed


@given(rules, patterns, paths)
def test_one_more_disallow_never_permits_a_path(group: list[tuple[bool, str]], pattern: str, path: str) -> None:
    before = parse_robots(write(group)).verdict("bot", path)
    after = parse_robots(write([(False, pattern), *group])).verdict("bot", path)
    assert before.allowed or not after.allowed


@given(rules, st.randoms(use_true_random=False), paths)
def test_the_order_of_rules_does_not_matter(group: list[tuple[bool, str]], chance: object, path: str) -> None:
    shuffled = group.copy()
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert (
        parse_robots(write(group)).verdict("bot", path).allowed
        == parse_robots(write(shuffled)).verdict("bot", path).allowed
    )


@given(rules, rules, paths)
def test_a_split_group_means_the_same_as_a_whole_one(
    first: list[tuple[bool, str]], second: list[tuple[bool, str]], path: str
) -> None:
    whole = write([*first, *second], "bot")
    apart = b"\n".join([write(first, "bot"), write([(False, "/")], "other"), write(second, "Bot/2")])
    assert parse_robots(whole).verdict("bot", path).allowed == parse_robots(apart).verdict("bot", path).allowed


@given(rules, rules, paths)
def test_other_agents_rules_never_matter(
    own: list[tuple[bool, str]], others: list[tuple[bool, str]], path: str
) -> None:
    alone = parse_robots(write(own, "bot")).verdict("bot", path)
    among = parse_robots(write(own, "bot") + b"\n" + write(others, "*")).verdict("bot", path)
    assert among == alone


@given(st.text(alphabet="ab/~%27eEfF é*$\x00 ", max_size=20))
def test_encoding_what_need_not_be_encoded_changes_nothing(text: str) -> None:
    path = "/" + text.replace("%", "")
    encoded = "".join(f"%{octet:02x}" if chr(octet).isalnum() or octet > 127 else chr(octet) for octet in path.encode())
    assert normalized_target(encoded) == normalized_target(path)


@given(st.binary(max_size=30).map(lambda octets: octets.replace(b"%", b"").decode("latin-1")))
def test_settled_octets_are_visible_ascii_and_stay_settled(octets: str) -> None:
    settled = normalize(octets)
    assert settled.isascii()
    assert not settled or settled.isprintable()
    assert "*" not in settled
    assert "$" not in settled
    assert normalize(settled) == settled

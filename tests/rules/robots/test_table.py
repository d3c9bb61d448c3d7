"""What RFC 9309 and Google's documentation say about matching, case by case."""

import pytest

from comity.rules.robots.verdict import parse_robots

# Each group of cases: what it shows, the file, and (agent, target, allowed) for each question.
Question = tuple[str, str, bool]
TABLE: list[tuple[str, str | bytes, list[Question]]] = [
    ("an empty file allows all", "", [("bot", "/", True), ("bot", "/any?q=1", True)]),
    ("a file of comments allows all", "# nothing\n#Disallow: /\n", [("bot", "/x", True)]),
    (
        "a rule matches everything that begins with it",
        "User-agent: *\nDisallow: /shop",
        [
            ("bot", "/shop", False),
            ("bot", "/shop/", False),
            ("bot", "/shopping.html", False),
            ("bot", "/shop?page=2", False),
            ("bot", "/Shop", True),
            ("bot", "/a/shop", True),
            ("bot", "/?shop", True),
            ("bot", "/", True),
        ],
    ),
    (
        "a final slash matters",
        "User-agent: *\nDisallow: /shop/",
        [("bot", "/shop", True), ("bot", "/shop/", False), ("bot", "/shop/x", False), ("bot", "/shop.html", True)],
    ),
    (
        "a lone slash disallows all but robots.txt",
        "User-agent: *\nDisallow: /",
        [
            ("bot", "/", False),
            ("bot", "/x", False),
            ("bot", "/robots.txt", True),
            ("bot", "/%72obots.txt", True),
            ("bot", "/robots.txt.bak", False),
            ("bot", "/a/robots.txt", False),
        ],
    ),
    ("an empty Disallow allows all", "User-agent: *\nDisallow:", [("bot", "/", True), ("bot", "/x", True)]),
    (
        "an empty Allow says nothing",
        "User-agent: *\nAllow:\nDisallow: /x",
        [("bot", "/x", False), ("bot", "/y", True)],
    ),
    (
        "the longest rule decides, in any order",
        "User-agent: *\nAllow: /a/b/\nDisallow: /a/\nDisallow: /a/b/c/\nAllow: /a/b/c/d",
        [
            ("bot", "/a/", False),
            ("bot", "/a/b", False),
            ("bot", "/a/b/", True),
            ("bot", "/a/b/c/", False),
            ("bot", "/a/b/c/d", True),
            ("bot", "/a/b/c/e", False),
        ],
    ),
    (
        "of equal rules Allow decides",
        "User-agent: *\nDisallow: /a\nAllow: /a\nAllow: /b\nDisallow: /b",
        [("bot", "/a", True), ("bot", "/b", True), ("bot", "/b/c", True)],
    ),
    (
        "of matches equally long Allow decides, also when the patterns differ",
        "User-agent: *\nDisallow: /*/x\nAllow: /ab/",
        [("bot", "/ab/x", True), ("bot", "/ac/x", False)],
    ),
    (
        "a star's octet counts for length",
        "User-agent: *\nAllow: /page\nDisallow: /*.htm",
        [("bot", "/page.htm", False), ("bot", "/page", True)],
    ),
    (
        "a dollar's octet counts for length",
        "User-agent: *\nDisallow: /p\nAllow: /p$",
        [("bot", "/p", True), ("bot", "/p/", False)],
    ),
    (
        "useless stars count as well",
        "User-agent: *\nDisallow: /a*****\nAllow: /abc",
        [("bot", "/abc", False), ("bot", "/abcd", False)],
    ),
    # Wildcards
    (
        "a star inside stands for any run, also an empty one",
        "User-agent: *\nDisallow: /a/*/z",
        [("bot", "/a/b/z", False), ("bot", "/a//z", False), ("bot", "/a/z", True), ("bot", "/a/b/c/z/more", False)],
    ),
    (
        "a star at the end adds nothing",
        "User-agent: *\nDisallow: /fish*",
        [("bot", "/fish", False), ("bot", "/fishes/1", False), ("bot", "/fis", True)],
    ),
    (
        "a star at the start needs no slash",
        "User-agent: *\nDisallow: *.pdf",
        [("bot", "/a.pdf", False), ("bot", "/a/b.pdf?x", False), ("bot", "/pdf", True)],
    ),
    ("a lone star matches everything", "User-agent: *\nDisallow: *", [("bot", "/", False), ("bot", "/x", False)]),
    (
        "a dollar pins the end",
        "User-agent: *\nDisallow: /*.php$",
        [
            ("bot", "/a.php", False),
            ("bot", "/a.php?x", True),
            ("bot", "/a.php/", True),
            ("bot", "/a.php5", True),
            ("bot", "/a.php.php", False),
            ("bot", "/.php", False),
        ],
    ),
    (
        "the pinned end may not overlap what came before",
        "User-agent: *\nDisallow: /aba*aba$",
        [("bot", "/aba", True), ("bot", "/ababa", True), ("bot", "/abaaba", False), ("bot", "/abaxaba", False)],
    ),
    (
        "nor what a star before it was needed for",
        "User-agent: *\nDisallow: /*ab*b$",
        [("bot", "/xab", True), ("bot", "/abb", False), ("bot", "/abxb", False), ("bot", "/xxab", True)],
    ),
    (
        "literals do not overlap each other",
        "User-agent: *\nDisallow: /*aba*aba",
        [("bot", "/ababa", True), ("bot", "/abaaba", False), ("bot", "/aba.aba.", False)],
    ),
    (
        "of starred rules the longest decides, in any order",
        "User-agent: *\nDisallow: /*abc\nAllow: /*abc*d\nAllow: /*xyz*d\nDisallow: /*xyz",
        [("bot", "/abc", False), ("bot", "/abcd", True), ("bot", "/xyzd", True), ("bot", "/xyz", False)],
    ),
    (
        "among many starred rules the one that matches is found wherever it matches",
        "User-agent: *\n" + "\n".join(f"Disallow: /*x{number}" for number in range(100, 400)),
        [("bot", "/x123", False), ("bot", "/q/x399/r", False), ("bot", "/q/x99", True), ("bot", "/123", True)],
    ),
    (
        "the last star takes as much as it can",
        "User-agent: *\nDisallow: /*a*b$",
        [("bot", "/a.b.b", False), ("bot", "/b.a", True), ("bot", "/a.b.c", True)],
    ),
    (
        "a slash and a dollar mean the home page",
        "User-agent: *\nDisallow: /\nAllow: /$",
        [("bot", "/", True), ("bot", "/x", False), ("bot", "/?x", False)],
    ),
    (
        "a dollar elsewhere is an octet like others",
        "User-agent: *\nDisallow: /a$b",
        [("bot", "/a$b", False), ("bot", "/a$bc", False), ("bot", "/a", True), ("bot", "/a%24b", False)],
    ),
    (
        "of two dollars only the last is special",
        "User-agent: *\nDisallow: /a$$",
        [("bot", "/a$", False), ("bot", "/a", True), ("bot", "/a$$", True)],
    ),
    (
        "a star before the dollar undoes it",
        "User-agent: *\nDisallow: /a*$",
        [("bot", "/a", False), ("bot", "/abc", False), ("bot", "/b", True)],
    ),
    (
        "encoded star and dollar are literal",
        "User-agent: *\nDisallow: /file-%2A.html\nDisallow: /price-%24",
        [
            ("bot", "/file-*.html", False),
            ("bot", "/file-%2a.html", False),
            ("bot", "/file-x.html", True),
            ("bot", "/price-$", False),
            ("bot", "/price-$10", False),
            ("bot", "/price-", True),
        ],
    ),
    (
        "a rule that begins with neither slash nor star matches nothing",
        "User-agent: *\nDisallow: shop\nDisallow: $\nDisallow: ?x",
        [("bot", "/shop", True), ("bot", "/", True), ("bot", "/?x", True)],
    ),
    # Encoding
    (
        "encoded unreserved octets equal plain ones, on both sides",
        "User-agent: *\nDisallow: /%7Ejoe/\nDisallow: /foo/bar/%62%61%7A\nDisallow: /plain",
        [
            ("bot", "/~joe/", False),
            ("bot", "/%7ejoe/", False),
            ("bot", "/%7Ejoe/x", False),
            ("bot", "/foo/bar/baz", False),
            ("bot", "/foo/bar/%62%61%7A", False),
            ("bot", "/p%6Cain", False),
        ],
    ),
    (
        "an encoded slash is no slash",
        "User-agent: *\nDisallow: /a/b\nDisallow: /c%2fd",
        [("bot", "/a%2Fb", True), ("bot", "/a/b", False), ("bot", "/c/d", True), ("bot", "/c%2Fd", False)],
    ),
    (
        "digits of escapes have no case",
        "User-agent: *\nDisallow: /%e3%83%84\nDisallow: /x%3dy",
        [("bot", "/%E3%83%84", False), ("bot", "/%e3%83%84", False), ("bot", "/x%3Dy", False), ("bot", "/x=y", True)],
    ),
    (
        "octets outside ASCII equal their escapes",
        "User-agent: *\nDisallow: /foo/ツ\nDisallow: /café",
        [("bot", "/foo/%E3%83%84", False), ("bot", "/foo/ツ", False), ("bot", "/caf%c3%a9/x", False)],
    ),
    (
        "octets that are not UTF-8 equal their escapes too",
        b"User-agent: *\nDisallow: /caf\xe9",
        [("bot", "/caf%E9", False), ("bot", "/caf%C3%A9", True)],
    ),
    (
        "what no URL may hold equals its escape",
        'User-agent: *\nDisallow: /a b\nDisallow: /q"q\nDisallow: /{id}\nDisallow: /x|y',
        [("bot", "/a%20b", False), ("bot", "/q%22q", False), ("bot", "/%7Bid%7D", False), ("bot", "/x%7cy", False)],
    ),
    (
        "a query with an address in it matches as written",
        "User-agent: *\nDisallow: /\nAllow: /foo?to=https://foo.bar?a&b",
        [("bot", "/foo?to=https://foo.bar?a&b", True), ("bot", "/foo?to=https", False)],
    ),
    (
        "a percent sign that begins no escape is itself",
        "User-agent: *\nDisallow: /*%\nAllow: /ok%zz",
        [("bot", "/100%", False), ("bot", "/a%20b", False), ("bot", "/ok%zz", True), ("bot", "/ok", True)],
    ),
    # Groups
    (
        "an own group replaces the general one",
        "User-agent: *\nDisallow: /x/\nUser-agent: foobot\nDisallow: /y/",
        [("foobot", "/x/", True), ("foobot", "/y/", False), ("other", "/x/", False), ("other", "/y/", True)],
    ),
    (
        "an own group without rules allows all",
        "User-agent: *\nDisallow: /\n\nUser-agent: foobot\nDisallow:",
        [("foobot", "/x", True), ("other", "/x", False)],
    ),
    (
        "an own group at the end of the file without any line allows all",
        "User-agent: *\nDisallow: /\n\nUser-agent: foobot",
        [("foobot", "/x", True), ("other", "/x", False)],
    ),
    (
        "no group for the agent and none for all means no rules",
        "User-agent: a\nDisallow: /\nUser-agent: b\nDisallow: /",
        [("c", "/x", True), ("a", "/x", False)],
    ),
    (
        "groups of one token are merged wherever they stand",
        "User-agent: foobot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\n"
        "User-agent: FooBot\nDisallow: /b\nAllow: /b/c",
        [("foobot", "/a", False), ("foobot", "/b", False), ("foobot", "/b/c", True), ("foobot", "/d", True)],
    ),
    (
        "groups for all are merged as well",
        "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /z\nUser-agent: *\nDisallow: /b",
        [("bot", "/a", False), ("bot", "/b", False), ("bot", "/z", True)],
    ),
    (
        "several agents share the rules under them",
        "User-agent: a\nUser-agent: b\n\nUser-agent: c\nDisallow: /x\nUser-agent: d\nDisallow: /y",
        [("a", "/x", False), ("b", "/x", False), ("c", "/x", False), ("d", "/x", True), ("d", "/y", False)],
    ),
    (
        "an agent may share a group with everyone",
        "User-agent: a\nUser-agent: *\nDisallow: /x",
        [("a", "/x", False), ("b", "/x", False)],
    ),
    (
        "blank lines separate nothing",
        "User-agent: *\n\n\nDisallow: /x\n\n\nDisallow: /y",
        [("bot", "/x", False), ("bot", "/y", False)],
    ),
    (
        "rules before any agent are ignored",
        "Disallow: /x\nAllow: /y\nUser-agent: *\nDisallow: /z",
        [("bot", "/x", True), ("bot", "/z", False)],
    ),
    (
        "a sitemap line does not end a run of agents",
        "User-agent: a\nSitemap: https://e.example/s.xml\nUser-agent: *\nDisallow: /",
        [("a", "/", False), ("b", "/", False)],
    ),
    (
        "an unknown line does not end a run of agents",
        "User-agent: a\nNoindex: /x\nUser-agent: *\nDisallow: /",
        [("a", "/", False), ("b", "/", False)],
    ),
    (
        "a crawl delay ends it: a group that holds nothing else is a group",
        "User-agent: a\nCrawl-delay: 5\nUser-agent: *\nDisallow: /",
        [("a", "/", True), ("b", "/", False)],
    ),
    (
        "rules behind a crawl delay belong to its group",
        "User-agent: a\nUser-agent: b\nCrawl-delay: 5\nDisallow: /x\n\nUser-agent: *\nDisallow: /",
        [("a", "/x", False), ("a", "/y", True), ("b", "/x", False), ("c", "/y", False)],
    ),
    (
        "a crawl delay that is no number ends it all the same",
        "User-agent: *\nCrawl-delay: soon\nUser-agent: a\nDisallow: /",
        [("a", "/", False), ("b", "/", True)],
    ),
    (
        "an empty Disallow does end it",
        "User-agent: a\nDisallow:\nUser-agent: *\nDisallow: /",
        [("a", "/x", True), ("b", "/x", False)],
    ),
    # Agents
    (
        "tokens have no case",
        "User-agent: FooBot\nDisallow: /",
        [("foobot", "/x", False), ("FOOBOT", "/x", False), ("FooBot", "/x", False)],
    ),
    (
        "a token is matched whole",
        "User-agent: foobot\nDisallow: /a\nUser-agent: foo\nDisallow: /b\nUser-agent: *\nDisallow: /c",
        [
            ("foobot", "/a", False),
            ("foobot", "/b", True),
            ("foobot-news", "/c", False),
            ("foobot-news", "/a", True),
            ("fo", "/c", False),
            ("foo", "/b", False),
        ],
    ),
    (
        "what follows the token in the file is not part of it",
        "User-agent: FooBot/2.1 (+https://foo.example)\nDisallow: /a\nUser-agent: Bar Baz\nDisallow: /b",
        [("foobot", "/a", False), ("bar", "/b", False), ("baz", "/b", True)],
    ),
    (
        "what follows the token in our own name is not part of it",
        "User-agent: comitybot\nDisallow: /a",
        [("ComityBot/1.0 (+mailto:x@y.example)", "/a", False), ("ComityBot 1.0", "/a", False)],
    ),
    (
        "hyphens and underscores belong to a token, digits do not",
        "User-agent: foo_bot-x\nDisallow: /a\nUser-agent: bot7\nDisallow: /b",
        [("foo_bot-x", "/a", False), ("foo", "/a", True), ("bot", "/b", False), ("bot9", "/b", False)],
    ),
    (
        "a star with words behind it is everyone",
        "User-agent: * and all others\nDisallow: /a",
        [("bot", "/a", False)],
    ),
    (
        "a star glued to a word is nobody",
        "User-agent: *bot\nDisallow: /a",
        [("bot", "/a", True), ("foobot", "/a", True)],
    ),
    (
        "an agent line without a token starts a group for nobody",
        "User-agent: a\nDisallow: /a\nUser-agent:\nDisallow: /b\nUser-agent: 007\nDisallow: /c",
        [("a", "/a", False), ("a", "/b", True), ("a", "/c", True), ("", "/b", True)],
    ),
    (
        "an agent without a token obeys everyone's group",
        "User-agent: *\nDisallow: /a",
        [("", "/a", False), ("7", "/a", False)],
    ),
    # Lines
    ("keys have no case", "USER-AGENT: *\ndIsAlLoW: /a\nALLOW: /a/b", [("bot", "/a", False), ("bot", "/a/b", True)]),
    (
        "blanks around key, colon and value do not matter",
        "  User-agent \t:\t *  \n\tDisallow   :/a  \nDisallow:    /b\t# why",
        [("bot", "/a", False), ("bot", "/b", False)],
    ),
    (
        "a forgotten colon is forgiven",
        "User-agent *\nDisallow /a\nDisallow\t/b\nDisallow /c /d",
        [("bot", "/a", False), ("bot", "/b", False), ("bot", "/c", True)],
    ),
    (
        "common misspellings are understood",
        "useragent: *\nDissallow: /a\nDissalow: /b\nDisalow: /c\nDiasllow: /d\nDisallaw: /e",
        [("bot", f"/{letter}", False) for letter in "abcde"],
    ),
    ("an agent key with a blank is understood", "User agent: *\nDisallow: /a", [("bot", "/a", False)]),
    (
        "keys are known by how they begin",
        "User-agents: *\nDisallowed: /a\nAllowed: /a/b",
        [("bot", "/a", False), ("bot", "/a/b", True)],
    ),
    ("other misspellings are not", "User-agent: *\nDeny: /a\nNoallow: /b", [("bot", "/a", True), ("bot", "/b", True)]),
    (
        "a comment ends a value",
        "User-agent: * # all\nDisallow: /a#b\nDisallow: /c # d\n#Disallow: /e",
        [("bot", "/a", False), ("bot", "/c", False), ("bot", "/e", True), ("bot", "/x", True)],
    ),
    (
        "carriage returns end lines",
        "User-agent: *\rDisallow: /a\r\rDisallow: /b",
        [("bot", "/a", False), ("bot", "/b", False)],
    ),
    (
        "both characters together end one line",
        "User-agent: *\r\nDisallow: /a\r\nAllow: /a/b\r\n",
        [("bot", "/a", False), ("bot", "/a/b", True)],
    ),
    ("a byte order mark is skipped", b"\xef\xbb\xbfUser-agent: *\nDisallow: /a", [("bot", "/a", False)]),
    ("half a byte order mark is skipped", b"\xef\xbbUser-agent: *\nDisallow: /a", [("bot", "/a", False)]),
    ("one octet of a byte order mark is skipped", b"\xefUser-agent: *\nDisallow: /a", [("bot", "/a", False)]),
    ("a broken byte order mark spoils its line", b"\xef\x11\xbfUser-agent: *\nDisallow: /a", [("bot", "/a", True)]),
    (
        "a byte order mark inside spoils its line",
        b"User-agent: *\n\xef\xbb\xbfDisallow: /a\nDisallow: /b",
        [("bot", "/a", True), ("bot", "/b", False)],
    ),
    (
        "UTF-16 with its mark is read",
        "\ufeffUser-agent: *\nDisallow: /a\nDisallow: /é".encode("utf-16-le"),
        [("bot", "/a", False), ("bot", "/%C3%A9", False)],
    ),
    (
        "NULs around a line are dropped and one inside ends it",
        b"\0User-agent: *\0\0\nDisallow: /a\0b\n\0\0Disallow: /c\n\0",
        [("bot", "/a", False), ("bot", "/ab", False), ("bot", "/c", False), ("bot", "/b", True)],
    ),
    (
        "garbage lines are passed over",
        b"\x89PNG\n\xff\xfe\xfd\nUser-agent: *\n:\n: /x\n===\nDisallow: /a",
        [("bot", "/a", False), ("bot", "/x", True)],
    ),
    (
        "an HTML page instead of a file has no rules",
        "<!doctype html><html><head><title>Not found</title></head>\n<body>User-agent: nobody</body></html>",
        [("bot", "/", True)],
    ),
    # Index pages, after Google's matcher
    (
        "an allowed index page allows its folder",
        "User-agent: *\nDisallow: /\nAllow: /a/index.html\nAllow: /b/index.htm",
        [
            ("bot", "/a/", True),
            ("bot", "/a/index.html", True),
            ("bot", "/a/index.htm", False),
            ("bot", "/a/x", False),
            ("bot", "/b/", True),
            ("bot", "/a", False),
        ],
    ),
    (
        "an allowed index page of the root allows the home page only",
        "User-agent: *\nDisallow: /\nAllow: /index.html",
        [("bot", "/", True), ("bot", "/?x", False), ("bot", "/x", False)],
    ),
    (
        "a disallowed index page leaves its folder alone",
        "User-agent: *\nDisallow: /a/index.html",
        [("bot", "/a/", True), ("bot", "/a/index.html", False)],
    ),
    # Targets
    (
        "only path and query of a URL count",
        "User-agent: *\nDisallow: /a\nDisallow: /*?\nDisallow: /*secret",
        [
            ("bot", "https://e.example/a", False),
            ("bot", "https://e.example/b", True),
            ("bot", "https://e.example", True),
            ("bot", "https://e.example?x", False),
            ("bot", "https://e.example/b#/a?secret", True),
            ("bot", "https://secret.example/b", True),
            ("bot", "/b#secret", True),
            ("bot", "e.example/a", False),
            ("bot", "", True),
        ],
    ),
    (
        "an address inside the path is part of the path",
        "User-agent: *\nDisallow: /go/https://",
        [("bot", "/go/https://x.example/", False), ("bot", "https://e.example/go/https://x.example/", False)],
    ),
    (
        "a doubled slash is kept",
        "User-agent: *\nDisallow: //a",
        [("bot", "//a", False), ("bot", "/a", True), ("bot", "https://e.example//a", False)],
    ),
]

CASES = [
    pytest.param(body, agent, target, allowed, id=f"{what}: {agent or 'no agent'} {target or 'no target'}")
    for what, body, questions in TABLE
    for agent, target, allowed in questions
]


@pytest.mark.parametrize(("body", "agent", "target", "allowed"), CASES)
def test_the_verdict_is_as_the_rules_say(body: str | bytes, agent: str, target: str, allowed: bool) -> None:
    file = parse_robots(body.encode() if isinstance(body, str) else body)
    assert file.verdict(agent, target).allowed is allowed


def test_the_table_is_as_long_as_it_claims() -> None:
    assert len(CASES) >= 120

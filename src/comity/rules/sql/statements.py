"""Reading scripts: takes the user's text, returns statements one by one, or what is wrong with one and where.

A statement that begins with none of our keywords is for DuckDB: its text is passed on unchanged, whatever it
contains. docs/sql.md has the grammar. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple, NoReturn

from comity.model.statement import (
    CrawlerSetting,
    CrawlingMerge,
    CrawlStatement,
    OptionValue,
    PlainSql,
    QualifiedName,
    Statement,
    StatementProblem,
    StopCrawl,
    StreamStatement,
    TextPosition,
)
from comity.rules.sql.tokens import Token, TokenKind, may_name, name_value, position, string_value, tokens
from comity.rules.suggestions import nearest

MOST_OPTIONS: Final = 100
DEEPEST: Final = 8  # lists within lists
_CLAUSES: Final = ("EXTRACT", "WHERE", "WITH", "LIMIT")
_OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_WORD_VALUES: Final[dict[str, bool | None]] = {
    "TRUE": True,
    "FALSE": False,
    "ON": True,
    "OFF": False,
    "NULL": None,
}
_SCOPES: Final = ("SESSION", "GLOBAL", "LOCAL")
_OWN_SETTINGS: Final = ("crawler_", "http_timeout", "http_keep_alive")
_PLAIN_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")


class _Wrong(Exception):
    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def read_script(text: str) -> Iterator[Statement | StatementProblem]:
    """The statements of a script. After a problem the next statement is read all the same."""
    for whole, pieces in _split(text):
        read = _reader_of(pieces)
        if read is None:
            yield PlainSql(whole)
            continue
        try:
            yield read(_Reader(text, pieces))
        except _Wrong as wrong:
            yield StatementProblem(str(wrong), position(text, wrong.at))


class CrawlWithin(NamedTuple):
    """A CRAWL statement in parentheses inside another statement, and from where to where these are written."""

    start: int
    end: int
    statement: CrawlStatement


def crawl_within(text: str) -> CrawlWithin | StatementProblem | None:
    """The first `(CRAWL (query) INTO table …)` of a statement, which stands for the table; None if there is none."""
    pieces = list(tokens(text)) if may_name(text, "CRAWL") else []
    for at in range(len(pieces) - 3):
        if not pieces[at].is_symbol("(") or not pieces[at + 1].is_word("CRAWL"):
            continue
        reader = _Reader(text, pieces[at + 1 :])
        try:
            reader.skip_query()
            if not reader.next_is_word("INTO"):  # a call of the function
                continue
            end = _Reader(text, pieces[at + 1 :]).closing_of(pieces[at])
            inside = [piece for piece in pieces[at + 1 :] if piece.end <= end.start]
            return CrawlWithin(pieces[at].start, end.end, _Reader(text, inside).crawl())
        except _Wrong as wrong:
            return StatementProblem(str(wrong), position(text, wrong.at))
    return None


def first_lines(text: str) -> list[int]:
    """The line on which each statement of a script begins."""
    return [position(text, pieces[0].start).line for _whole, pieces in _split(text)]


def is_complete(text: str) -> bool:
    """Whether a prompt may run what was typed: the last statement ends with a semicolon, and nothing is left open."""
    last: Token | None = None
    for last in tokens(text):
        if not last.is_closed:
            return False
    return last is None or last.is_symbol(";")


def print_statement(statement: CrawlStatement | CrawlingMerge | StreamStatement | StopCrawl | CrawlerSetting) -> str:
    """A statement as text; reading it gives the same statement again."""
    match statement:
        case CrawlerSetting(name, value, is_reset):
            return f"RESET {name}" if is_reset else f"SET {name} = {print_value(value)}"
        case CrawlingMerge(merge):
            return f"CRAWLING {merge}"
        case StopCrawl(target):
            return f"STOP CRAWL INTO {print_name(target)}"
        case StreamStatement(query, target, batch_size, limit):
            options = f" WITH (batch_size {batch_size})" if batch_size is not None else ""
            limited = f" LIMIT {limit}" if limit is not None else ""
            return f"STREAM ({query}\n) INTO {print_name(target)}{options}{limited}"
        case CrawlStatement():
            return "\n".join(_printed_clauses(statement))


def _printed_clauses(statement: CrawlStatement) -> Iterator[str]:
    yield f"CRAWL ({statement.query}\n)"  # on its own line: the query may end in a comment
    yield f"INTO {print_name(statement.target)}"
    if statement.extract is not None:
        yield f"EXTRACT ({statement.extract}\n)"
    if statement.where is not None:
        yield f"WHERE {statement.where}"
    if statement.options:
        yield f"WITH ({', '.join(f'{name} {print_value(value)}' for name, value in statement.options)})"
    if statement.limit is not None:
        yield f"LIMIT {statement.limit}"


def quoted_name(name: QualifiedName) -> str:
    """A name for DuckDB, which reads a quoted name as it reads a plain one; a plain one may be a keyword."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.parts)


def print_name(name: QualifiedName) -> str:
    """A name, quoted where our own reader needs it."""
    return ".".join(
        part if _PLAIN_NAME.fullmatch(part) and part.upper() not in _CLAUSES else '"' + part.replace('"', '""') + '"'
        for part in name.parts
    )


def print_value(value: OptionValue) -> str:
    """The value of an option."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "NULL"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case tuple():
            return f"[{', '.join(map(print_value, value))}]"
        case _:
            return format(value, "f") if isinstance(value, Decimal) else str(value)


def _split(text: str) -> Iterator[tuple[str, list[Token]]]:
    """Each statement with its comments, and its tokens, without the semicolon; empty statements are left out."""
    start, pieces = 0, []
    for token in tokens(text):
        if not token.is_symbol(";"):
            pieces.append(token)
            continue
        if pieces:
            yield text[start : token.start].strip(), pieces
        start, pieces = token.end, []
    if pieces:
        yield text[start:].strip(), pieces


def _reader_of(pieces: Sequence[Token]) -> Callable[[_Reader], Statement] | None:
    """How to read one of our own statements; None for any other. No statement of DuckDB begins with CRAWL."""
    first, second = pieces[0], pieces[1] if len(pieces) > 1 else None
    if second is None:
        return _Reader.crawl if first.is_word("CRAWL") else None
    if first.is_word("CRAWL"):
        return _Reader.crawl
    if first.is_word("CRAWLING") and second.is_word("MERGE"):
        return _Reader.merge
    if first.is_word("STREAM"):
        return _Reader.stream_merge if second.is_word("INTO") else _Reader.stream
    if first.is_word("STOP") and second.is_word("CRAWL"):
        return _Reader.stop
    if first.is_word("SET", "RESET"):
        named = pieces[2] if second.is_word(*_SCOPES) and len(pieces) > 2 else second
        if named.kind is TokenKind.WORD and named.text.lower().startswith(_OWN_SETTINGS):
            return _Reader.setting
    return None


class _Reader:
    """The tokens of one statement, and how far they are read."""

    def __init__(self, text: str, pieces: Sequence[Token]) -> None:
        self._text = text
        self._pieces = pieces
        self._at = 0

    def skip_query(self) -> None:
        """Continue after `CRAWL (query)`."""
        self._take_word("CRAWL")
        if self.next_is_word("SITES", "CONCURRENTLY"):
            self._at += 1
        opening = self._peek()
        if opening is not None and opening.is_symbol("("):
            self._at += 1
            self.closing_of(opening)

    def crawl(self) -> CrawlStatement:
        """`CRAWL (query) INTO name [EXTRACT (…)] [WHERE …] [WITH (…)] [LIMIT n]`; the clauses come in any order."""
        self._take_word("CRAWL")
        if self.next_is_word("SITES", "CONCURRENTLY"):  # older forms of the language; they mean the same
            self._at += 1
        query = self._enclosed("a query in parentheses: CRAWL (SELECT …) INTO table")
        query_at = self._place_of_last(query)
        self._take_word("INTO")
        target = self._name()
        extract, where, limit = None, None, None
        options: tuple[tuple[str, OptionValue], ...] = ()
        places: tuple[int, ...] = ()
        extract_at: TextPosition | None = None
        where_at: TextPosition | None = None
        seen: set[str] = set()
        while (token := self._peek()) is not None:
            clause = token.text.upper()
            if not token.is_word(*_CLAUSES):
                self._refuse_clause(token)
            if clause in seen:
                self._fail(f"the clause {clause} appears twice", token)
            seen.add(clause)
            self._at += 1
            if clause == "EXTRACT":
                extract = self._enclosed("columns in parentheses: EXTRACT (price FROM css '.price::text')")
                extract_at = self._place_of_last(extract)
            elif clause == "WHERE":
                where_at = position(self._text, following.start) if (following := self._peek()) is not None else None
                where = self._filter()
            elif clause == "WITH":
                options, places = self._options()
            else:
                limit = self._limit()
        at = tuple(position(self._text, place) for place in places)
        return CrawlStatement(query, target, extract, where, options, limit, at, extract_at, query_at, where_at)

    def stream(self) -> StreamStatement:
        """`STREAM (query) INTO name [WITH (batch_size n)] [LIMIT n]`, a form of the crawler extension's."""
        self._at = 1
        query = self._enclosed("a query in parentheses: STREAM (SELECT …) INTO table")
        self._take_word("INTO")
        target = self._name()
        batch_size, limit = None, None
        if self.next_is_word("WITH"):
            self._at += 1
            batch_size = self._batch_size()
        if self.next_is_word("LIMIT"):
            self._at += 1
            limit = self._limit()
        self._expect_end("the table, WITH (batch_size …) and LIMIT")
        return StreamStatement(query, target, batch_size, limit)

    def _batch_size(self) -> int | None:
        options, places = self._options()
        for (name, value), at in zip(options, places, strict=True):
            if name != "batch_size" or isinstance(value, bool) or not isinstance(value, int):
                takes = "it takes a whole number" if name == "batch_size" else "the only option of STREAM is batch_size"
                raise _Wrong(f"{name}: {takes}", at)
            return value
        return None

    def stream_merge(self) -> CrawlingMerge:
        """`STREAM INTO … USING …`, an older form of CRAWLING MERGE."""
        return self.merge("MERGE ")

    def merge(self, prefix: str = "") -> CrawlingMerge:
        """`CRAWLING MERGE INTO … USING (query) … [LIMIT n]`: DuckDB reads the rest. The limit is one of the query."""
        begin, last = self._pieces[1], self._pieces[-1]
        whole = prefix + self._text[begin.start : last.end]
        target, source = self._merged()
        if len(self._pieces) < 4 or not self._pieces[-2].is_word("LIMIT") or last.kind is not TokenKind.NUMBER:
            return CrawlingMerge(whole, target, source)
        self._at = len(self._pieces) - 1
        limit = self._limit()
        self._go_behind_using()
        start, end, name = self._source()
        # A table that is named without an alias keeps its name.
        alias = f" AS {name.text}" if name is not None and self.next_is_word("ON") else ""
        limited = f"(SELECT * FROM ({self._query_of(start, end)}\n) LIMIT {limit}\n){alias}"  # noqa: S608  # the user's own query
        head, tail = self._text[begin.start : start.start], self._text[end.end : self._pieces[-3].end]
        return CrawlingMerge(f"{prefix}{head}{limited}{tail}", target, source)

    def _go_behind_using(self) -> None:
        self._at = next((at for at, piece in enumerate(self._pieces) if piece.is_word("USING")), len(self._pieces)) + 1

    def _query_of(self, start: Token, end: Token) -> str:
        source = self._text[start.start : end.end]
        return source[1:-1].strip() if start.is_symbol("(") else f"FROM {source}"

    def _merged(self) -> tuple[QualifiedName | None, str]:
        """The target and the source; DuckDB reports what is wrong with them."""
        before, self._at = self._at, 0
        try:
            while not self._take("INTO").is_word("INTO"):
                pass
            target = self._name()
            self._go_behind_using()
            start, end, _name = self._source()
            return target, self._query_of(start, end)
        except _Wrong:
            return None, ""
        finally:
            self._at = before

    def _source(self) -> tuple[Token, Token, Token | None]:
        """The first and the last token of what follows USING: a query, a call or a table; and the name of these."""
        first = self._take("a query in parentheses or a table after USING")
        if first.is_symbol("("):
            return first, self.closing_of(first), None
        name = first
        while (token := self._peek()) is not None and token.is_symbol("."):
            self._at += 1
            name = self._take("a table")
        if token is None or not token.is_symbol("("):
            return first, name, name
        self._at += 1
        return first, self.closing_of(token), name

    def stop(self) -> StopCrawl:
        """`STOP CRAWL INTO name`."""
        self._at = 2
        self._take_word("INTO")
        target = self._name()
        self._expect_end("the table")
        return StopCrawl(target)

    def setting(self) -> CrawlerSetting:
        """`SET [SESSION | GLOBAL] crawler_… {= | TO} value` and `RESET crawler_…`."""
        is_reset = self._take("SET").is_word("RESET")
        token = self._take("the name of a setting")
        if token.is_word(*_SCOPES):
            token = self._take("the name of a setting")
        name = token.text.lower()
        value: OptionValue = None
        if not is_reset:
            token = self._take(f"a value: SET {name} = …")
            if not token.is_symbol("=") and not token.is_word("TO"):
                self._fail(f"expected = or TO after {name}, not {_quoted(token)}", token)
            value = self._value(name, 0)
        self._expect_end("the setting")
        return CrawlerSetting(name, value, is_reset)

    def _expect_end(self, what: str) -> None:
        if (token := self._peek()) is not None:
            self._fail(f"nothing may follow {what}, but {_quoted(token)} does", token)

    def _name(self) -> QualifiedName:
        parts = [self._name_part()]
        while (token := self._peek()) is not None and token.is_symbol("."):
            self._at += 1
            parts.append(self._name_part())
        if len(parts) > 3:
            self._fail("a table has at most a catalog, a schema and a name", self._pieces[self._at - 1])
        return QualifiedName(tuple(parts))

    def _name_part(self) -> str:
        token = self._take("the name of a table")
        if token.kind not in (TokenKind.WORD, TokenKind.QUOTED_NAME):
            self._fail(f"the name of a table is missing before {_quoted(token)}", token)
        self._check_closed(token)
        name = name_value(token)
        if not name:
            self._fail("the name of a table is empty", token)
        return name

    def _enclosed(self, what: str) -> str:
        """The text between parentheses."""
        opening = self._take(what)
        if not opening.is_symbol("("):
            self._fail(f"expected {what}", opening)
        closing = self.closing_of(opening)
        inside = self._text[opening.end : closing.start].strip()
        if not any(True for _ in tokens(inside)):
            self._fail(f"expected {what}; the parentheses are empty", closing)
        return inside

    def _place_of_last(self, enclosed: str) -> TextPosition:
        """Where the text begins that was between the last parentheses."""
        return position(self._text, self._text.rindex(enclosed, 0, self._pieces[self._at - 1].start))

    def closing_of(self, opening: Token) -> Token:
        """Continue after the bracket that closes one; every other is closed before it."""
        open_brackets = [opening]
        while (token := self._peek()) is not None:
            self._at += 1
            self._check_closed(token)
            if token.kind is not TokenKind.SYMBOL:
                continue
            if token.text in _OPENING:
                open_brackets.append(token)
            elif token.text in _OPENING.values():
                if token.text != _OPENING[open_brackets[-1].text]:
                    self._fail(f"{_quoted(token)} does not close {_quoted(open_brackets[-1])}", token)
                open_brackets.pop()
                if not open_brackets:
                    return token
        raise _Wrong(f"{_quoted(open_brackets[-1])} is never closed", open_brackets[-1].start)

    def _filter(self) -> str:
        """The text up to the next clause. EXTRACT is a function of SQL too, so that no clause of that name follows."""
        start = self._take("a condition on url")
        self._at -= 1
        while (token := self._peek()) is not None and not self._begins_clause(token):
            self._at += 1
            self._check_closed(token)
            if token.kind is TokenKind.SYMBOL and token.text in _OPENING:
                self.closing_of(token)
            elif token.kind is TokenKind.SYMBOL and token.text in _OPENING.values():
                self._fail(f"{_quoted(token)} closes nothing", token)
        end = self._pieces[self._at - 1]
        if end.end <= start.start:
            self._fail("expected a condition on url", start)
        return self._text[start.start : end.end]

    def _begins_clause(self, token: Token) -> bool:
        following = self._pieces[self._at + 1] if self._at + 1 < len(self._pieces) else None
        if token.is_word("WITH"):
            return following is None or following.is_symbol("(")
        return token.is_word("LIMIT")

    def _limit(self) -> int:
        token = self._take("a number of pages")
        if token.kind is not TokenKind.NUMBER or not token.text.replace("_", "").isdigit():
            self._fail(f"LIMIT needs a whole number, not {_quoted(token)}", token)
        return int(token.text.replace("_", ""))

    def _options(self) -> tuple[tuple[tuple[str, OptionValue], ...], tuple[int, ...]]:
        """`(name value, name = value, …)`, and where the names are."""
        opening = self._take("options in parentheses: WITH (user_agent 'MyBot/1.0')")
        if not opening.is_symbol("("):
            self._fail("expected options in parentheses: WITH (user_agent 'MyBot/1.0')", opening)
        found: dict[str, OptionValue] = {}
        places: list[int] = []
        while True:
            token = self._take("the name of an option")
            if token.is_symbol(")"):
                return tuple(found.items()), tuple(places)
            if token.kind not in (TokenKind.WORD, TokenKind.QUOTED_NAME):
                self._fail(f"expected the name of an option, not {_quoted(token)}", token)
            self._check_closed(token)
            name = name_value(token).lower()
            if name in found:
                self._fail(f"the option {name} appears twice", token)
            if len(found) >= MOST_OPTIONS:
                self._fail(f"more than {MOST_OPTIONS} options", token)
            following = self._peek()
            if following is not None and (following.is_symbol("=") or following.is_symbol(":=")):
                self._at += 1
            places.append(token.start)
            found[name] = self._value(name, 0)
            token = self._take("a comma or the closing parenthesis")
            if token.is_symbol(")"):
                return tuple(found.items()), tuple(places)
            if not token.is_symbol(","):
                self._fail(f"expected a comma or a closing parenthesis after {name}, not {_quoted(token)}", token)

    def _value(self, name: str, depth: int) -> OptionValue:
        token = self._take(f"a value of {name}")
        self._check_closed(token)
        if token.kind is TokenKind.STRING:
            return string_value(token)
        if token.kind is TokenKind.NUMBER:
            return self._number(token)
        if token.kind is TokenKind.SYMBOL and token.text in "+-":
            number = self._take(f"a value of {name}")
            if number.kind is not TokenKind.NUMBER:
                self._fail(f"expected a number, not {_quoted(number)}", number)
            value = self._number(number)
            return -value if token.text == "-" else value
        if token.is_word(*_WORD_VALUES):
            return _WORD_VALUES[token.text.upper()]
        if token.is_symbol("[") or token.is_symbol("("):
            if depth >= DEEPEST:
                self._fail(f"lists are nested more than {DEEPEST} deep", token)
            return self._list(name, "]" if token.text == "[" else ")", depth)
        if token.kind is TokenKind.PARAMETER:
            self._fail(f"the value of {name} is written out; parameters are for the query", token)
        expected = f"expected a value of {name}: a string in single quotes, a number, true, false or a list"
        raise _Wrong(expected, token.start)

    def _list(self, name: str, closing: str, depth: int) -> tuple[OptionValue, ...]:
        values: list[OptionValue] = []
        if (token := self._peek()) is not None and token.is_symbol(closing):
            self._at += 1
            return ()
        while True:
            values.append(self._value(name, depth + 1))
            token = self._take("a comma or the end of the list")
            if token.is_symbol(closing):
                return tuple(values)
            if not token.is_symbol(","):
                self._fail(f"expected a comma or {closing!r} in the list of {name}, not {_quoted(token)}", token)

    def _number(self, token: Token) -> int | Decimal:
        digits = token.text.replace("_", "")
        try:
            return int(digits) if digits.isdigit() else Decimal(digits)
        except (InvalidOperation, ValueError):
            self._fail(f"{_quoted(token)} is not a number", token)

    def _peek(self) -> Token | None:
        return self._pieces[self._at] if self._at < len(self._pieces) else None

    def next_is_word(self, *words: str) -> bool:
        """Whether the next token is one of these words."""
        token = self._peek()
        return token is not None and token.is_word(*words)

    def _take(self, what: str) -> Token:
        token = self._peek()
        if token is None:
            raise _Wrong(f"expected {what}, but the statement ends", self._pieces[-1].end)
        self._at += 1
        return token

    def _take_word(self, word: str) -> None:
        token = self._take(word)
        if not token.is_word(word):
            self._fail(f"expected {word}, not {_quoted(token)}", token)

    def _check_closed(self, token: Token) -> None:
        if not token.is_closed:
            kind = "comment" if token.kind is TokenKind.SYMBOL else token.kind
            self._fail(f"a {kind} is never closed", token)

    def _refuse_clause(self, token: Token) -> NoReturn:
        meant = nearest(token.text, _CLAUSES) if token.kind is TokenKind.WORD else None
        remedy = f"; did you mean {meant}?" if meant else f"; after the table come {', '.join(_CLAUSES)}"
        self._fail(f"{_quoted(token)} is not expected here{remedy}", token)

    def _fail(self, message: str, token: Token) -> NoReturn:
        raise _Wrong(message, token.start)


def _quoted(token: Token) -> str:
    text = token.text if len(token.text) <= 40 else token.text[:39] + "…"
    return repr(text) if "'" not in text else f'"{text}"'

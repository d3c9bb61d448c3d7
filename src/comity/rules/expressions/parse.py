"""Reading expressions: takes the user's text, returns columns or an expression, or what is wrong with it and where.

docs/extract.md has the grammar. Time is linear in the text, and nesting is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Final, NoReturn, TypeVar

from comity.model.expression import (
    DEFAULT_PRECISION,
    DEFAULT_SCALE,
    MAX_PRECISION,
    VARCHAR,
    Coalesce,
    ColumnType,
    CssSelection,
    DataPath,
    EveryElement,
    Expression,
    ExpressionProblem,
    ExtractColumn,
    PathRoot,
    PathStep,
    Transform,
    TypeName,
    ValueSource,
    Wanted,
    XpathSelection,
)
from comity.rules.suggestions import nearest

LONGEST_TEXT: Final = 65_536
LONGEST_STRING: Final = 2_000
LONGEST_NAME: Final = 63
MOST_COLUMNS: Final = 200
MOST_OPTIONS: Final = 16
MOST_STEPS: Final = 32
MOST_TRANSFORMS: Final = 16
DEEPEST: Final = 8
_QUOTED_MOST: Final = 40

RESERVED_NAMES: Final = (
    *("url", "surt_key", "http_status", "body", "content_type", "crawl_time", "error", "etag", "last_modified"),
    *("content_hash", "final_url", "redirect_count", "title", "body_bytes", "run_id", "data", "text", "markdown"),
)
"""The columns that pages have anyway, or may have."""
TYPES: Final = {
    **{name.value: name for name in TypeName if name is not TypeName.JSON},
    "TEXT": TypeName.VARCHAR,
    "STRING": TypeName.VARCHAR,
    "NUMERIC": TypeName.DECIMAL,
    "FLOAT": TypeName.DOUBLE,
    "REAL": TypeName.DOUBLE,
    "INT": TypeName.INTEGER,
    "BOOL": TypeName.BOOLEAN,
    "DATETIME": TypeName.TIMESTAMP,
}
_ROOTS: Final = {root.value: root for root in PathRoot} | {"opengraph": PathRoot.OPENGRAPH}
_SOURCES: Final = (*_ROOTS, "css", "xpath", "COALESCE")
_TRANSFORMS: Final = {transform.value: transform for transform in Transform}
# White space and comments, as in SQL and as in scripts.
_BLANK: Final = re.compile(r"(?:\s++|--[^\n]*+|#[^\n]*+)*+")
_WORD: Final = re.compile(r"[^\W\d]\w*+")
_STEP_NAME: Final = re.compile(r"(?:[\w$@:]|-(?!>))++")
_DIGITS: Final = re.compile(r"[0-9]{1,6}")
_PSEUDO: Final = re.compile(r"(.*?)\s*::\s*(?:(text)|attr\(\s*([^\s()]+)\s*\))\s*", re.DOTALL | re.IGNORECASE)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_BEGINNING: Final = re.compile(
    r"\s*(?:(?:css|xpath)\s*['\"]|coalesce\s*\(|(?:jsonld|microdata|og|opengraph|meta|js)\s*(?:[.\[]|->))",
    re.IGNORECASE,
)
Result = TypeVar("Result")


def parse_columns(text: str, taken: Collection[str] = ()) -> tuple[ExtractColumn, ...] | ExpressionProblem:
    """Read columns, separated by commas or line breaks; `taken` are names that they may not have."""
    return _run(text, lambda parser: parser.columns({name.casefold() for name in taken}))


def parse_expression(text: str) -> Expression | ExpressionProblem:
    """Read one expression, without a name or a type."""
    return _run(text, _Parser.only_expression)


def looks_like_expression(text: str) -> bool:
    """Whether a text that may also be a CSS selector begins as an expression does."""
    return _BEGINNING.match(text) is not None


def uses_xpath(expression: Expression) -> bool:
    """Whether an expression, or one within it, is XPath."""
    source = expression.source
    if isinstance(source, Coalesce):
        return any(map(uses_xpath, source.options))
    return isinstance(source, XpathSelection)


def reads_scripts(column: ExtractColumn) -> bool:
    """Whether a column is read from a variable of a script."""

    def reads(expression: Expression) -> bool:
        source = expression.source
        if isinstance(source, Coalesce):
            return any(map(reads, source.options))
        return isinstance(source, DataPath) and source.root is PathRoot.JAVASCRIPT

    return reads(column.expression)


def describe(text: str, problem: ExpressionProblem, at: tuple[int, int] | None = None) -> str:
    """The problem as a sentence that says where it is: in the text, or in a script that has it at a line and column."""
    before = text[: problem.offset]
    line, column = before.count("\n") + 1, problem.offset - before.rfind("\n")
    if at is not None:
        line, column = at[0] + line - 1, column if line > 1 else at[1] + column - 1
    where = f"line {line}, column {column}" if at is not None or "\n" in text.strip() else f"column {column}"
    return f"{where}: {problem.message}"


class _Wrong(Exception):
    """The text cannot be read."""

    def __init__(self, problem: ExpressionProblem) -> None:
        self.problem = problem


def _run(text: str, read: Callable[[_Parser], Result]) -> Result | ExpressionProblem:
    if len(text) > LONGEST_TEXT:
        return ExpressionProblem(f"the text is longer than {LONGEST_TEXT:,} characters", LONGEST_TEXT)
    try:
        return read(_Parser(text))
    except _Wrong as wrong:
        return wrong.problem


class _Parser:
    """A text and how far it is read; `at` is always at a token or at the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._skip()

    def columns(self, taken: set[str]) -> tuple[ExtractColumn, ...]:
        """Read to the end."""
        found: list[ExtractColumn] = []
        names: set[str] = set()
        while self._at < len(self._text):
            start = self._at
            column = self._column()
            name = column.name.casefold()
            if name in taken:
                self._fail(f"{_quoted(column.name)} is a column of every page; choose another name with AS", start)
            if name in names:
                self._fail(f"there are two columns {_quoted(column.name)}; choose another name with AS", start)
            if len(found) == MOST_COLUMNS:
                self._fail(f"there are more than {MOST_COLUMNS} columns", start)
            names.add(name)
            found.append(column)
            self._end_column()
        if not found:
            self._fail("there is no expression; write one such as: price DECIMAL FROM css '.price::text' | parse_price")
        return tuple(found)

    def only_expression(self) -> Expression:
        """Read one expression, to the end."""
        found = self._expression()
        if self._at < len(self._text):
            self._fail(f"expected | or the end, not {self._next()}")
        return found

    def _end_column(self) -> None:
        """A comma, a line break or the end."""
        end = self._at
        if self._take(",") or end == len(self._text):
            return
        before = self._text[:end]
        blank = before[len(before.rstrip()) :]
        if "\n" not in blank and not self._was_comment(end):
            self._fail(f"expected |, AS, a comma or the end, not {self._next()}")

    def _was_comment(self, end: int) -> bool:
        """Whether what stands before is a comment, which a line break ends."""
        return self._blank_from < end and "\n" in self._text[self._blank_from : end]

    def _column(self) -> ExtractColumn:
        start = self._at
        name = self._column_name()
        if name is not None:
            if self._keyword("FROM"):
                return ExtractColumn(name, VARCHAR, self._expression())
            kind = self._type()
            if not self._keyword("FROM"):
                self._fail(f"expected FROM after the type, not {self._next()}")
            return ExtractColumn(name, kind, self._expression())
        expression = self._expression()
        if self._keyword("AS"):
            return ExtractColumn(self._name(), VARCHAR, expression)
        own = _own_name(expression.source)
        if own is None:
            self._fail("this column has no name; add AS and a name", start)
        return ExtractColumn(own, VARCHAR, expression)

    def _column_name(self) -> str | None:
        """The name in front of a type or of FROM; None where an expression begins instead."""
        start = self._at
        if start < len(self._text) and self._text[start] == '"':
            return self._name()
        word = _WORD.match(self._text, start)
        if word is None:
            return None
        self._skip(word.end())
        following = _WORD.match(self._text, self._at)
        is_name = following is not None and following[0].upper() not in ("AS",)
        if not is_name:
            self._at = start
            return None
        return self._checked_name(word[0], start)

    def _name(self) -> str:
        start = self._at
        if start < len(self._text) and self._text[start] in "\"'":
            return self._checked_name(self._string(), start)
        word = _WORD.match(self._text, start)
        if word is None:
            self._fail(f"expected a name, not {self._next()}")
        self._skip(word.end())
        return self._checked_name(word[0], start)

    def _checked_name(self, name: str, start: int) -> str:
        if not name.strip() or len(name) > LONGEST_NAME or _CONTROL.search(name):
            self._fail(f"a name has 1 to {LONGEST_NAME} printable characters", start)
        return name

    def _type(self) -> ColumnType:
        start = self._at
        word = self._word("a type")
        name = TYPES.get(word.upper())
        if name is None:
            self._unknown("type", word, TYPES, start)
        if not self._take("("):
            if name is TypeName.DECIMAL:
                return ColumnType(name, DEFAULT_PRECISION, DEFAULT_SCALE)
            return ColumnType(name)
        numbers = [self._number()]
        while self._take(",") and len(numbers) < 2:
            numbers.append(self._number())
        if not self._take(")"):
            self._fail(f"expected ), not {self._next()}")
        if name is TypeName.VARCHAR and len(numbers) == 1:
            return VARCHAR  # as DuckDB: a length is accepted, and means nothing
        if name is not TypeName.DECIMAL:
            self._fail(f"{word.upper()} has no size", start)
        precision, scale = numbers[0], numbers[1] if len(numbers) > 1 else 0
        if not 1 <= precision <= MAX_PRECISION or scale > precision:
            self._fail(
                f"DECIMAL has 1 to {MAX_PRECISION} digits, and no more of them after the point than in all", start
            )
        return ColumnType(name, precision, scale)

    def _expression(self) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(f"expressions are nested more than {DEEPEST} deep")
        source = self._source()
        transforms: list[Transform] = []
        while self._take("|"):
            start = self._at
            word = self._word("a step such as trim or parse_price")
            transform = _TRANSFORMS.get(word.lower())
            if transform is None:
                self._unknown("step", word, _TRANSFORMS, start)
            if len(transforms) == MOST_TRANSFORMS:
                self._fail(f"an expression has at most {MOST_TRANSFORMS} steps", start)
            transforms.append(transform)
        self._depth -= 1
        return Expression(source, tuple(transforms))

    def _source(self) -> ValueSource:
        start = self._at
        word = self._word("jsonld, microdata, og, meta, js, css, xpath or COALESCE").lower()
        if word in _ROOTS:
            return DataPath(_ROOTS[word], self._steps())
        if word in ("css", "xpath"):
            place = self._at
            if place >= len(self._text) or self._text[place] not in "\"'":
                self._fail(f"{word} needs a text in quotes, such as css '.price::text'")
            said = self._string()
            return self._css(said, place) if word == "css" else self._xpath(said, place)
        if word != "coalesce":
            self._unknown("source", self._text[start : start + len(word)], _SOURCES, start)
        return self._coalesce()

    def _coalesce(self) -> Coalesce:
        if not self._take("("):
            self._fail(f"expected ( after COALESCE, not {self._next()}")
        options = [self._expression()]
        while self._take(","):
            if len(options) == MOST_OPTIONS:
                self._fail(f"COALESCE has at most {MOST_OPTIONS} parts")
            options.append(self._expression())
        if not self._take(")"):
            self._fail(f"expected a comma or ), not {self._next()}")
        return Coalesce(tuple(options))

    def _steps(self) -> tuple[PathStep, ...]:
        """The steps behind a root: `.name`, `[0]`, `[*]`, `['name']`, and `->'name'` as in DuckDB."""
        steps: list[PathStep] = []
        while True:
            start = self._at
            if self._take("->>") or self._take("->"):
                steps.append(self._string() if self._at_quote() else self._number())
            elif self._take("."):
                steps.append(self._string() if self._at_quote() else self._step_name())
            elif self._take("["):
                if self._take("*"):
                    steps.append(EveryElement.EVERY)
                else:
                    steps.append(self._string() if self._at_quote() else self._number())
                if not self._take("]"):
                    self._fail(f"expected ], not {self._next()}")
            else:
                return tuple(steps)
            if len(steps) > MOST_STEPS:
                self._fail(f"a path has at most {MOST_STEPS} steps", start)

    def _step_name(self) -> str:
        found = _STEP_NAME.match(self._text, self._at)
        if found is None:
            self._fail(f"expected a name after the dot, not {self._next()}")
        if len(found[0]) > LONGEST_STRING:
            self._fail(f"a name has at most {LONGEST_STRING:,} characters")
        self._skip(found.end())
        return found[0]

    def _css(self, said: str, place: int) -> CssSelection:
        pseudo = _PSEUDO.fullmatch(said)
        if pseudo is None:
            if "::" in said and selector_problem(said):
                self._fail("after :: expected text or attr(name), at the end of the selector", place)
            selection = CssSelection(said.strip())
        elif pseudo[2]:
            selection = CssSelection(pseudo[1].strip(), Wanted.TEXT)
        else:
            selection = CssSelection(pseudo[1].strip(), Wanted.ATTRIBUTE, pseudo[3].lower())
        problem = selector_problem(selection.css) if selection.css or pseudo is None else None
        if problem is not None:
            self._fail(problem, place)
        return selection

    def _xpath(self, said: str, place: int) -> XpathSelection:
        problem = xpath_problem(said.strip())
        if problem is not None:
            self._fail(problem, place)
        return XpathSelection(said.strip())

    def _at_quote(self) -> bool:
        return self._at < len(self._text) and self._text[self._at] in "\"'"

    def _string(self) -> str:
        """A text in quotes; a quote inside is doubled, as in SQL."""
        text, start = self._text, self._at
        quote, pieces, at = text[start], [], start + 1
        while True:
            end = text.find(quote, at)
            if end < 0:
                self._fail("the quote is not closed", start)
            pieces.append(text[at:end])
            if text[end + 1 : end + 2] != quote:
                break
            pieces.append(quote)
            at = end + 2
        said = "".join(pieces)
        if len(said) > LONGEST_STRING:
            self._fail(f"a text has at most {LONGEST_STRING:,} characters", start)
        self._skip(end + 1)
        return said

    def _number(self) -> int:
        found = _DIGITS.match(self._text, self._at)
        if found is None:
            self._fail(f"expected a number, not {self._next()}")
        self._skip(found.end())
        return int(found[0])

    def _word(self, wanted: str) -> str:
        found = _WORD.match(self._text, self._at)
        if found is None:
            self._fail(f"expected {wanted}, not {self._next()}")
        self._skip(found.end())
        return found[0]

    def _keyword(self, word: str) -> bool:
        found = _WORD.match(self._text, self._at)
        if found is None or found[0].upper() != word:
            return False
        self._skip(found.end())
        return True

    def _take(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._skip(self._at + len(mark))
        return True

    def _skip(self, end: int = 0) -> None:
        """Go to the next token."""
        self._blank_from = end
        found = _BLANK.match(self._text, end)
        self._at = found.end() if found is not None else end

    def _next(self) -> str:
        """What stands here, as a message quotes it."""
        rest = self._text[self._at : self._at + _QUOTED_MOST].split("\n", 1)[0].strip()
        word = _WORD.match(rest)
        return _quoted(word[0] if word is not None else rest[:1]) if rest else "the end"

    def _unknown(self, what: str, word: str, known: Collection[str], start: int) -> NoReturn:
        meant = nearest(word, known)
        remedy = f"did you mean {meant}?" if meant is not None else f"use one of {', '.join(known)}"
        self._fail(f"{_quoted(word)} is not a known {what}; {remedy}", start)

    def _fail(self, message: str, offset: int | None = None) -> NoReturn:
        raise _Wrong(ExpressionProblem(message, self._at if offset is None else offset))


def _quoted(word: str) -> str:
    return f"“{word[:_QUOTED_MOST]}”"


def _own_name(source: ValueSource) -> str | None:
    """The name of a column that is given none: the last name of its path, of the first one in COALESCE."""
    if isinstance(source, Coalesce):
        return _own_name(source.options[0].source)
    if not isinstance(source, DataPath):
        return None
    names = [step for step in source.steps if isinstance(step, str) and not isinstance(step, EveryElement)]
    name = names[-1] if names else source.root.value
    return name if name.strip() and len(name) <= LONGEST_NAME and not _CONTROL.search(name) else None


@lru_cache(maxsize=1024)
def selector_problem(css: str) -> str | None:
    """What is wrong with a CSS selector, by the parser that will use it; None if nothing is."""
    from turbohtml import parse  # rules are read at start-up, pages only later

    if not css.strip():
        return "the selector is empty"
    try:
        parse("").select(css)
    except ValueError as error:
        return f"it is not a CSS selector: {str(error).rpartition(': ')[2]}"
    return None


@lru_cache(maxsize=1024)
def xpath_problem(xpath: str) -> str | None:
    """What is wrong with an XPath expression; None if nothing is."""
    from turbohtml import parse

    if not xpath:
        return "the XPath expression is empty"
    try:
        parse("").xpath(xpath)
    except (ValueError, TypeError) as error:
        return f"it is not an XPath expression: {error}"
    return None

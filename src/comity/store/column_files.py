"""Columns to extract, as expressions or files of them: texts enter, columns in the notation of the setting leave."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from comity.model.errors import BadInput
from comity.model.expression import ExpressionProblem, ExtractColumn
from comity.rules.expressions.parse import LONGEST_TEXT, RESERVED_NAMES, describe, looks_like_expression, parse_columns
from comity.rules.expressions.printing import print_columns

_LONGEST_PATH: Final = 1_000
_LIKE_A_FILE: Final = re.compile(r"[^\s'\"|]+\.\w{1,8}")


def read_columns(given: Iterable[str], option: str) -> str:
    """Expressions and files of them, in the notation of the setting; `BadInput` for the first that cannot be read."""
    found: dict[str, ExtractColumn] = {}
    for text in given:
        try:
            columns = columns_in(text)
        except ValueError as error:
            raise BadInput(option, str(error)) from None
        for column in columns:
            if column.name.casefold() in found:
                raise BadInput(option, f"there are two columns “{column.name}”; choose another name with AS")
            found[column.name.casefold()] = column
    return print_columns(found.values())


def columns_in(text: str) -> Sequence[ExtractColumn]:
    """The columns of an expression, or of a file that it names; `ValueError` if they cannot be read."""
    path = Path(text.removeprefix("@")).expanduser()
    is_file = text.startswith("@") or (
        len(text) <= _LONGEST_PATH and "\n" not in text and not looks_like_expression(text) and path.is_file()
    )
    if not is_file and _LIKE_A_FILE.fullmatch(text) and not looks_like_expression(text):
        raise ValueError(f"there is no file {path}; an expression is written as: price DECIMAL FROM css '.price'")
    name, written = f"“{' '.join(text.split())[:60]}”", text
    if is_file:
        try:
            with path.open("rb") as file:
                name, written = str(path), file.read(LONGEST_TEXT * 4 + 1).decode("utf-8-sig")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise ValueError(f"cannot read {path}: {reason}") from None
    columns = parse_columns(written, RESERVED_NAMES)
    if isinstance(columns, ExpressionProblem):
        raise ValueError(f"{name}, {describe(written, columns)}")
    return columns

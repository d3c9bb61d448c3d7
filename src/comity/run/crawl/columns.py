"""What a user wants extracted, from options to checked columns: expressions, or files of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from comity.model.errors import BadInput
from comity.model.expression import ExpressionProblem, ExtractColumn
from comity.rules.expressions.parse import LONGEST_TEXT, RESERVED_NAMES, describe, looks_like_expression, parse_columns
from comity.rules.expressions.printing import print_columns

_LONGEST_PATH: Final = 1_000
_LIKE_A_FILE: Final = re.compile(r"[^\s'\"|]+\.\w{1,8}")


def read_columns(given: Iterable[str], option: str) -> str:
    """Every expression, in the notation that `settings` take; `BadInput` for the first that cannot be read."""
    found: dict[str, ExtractColumn] = {}
    for text in given:
        name, written = _from_file(text, option)
        columns = parse_columns(written, RESERVED_NAMES)
        if isinstance(columns, ExpressionProblem):
            raise BadInput(option, f"{name}, {describe(written, columns)}")
        for column in columns:
            if column.name.casefold() in found:
                raise BadInput(option, f"there are two columns “{column.name}”; choose another name with AS")
            found[column.name.casefold()] = column
    return print_columns(found.values())


def _from_file(text: str, option: str) -> tuple[str, str]:
    """What to call an expression in a message, and the expression itself: of a file, its content."""
    path = Path(text.removeprefix("@")).expanduser()
    is_file = text.startswith("@") or (
        len(text) <= _LONGEST_PATH and "\n" not in text and not looks_like_expression(text) and path.is_file()
    )
    if not is_file and _LIKE_A_FILE.fullmatch(text) and not looks_like_expression(text):
        raise BadInput(option, f"there is no file {path}; an expression is written as: price DECIMAL FROM css '.price'")
    if not is_file:
        return f"“{' '.join(text.split())[:60]}”", text
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_TEXT * 4 + 1)
        return str(path), content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise BadInput(option, f"cannot read {path}: {reason}") from None

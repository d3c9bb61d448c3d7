"""Forms: the fields of a form, what was entered, and what is wrong with it; the body of a POST becomes a schema.

A form that cannot be used is shown again with what was entered and a sentence at each field that is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from hashlib import sha256
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from comity.doors.web.errors import ApiError
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput

MOST_FIELDS: Final = 2000  # a bulk action on a page of rows has 200
OPENED_WITH: Final = "opened_with"
_CHANGED: Final = (
    "Someone changed this after you opened the form. Save again to replace it with these values, or cancel."
)
Body = TypeVar("Body", bound=BaseModel)


class FormInvalid(ApiError):
    """What was entered cannot be used; `errors` has a sentence by field, "" for the whole form.

    A page that does not show its form again answers with these sentences as an error, 422.
    """

    def __init__(self, errors: Mapping[str, str], *, opened_with: str = "") -> None:
        named = (f"{name}: {text}" if name else text for name, text in errors.items())
        super().__init__(422, "bad_input", "; ".join(named))
        self.errors = dict(errors)
        self.opened_with = opened_with


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `kind` is `text`, `url`, `number`, `password`, `search`, `area`, `select`, `check` or `hidden`."""

    name: str
    label: str
    kind: str = "text"
    help: str = ""
    required: bool = False
    placeholder: str = ""
    choices: Sequence[tuple[str, str]] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)
    """Further attributes of the input: `min`, `max`, `step`, `maxlength`, `pattern`, `rows`, `autocomplete`."""
    check: str = ""
    """A path of the console that answers a POST of this form with a fragment about this field, while typing."""
    is_code: bool = False
    """Shown in a fixed-width font."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form with what was entered and what is wrong with it; `{{ form(...) }}` renders it."""

    fields: Sequence[Field]
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    opened_with: str = ""
    """A digest of the values that it was filled with; the form sends it back."""

    def filled(self, values: Mapping[str, object] | object) -> Form:
        """The form with values of a mapping, or of an object's attributes."""
        found: dict[str, str] = {}
        for each in self.fields:
            value = values.get(each.name) if isinstance(values, Mapping) else getattr(values, each.name, None)
            found[each.name] = _text(value)
        return replace(self, values=found, opened_with=_digest(found))

    def require_same(self, entered: FormValues) -> None:
        """Refuse what was entered over values that another has changed since; the same sent again is accepted.

        Call it on the form as it is filled now.
        """
        if entered.get(OPENED_WITH) not in ("", self.opened_with):
            raise FormInvalid({"": _CHANGED}, opened_with=self.opened_with)

    def refused(self, entered: FormValues, error: FormInvalid | BadInput, *, at: str = "") -> Form:
        """The form as it was entered, with what is wrong; `at` is the field of an error that names none."""
        errors = dict(error.errors) if isinstance(error, FormInvalid) else {error.field or at: sentence(error.reason)}
        known = {each.name for each in self.fields}
        at_fields = {name: text for name, text in errors.items() if name in known}
        others = [f"{name}: {text}" if name else text for name, text in errors.items() if name not in known]
        if others:
            at_fields[""] = "; ".join(others)
        opened_with = (isinstance(error, FormInvalid) and error.opened_with) or entered.get(OPENED_WITH)
        values = {each.name: entered.get(each.name) for each in self.fields}
        return replace(self, values=values, errors=at_fields, opened_with=opened_with)

    def value(self, name: str) -> str:
        """What a field holds."""
        return self.values.get(name, "")

    def error(self, name: str = "") -> str:
        """What is wrong with a field; without a name, with the whole form."""
        return self.errors.get(name, "")

    def __getitem__(self, name: str) -> Field:
        return next(each for each in self.fields if each.name == name)


@dataclass(frozen=True, slots=True)
class FormValues:
    """What a POST carries: texts by name, without spaces around them."""

    pairs: Sequence[tuple[str, str]]

    def get(self, name: str, default: str = "") -> str:
        """The last value of a name."""
        return next((value for each, value in reversed(self.pairs) if each == name), default)

    def all(self, name: str) -> list[str]:
        """Every value of a name, as ticked boxes send them."""
        return [value for each, value in self.pairs if each == name]

    def is_on(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self.get(name) in ("on", "true", "1", "yes")

    def parse(
        self, schema: type[Body], *, boxes: Sequence[str] = (), lists: Sequence[str] = (), keep_empty: bool = False
    ) -> Body:
        """The values as a request schema of the JSON API; raises `FormInvalid`.

        Empty fields are left out, or are None with `keep_empty` (in a form that changes something). `boxes` are
        checkboxes, which send nothing when they are not ticked; `lists` are areas with one item a line.
        """
        sent: dict[str, Any] = {}
        for name in schema.model_fields:
            if name in boxes:
                sent[name] = self.is_on(name)
            elif name in lists:
                sent[name] = [line.strip() for line in self.get(name).splitlines() if line.strip()]
            elif any(each == name for each, _ in self.pairs):
                value = self.get(name)
                if value or keep_empty:
                    sent[name] = value or None
        try:
            return schema.model_validate(sent, strict=False)
        except ValidationError as error:
            raise FormInvalid(_sentences(error, schema)) from None


async def _read(request: Request) -> FormValues:
    """Read the body of a form. The middleware has bounded its size."""
    try:
        pairs = parse_qsl(
            (await request.body()).decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise ApiError(422, "bad_input", "the form cannot be read") from None
    return FormValues([(name, value.strip()) for name, value in pairs])


PostedForm = Annotated[FormValues, Depends(_read)]


# What pydantic says in the words of Python, in those of a person who fills in a form.
_PLAIN: Final = {
    "bool_parsing": "Choose yes or no.",
    "float_parsing": "Not a number.",
    "greater_than": "Must be more than {gt:,}.",
    "greater_than_equal": "Must be at least {ge:,}.",
    "int_from_float": "Must be a whole number.",
    "int_parsing": "Must be a whole number.",
    "less_than": "Must be less than {lt:,}.",
    "less_than_equal": "Must be at most {le:,}.",
    "missing": "This field is required.",
    "string_too_long": "Must have at most {max_length:,} characters.",
    "string_too_short": "Must have at least {min_length:,} characters.",
    "string_type": "This field is required.",
    "too_long": "At most {max_length:,} lines.",
    "too_short": "This field is required.",
}


def _sentences(error: ValidationError, schema: type[BaseModel]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in error.errors():
        name = str(each["loc"][0]) if each["loc"] else ""
        found.setdefault(name, _plain(each, schema.model_fields.get(name)))
    return found


def _plain(error: ErrorDetails, field_info: FieldInfo | None) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "too_long" and isinstance(error["input"], str):
        kind = "string_too_long"
    if kind == "string_pattern_mismatch":
        example = (field_info.examples if field_info else None) or [""]
        return "Not in the expected format" + (f", such as {example[0]}." if example[0] else ".")
    if kind in _PLAIN:
        bounds = {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in context.items()
        }
        return _PLAIN[kind].format(**bounds)
    return sentence(str(error["msg"]).removeprefix("Value error, "))


def sentence(text: str) -> str:
    """A text with a capital letter, unless it begins with a URL or the name of a host, and with a full stop."""
    begun = text if "." in text.partition(" ")[0] else text[:1].upper() + text[1:]
    return begun if begun.endswith((".", "?", "!", "…")) else f"{begun}."


def _digest(values: Mapping[str, str]) -> str:
    return sha256(json.dumps(sorted(values.items())).encode()).hexdigest()[:16]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value.value if isinstance(value, Enum) else value)

"""Fields from the words around a job's title: takes part of a page, returns raw fields.

In order: labels ("Closing date:"), names of elements (class="location"), icons, then what looks like a place or a date.
"""

from __future__ import annotations

import re
from typing import Final

from comity.extract.jobs.page.outline import Outline
from comity.extract.jobs.text import MAX_DESCRIPTION, clip, collapse, is_known_place, is_name, is_place
from comity.extract.jobs.words.dates import DATE, before_deadline, deadline_in, is_open_ended
from comity.extract.jobs.words.labels import (
    TAKEN_VERBATIM,
    before_next_label,
    labelled,
    labelled_fields,
    meaning_of,
    split_at_labels,
)
from comity.extract.jobs.words.pages import (
    DEADLINE_CLASS,
    DEPARTMENT,
    EMPLOYMENT,
    ORGANISATION_CLASS,
    PLACE_CLASS,
    PLACE_ICON,
    TERMS,
    WORKPLACE,
)
from comity.extract.jobs.words.titles import is_generic, is_job_title, is_navigation
from comity.rules.jobs.cities import cities_called
from comity.rules.jobs.words import key

# Set beside a place that is only what nothing else explains.
GUESSED: Final = "guessed"
_MOST_LINES: Final = 120
_MOST_ELEMENTS: Final = 400
_PIN: Final = re.compile("[📍🌍🌎🌏🗺]")
SPLIT: Final = re.compile(
    r"\s*(?:[|•·‖‣◦\u231a-\u23ff\u2600-\u27bf\ufe0f\U0001f300-\U0001faff]|\s[–—]\s(?![A-Z]{2,3}(?!\w))|\n)\s*"
)
_LEADING: Final = re.compile(r"^[\s,;:–—|•·()\-]+|[\s,;:–—|•·(\-]+$")
# Letters with their marks: `\w` ends at the vowel signs of Hindi, Thai, Burmese …
_LETTERS: Final = r"[^\s\d\x00-@\[-`{-\xbf\u2010-\u2027\u2190-\u2bff\u3000-\u303f\uff00-\uff20]+"
_BEHIND: Final = re.compile(
    rf"^\s?(?:,|–|—|-|\()\s*((?![a-z]){_LETTERS}(?:[ '’-]{_LETTERS}){{0,3}}"
    rf"(?:, (?![a-z]){_LETTERS}(?:[ '’-]{_LETTERS}){{0,2}})?)(?:[.;)]|\s[–—-]\s|\s\(|$)"
)
_NUMBER_OF_POSTS: Final = re.compile(r"^\s*\([^()]{1,25}\)\s*(?=[,–—-])")  # "(2 posts), Belize City"
_DEPARTMENT_NAME: Final = re.compile(r"(?:^|[\s_-])(?:dept|department|category|team|abteilung)(?=[\s_-]|$)")
_MOST_NAMES: Final = 6
_KNOWN_THOUSANDS: Final = 100
_LONGEST_LINE: Final = 1_000
_LONGEST_NAME: Final = 80
_LONGEST_LABEL: Final = 60
_NAME_LIKE: Final = re.compile(rf"{_LETTERS}(?:[\s'’-]{_LETTERS}){{0,4}}(?:\s?\([^()\d]{{2,20}}\))?")


def fields_of(outline: Outline, start: int, end: int, title_texts: range) -> dict[str, str]:
    """Raw fields of the job between two elements, its title's own texts left out."""
    fields = guessed_fields(outline, start, end, title_texts)
    fields.pop(GUESSED, None)
    return fields


def guessed_fields(outline: Outline, start: int, end: int, title_texts: range) -> dict[str, str]:
    """Raw fields, with a mark beside a place that is only guessed; those who ask have other items to compare with."""
    fields: dict[str, str] = {}
    lines = _lines(outline, start, end, title_texts)
    _by_labels(lines, fields)
    _by_names(outline, start, end, title_texts, fields)
    _by_shape(lines, fields)
    _by_remainder(lines, fields)
    _behind_title(lines, fields)
    rest = collapse(" ".join(line for line in lines if not is_generic(line)))
    if rest:
        fields["description_snippet"] = clip(rest, MAX_DESCRIPTION)
    return fields


def labels_of(outline: Outline, start: int, end: int, title_texts: range) -> dict[str, set[str]]:
    """What is labelled between two elements, and the values that each kind of label has."""
    found: dict[str, set[str]] = {}
    lines = _lines(outline, start, end, title_texts)
    for index, line in enumerate(lines):
        said = labelled(line)
        if said is None and (meaning := meaning_of(line) if len(line) <= _LONGEST_LABEL and " " in line else None):
            said = (meaning, "")
        if said is not None and said[0] in TAKEN_VERBATIM:
            value = said[1] or (lines[index + 1] if index + 1 < len(lines) else "")
            found.setdefault(said[0], set()).add(value.strip(" :："))
    return found


def _lines(outline: Outline, start: int, end: int, title_texts: range) -> list[str]:
    """Texts of the stretch; runs inside one block stay together only where a separator does not part them."""
    lines: list[str] = []
    for index in outline.text_range(start, end)[: 4 * _MOST_LINES]:
        if index in title_texts:
            continue
        text = outline.texts[index]
        owner = outline.text_owners[index]
        if (
            index in outline.spoken
            and not outline.chrome[owner]
            and meaning_of(outline.spoken[index]) in TAKEN_VERBATIM
        ):
            lines.append(f"{outline.spoken[index].rstrip(':： ')}:")
        if outline.chrome[owner] and meaning_of(text[:_LONGEST_LABEL]) is None:
            continue  # words for screen readers may be a label
        if text != "\n" and (line := collapse(text[:_LONGEST_LINE])):
            if _is_label(outline, owner) or _leads(outline, index):
                line = f"{line.rstrip(':： ')}:"
            elif _DEPARTMENT_NAME.search(outline.names[owner]):
                line = f"Department: {line}"
            for part in SPLIT.split(_PIN.sub(" | Location: ", line)):
                lines += split_at_labels(part) if part else []
            if len(lines) >= _MOST_LINES:
                break
    return lines


def _is_label(outline: Outline, owner: int) -> bool:
    """Whether an element is one that labels the next: <dt>, <th>, what is called so, or the first of two cells."""
    if outline.tags[owner] == "th":
        # A row of headers names columns; one header beside a cell names that cell.
        row = outline.parents[owner]
        return any(outline.tags[cell] == "td" for cell in range(row + 1, outline.ends[row])[:60])
    if outline.tags[owner] in ("dt", "label") or "label" in outline.names[owner]:
        return True
    cell = owner
    for _ in range(3):
        if cell < 0 or outline.tags[cell] in ("td", "table", "body"):
            break
        cell = outline.parents[cell]
    if cell < 0 or outline.tags[cell] != "td" or outline.tags[outline.parents[cell]] != "tr":
        return False
    row = outline.parents[cell]
    following = outline.ends[cell]
    return (
        cell == row + 1
        and following < outline.ends[row]
        and outline.ends[following] == outline.ends[row]
        and meaning_of(outline.text(cell, _LONGEST_LABEL)) is not None
    )


def _leads(outline: Outline, index: int) -> bool:
    """Whether a bold text is a label with its value right behind it: <b>Location</b> Vienna."""
    owner = outline.text_owners[index]
    if outline.tags[owner] not in ("b", "strong") or index + 1 >= len(outline.texts):
        return False
    is_followed = outline.text_owners[index + 1] == outline.parents[owner] and outline.texts[index + 1].strip()
    return bool(is_followed) and meaning_of(outline.texts[index][:80]) is not None


def _by_labels(lines: list[str], fields: dict[str, str]) -> None:
    for index, line in enumerate(lines):
        said = labelled(line)
        if said is None and len(line) <= _LONGEST_LABEL and index + 1 < len(lines):
            # A label in an element of its own: <dt>, <strong>, <span class="label">.
            meaning = meaning_of(line)
            following = lines[index + 1]
            # One word alone ("Office", "Team") may as well be a value.
            if meaning and (following[:1] in ":：" or " " in line or meaning == "deadline_raw"):
                said = (meaning, "")
        if said is None:
            continue
        meaning, value = said
        is_open = not value and index + 1 < len(lines) and labelled(lines[index + 1]) is None
        if is_open and not is_generic(lines[index + 1]):
            value = lines[index + 1].lstrip(":： ")
            if index + 2 < len(lines) and lines[index + 2].startswith(","):
                value += lines[index + 2]
        value = before_next_label(value)
        if meaning == "location_raw":
            value = before_deadline(value)
        if meaning in TAKEN_VERBATIM and meaning not in fields and value and len(value) <= 200:
            fields[meaning] = _tidy(value)
    if "deadline_raw" in fields:
        fields["deadline_raw"] = _deadline(fields["deadline_raw"])
    joined = " \n ".join(lines)[:4000]
    for name, value in labelled_fields(joined).items():
        fields.setdefault(name, value)


def _deadline(value: str) -> str:
    """Cut what follows a date in the same line."""
    return value if len(value) <= 60 or not (date := DATE.search(value)) else date[0]


def _tidy(value: str) -> str:
    value = _LEADING.sub("", _NUMBER_OF_POSTS.sub("", value)).strip()
    if value.endswith(")") and value.count("(") < value.count(")"):
        value = value[:-1].rstrip()
    return value[:-1] if value.endswith(".") and value.count(".") == 1 else value


def _by_names(outline: Outline, start: int, end: int, title_texts: range, fields: dict[str, str]) -> None:
    for number in range(start, min(end, start + _MOST_ELEMENTS)):
        name = outline.names[number]
        tag = outline.tags[number]
        if tag == "time" and "posted_raw" not in fields and "deadline_raw" not in fields:
            fields["posted_raw"] = outline.text(number, 100)
        if not name or number == start:
            continue
        if "location_raw" not in fields and PLACE_CLASS.search(name):
            value = _listed(outline, number)
            if not value and PLACE_ICON.search(name):
                value = _after(outline, number)
            if value and outline.text_starts[number] not in title_texts and len(value) <= 120:
                said = labelled(value)
                fields["location_raw"] = _tidy(said[1] if said else value)
        elif "org_name" not in fields and ORGANISATION_CLASS.search(name):
            value = outline.text(number, 120)
            if 2 <= len(value) <= _LONGEST_NAME and outline.text_starts[number] not in title_texts:
                fields["org_name"] = _tidy(value)
        elif "deadline_raw" not in fields and DEADLINE_CLASS.search(name):
            value = outline.text(number, 200)
            said = labelled(value)
            value = said[1] if said else deadline_in(value) or value
            if DATE.search(value) or is_open_ended(value):
                fields["deadline_raw"] = _tidy(value)


def _listed(outline: Outline, number: int) -> str:
    """The text of an element, with the items of a list separated."""
    members = [inner for inner in range(number + 1, outline.ends[number])[:100] if outline.tags[inner] == "li"]
    if len(members) < 2:
        return outline.text(number, 200)
    return "; ".join(filter(None, (outline.text(member, 80) for member in members[:10])))


def _after(outline: Outline, number: int) -> str:
    """The text behind an icon."""
    stop = outline.text_ends[outline.parents[number]] if outline.parents[number] >= 0 else 0
    for index in range(outline.text_ends[number], min(stop, outline.text_ends[number] + 5)):
        if text := collapse(outline.texts[index]):
            return text
    return ""


def _behind_title(lines: list[str], fields: dict[str, str]) -> None:
    """A place right behind the title in the same line: "Hydrologist, Wageningen. Closes …"."""
    first = next((line for line in lines if any(map(str.isalpha, line))), "")
    found = _BEHIND.match(_NUMBER_OF_POSTS.sub("", first)) if "location_raw" not in fields else None
    if found:
        place = found[1].strip()
        if not (is_job_title(place) or is_navigation(place) or _is_no_place(place) or EMPLOYMENT.search(place)):
            fields["location_raw"] = place


def _by_remainder(lines: list[str], fields: dict[str, str]) -> None:
    """Where everything but one short text is accounted for, that text is the place: "Karamoja | Full-time | 8 June"."""
    if "location_raw" in fields:
        return
    said, known, rest = 0, 0, []
    for line in lines:
        bare = _tidy(line)
        if not bare or is_generic(bare):
            continue
        said += 1
        if (
            labelled(line)
            or DATE.search(bare[:100])
            or EMPLOYMENT.search(bare[:100])
            or bare in fields.values()
            or meaning_of(bare)
        ):
            known += 1
        else:
            rest.append(bare)
    is_only = len(rest) == 1
    if 1 < len(rest) <= _MOST_NAMES:
        # "London | Impact | Full time": a team beside it is not a well-known town.
        rest = [bare for bare in rest if _NAME_LIKE.fullmatch(bare) and _is_known_city(bare)]
    if len(rest) != 1 or not (known or said == 1) or not _NAME_LIKE.fullmatch(rest[0]) or not is_name(rest[0]):
        return
    if not (is_job_title(rest[0]) or is_navigation(rest[0]) or _is_no_place(rest[0])):
        fields["location_raw"] = rest[0]
        if is_only and not is_known_place(rest[0]):
            fields[GUESSED] = "place"


def _is_known_city(text: str) -> bool:
    return any(city.thousands >= _KNOWN_THOUSANDS for city in cities_called(key(text)))


def _is_no_place(text: str) -> bool:
    return DEPARTMENT.fullmatch(text) is not None or TERMS.fullmatch(text) is not None


def _by_shape(lines: list[str], fields: dict[str, str]) -> None:
    taken = set(fields.values())
    for line in lines:
        bare = _tidy(line)
        if not bare or bare in taken:
            continue
        if "employment_raw" not in fields and len(bare) <= 40 and EMPLOYMENT.search(bare):
            fields["employment_raw"] = bare
        elif "location_raw" not in fields and is_place(bare):
            fields["location_raw"] = bare
        elif "workplace_raw" not in fields and len(bare) <= 30 and WORKPLACE.search(bare):
            fields["workplace_raw"] = bare

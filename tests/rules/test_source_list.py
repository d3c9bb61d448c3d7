"""A list of sources as people have it: from spreadsheets, other programs, and by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.model.errors import BadInput
from comity.model.source_import import LONGEST_ROW, MOST_FILE_BYTES, MOST_ROWS, SourceFormat
from comity.rules.row_list import SOURCE_COLUMNS, format_of, read_source_list, rows_of_objects
from tests.sizes import sized

CSV, TSV, JSON, JSON_LINES = SourceFormat
URL = "https://a.example/jobs"


def values(text: str | bytes, kind: SourceFormat = CSV) -> list[dict[str, Any]]:
    content = text.encode() if isinstance(text, str) else text
    found = read_source_list(content, kind)
    assert [row.problem for row in found.rows] == [None] * len(found.rows)
    return [row.values for row in found.rows]


@pytest.mark.parametrize(
    "text",
    [
        "careers_url,org_name,country\nhttps://a.example/jobs,Relief House,KE\n",
        "Careers URL,Organisation,Country\nhttps://a.example/jobs,Relief House,KE",
        "URL;Organization;Country code\r\nhttps://a.example/jobs;Relief House;KE\r\n",
        " url , NAME ,country_iso\nhttps://a.example/jobs,Relief House,KE\n\n\n",
        "\ufeffurl,name,country\nhttps://a.example/jobs,Relief House,KE\n",
        'url,name,country\n"https://a.example/jobs","Relief House","KE"\n',
        "url\tname\tcountry\nhttps://a.example/jobs\tRelief House\tKE\n",
        "name,url,country,\nRelief House,https://a.example/jobs,KE,\n",
        "url,name,country\rhttps://a.example/jobs,Relief House,KE\r",
    ],
)
def test_a_table_is_read_however_a_spreadsheet_writes_it(text: str) -> None:
    assert values(text) == [{"careers_url": URL, "org_name": "Relief House", "country": "KE"}]


def test_json_and_json_lines_are_the_same_rows() -> None:
    row = {"url": URL, "Days": 3, "importance": 1.5, "parser_hint": {"item": ".job"}, "country": None, "org_name": ""}
    wanted = {"careers_url": URL, "crawl_frequency_days": 3, "importance": 1.5, "parser_hint": '{"item": ".job"}'}
    assert values(json.dumps([row]), JSON) == [wanted]
    assert values(json.dumps({"sources": [row], "total": 1}), JSON) == [wanted]
    assert values(f"{json.dumps(row)}\n\n{json.dumps(row)}\n", JSON_LINES) == [wanted, wanted]
    assert [each.values for each in rows_of_objects([row]).rows] == [wanted]


def test_every_name_of_a_column_means_that_column_only() -> None:
    names = [name for column, others in SOURCE_COLUMNS.items() for name in (column, *others)]
    assert len(names) == len(set(names))
    for column, others in SOURCE_COLUMNS.items():
        for name in (column, *others):
            item = {name: "3"} if column == "careers_url" else {"careers_url": URL, name: "3"}
            [row] = rows_of_objects([item]).rows
            assert column in row.values, name


def test_a_quoted_value_may_contain_line_breaks_and_rows_are_found_again_by_line() -> None:
    text = f'url,hint,name\n{URL},"{{""item"":\n"".job""}}",A\n\nhttps://b.example/,,B\n'
    found = read_source_list(text.encode(), CSV)
    assert [(row.number, row.line) for row in found.rows] == [(1, 2), (2, 5)]
    assert found.rows[0].values["parser_hint"] == '{"item":\n".job"}'


def test_columns_that_no_source_has_are_named() -> None:
    found = read_source_list(f"url,Contact,id,status,Contact\n{URL},x,y,active,z\n".encode(), CSV)
    assert found.ignored_columns == ("Contact",)
    assert found.rows[0].values == {"careers_url": URL}


@pytest.mark.parametrize(
    ("content", "kind", "sentence"),
    [
        ("url,name\n".encode("utf-16"), CSV, "the list is UTF-16, which is not supported; save it as UTF-8"),
        ("url\n".encode("utf-32"), CSV, "the list is UTF-32"),
        ("url,name\n\nhttps://a.example/,Médecins\n".encode("latin-1"), CSV, "line 3 is not UTF-8; save it as UTF-8"),
        (b"url\nhttps://a.example/\x00\n", CSV, "line 2 contains a NUL character"),
        (b"", CSV, "the first line must name the columns"),
        (b"https://a.example/jobs\nhttps://b.example/\n", CSV, "one of them must be careers_url"),
        (b"url,name\n", CSV, "the list has no rows"),
        (b"url\tname\nx\ty\n", JSON, "the list is not JSON (line 1)"),
        (b"[]", JSON, "the list has no rows"),
        (b'{"careers_url": "x"}', JSON, "must be a JSON array of objects"),
        (b"[" * 200_000, JSON, "the list is not JSON"),
        (b"url,link\na,b\n", CSV, "the columns 'url' and 'link' both mean careers_url; remove one"),
        (b"url,contry\na,b\n", CSV, "the column 'contry' is not known; did you mean country?"),
        (
            b'url,name\nhttps://a.example/,"open\n\n',
            CSV,
            "starts on line 2 cannot be read: is a closing quote missing?",
        ),
        (b'url,name\na,"b"c\n', CSV, "the row that starts on line 2 cannot be read"),
        (b"url\n" + b"https://a.example/\n" * (MOST_ROWS + 1), CSV, "the list has more than 10,000 rows; split it"),
        (b"url," + b"x," * 200 + b"\n", CSV, "more than 100 columns"),
        (b"x" * (MOST_FILE_BYTES + 1), CSV, "the list is larger than 16 MB; split it"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(content: bytes, kind: SourceFormat, sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_source_list(content, kind)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        (f"url,days\n{URL},often\n", CSV, ("crawl_frequency_days", "must be a whole number of days, not 'often'")),
        (f"url,days\n{URL},2.5\n", CSV, ("crawl_frequency_days", "must be a whole number of days, not '2.5'")),
        (f"url,importance\n{URL},high\n", CSV, ("importance", "must be a number, not 'high'")),
        ("url,name\n,Relief House\n", CSV, ("careers_url", "is empty")),
        (f"url,name\n{URL},a,b\n", CSV, (None, "has 3 values, but the header has 2 columns")),
        (f"url,name\n{URL},{'x' * LONGEST_ROW}\n", CSV, (None, "is longer than 40,000 characters")),
        ("[7]", JSON, (None, "is not an object with careers_url (or url)")),
        (f'[{{"url": "{URL}", "name": ["a"]}}]', JSON, ("org_name", "must be text or a number")),
        (f'[{{"url": "{URL}", "name": true}}]', JSON, ("org_name", "must be text or a number")),
        ('{"url": ', JSON_LINES, (None, "is not JSON")),
        (f'{{"url": "{URL}", "contry": "KE"}}', JSON_LINES, (None, "the column 'contry' is not known; did you mean")),
    ],
)
def test_a_row_that_cannot_be_read_keeps_its_reason(text: str, kind: SourceFormat, problem: tuple[Any, str]) -> None:
    [row] = read_source_list(text.encode(), kind).rows
    assert row.problem is not None
    assert row.problem[0] == problem[0]
    assert row.problem[1].startswith(problem[1])


@given(st.binary(max_size=400), st.sampled_from(SourceFormat))
@settings(max_examples=sized(30, 1000), deadline=None)
def test_any_bytes_are_rows_or_a_sentence(content: bytes, kind: SourceFormat) -> None:
    for head in (b"", b"url,name\n", b"url\tname\n", b"["):
        try:
            found = read_source_list(head + content, kind).rows
        except BadInput as refused:
            found = (str(refused),)
        assert found


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
@settings(max_examples=sized(30, 1000), deadline=None)
def test_what_a_csv_writer_writes_is_read_back(names: list[str]) -> None:
    import csv
    import io

    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["url", "name"])
    writer.writerows([URL, name] for name in names)
    if "\0" in stream.getvalue():
        return
    try:
        content = stream.getvalue().encode()
    except UnicodeEncodeError:
        return
    found = [row.values.get("org_name", "") for row in read_source_list(content, CSV).rows]
    assert found == [name if name.strip() else "" for name in names]


@pytest.mark.parametrize(
    ("name", "kind"), [("a.csv", CSV), ("A.TSV", TSV), ("x/y.json", JSON), ("a.ndjson", JSON_LINES)]
)
def test_the_name_of_a_file_says_its_format(name: str, kind: SourceFormat) -> None:
    assert format_of(name) is kind


@pytest.mark.parametrize("name", ["sources", "sources.xlsx", "csv", "sources."])
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=r"must end in \.csv, \.tsv, \.json or \.jsonl"):
        format_of(name)

"""Errors carry the field and the remedy; a door words them."""

import pickle
from dataclasses import replace

import pytest

from comity.model.errors import BadAddress, BadInput, NotFound, Remedy, RemedyCode
from comity.model.wording import Action, action, filled
from comity.reports.runs import IdleHost
from comity.run.remedies import in_full, in_words, worded


def test_an_error_about_a_field_carries_it_and_can_be_renamed() -> None:
    problem = BadInput("crawl_frequency_days", "must be between 1 and 365, not 0")
    assert (problem.field, problem.reason) == ("crawl_frequency_days", "must be between 1 and 365, not 0")
    assert str(problem) == "crawl_frequency_days: must be between 1 and 365, not 0"
    assert str(problem.renamed("--crawl-frequency-days")) == "--crawl-frequency-days: must be between 1 and 365, not 0"


def test_an_error_about_no_one_field_is_its_reason() -> None:
    problem = BadInput("nothing to set")
    assert (problem.field, problem.reason, str(problem)) == (None, "nothing to set", "nothing to set")
    assert str(pickle.loads(pickle.dumps(problem))) == "nothing to set"


def test_a_bad_address_carries_its_text() -> None:
    problem = BadAddress("a b", "contains a space")
    assert (problem.text, problem.reason, problem.field) == ("a b", "contains a space", None)
    assert str(problem) == "'a b': contains a space"


@pytest.mark.parametrize("code", RemedyCode)
def test_every_remedy_has_a_sentence(code: RemedyCode) -> None:
    text = in_full(NotFound("it is not here", remedy=Remedy(code, "example.org")))
    assert text.startswith("it is not here; ")
    assert "comity " in text
    assert "{" not in text


def test_an_error_without_a_remedy_is_its_sentence() -> None:
    assert in_full(NotFound("it is not here")) == "it is not here"


@pytest.mark.parametrize("each", Action)
def test_every_action_has_words(each: Action) -> None:
    text = in_words("Before, " + action(each, "example.org", 3) + " after.")
    assert text.startswith("Before, ")
    assert text.endswith(" after.")
    assert "--" in text or "comity " in text
    assert "{" not in text


def test_values_go_into_actions_and_text_and_are_not_read_as_places() -> None:
    sentence = action(Action.CRAWL, "{url}") + " starts at {url}."
    assert in_words(filled(sentence, url="https://a.example/{x}")) == (
        "`comity crawl https://a.example/{x}` starts at https://a.example/{x}."
    )
    assert filled("It is {host}.", host="a.example") == "It is a.example."


def test_a_sentence_with_actions_cannot_lose_them_in_an_f_string() -> None:
    with pytest.raises(TypeError, match=r"with \+"):
        f"{action(Action.RESET_HOST, 'a.example')}"


def test_a_value_is_worded_in_those_fields_that_need_it() -> None:
    idle = IdleHost("a.example", "it is done", None, action(Action.REFRESH, "a.example") + " fetches what changed.")
    assert worded(idle) == replace(idle, remedy="`comity crawl a.example --refresh` fetches what changed.")
    assert worded(worded(idle)) == worded(idle)

"""Errors carry the field and the remedy; a door words them."""

import pickle

import pytest

from comity.model.errors import BadAddress, BadInput, NotFound, Remedy, RemedyCode
from comity.run.remedies import in_full


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

"""Why a URL was, or was not, fetched: takes facts, returns the decision, the steps that led to it and the remedy."""

from comity.rules.why.decide import decide
from comity.rules.why.explain import chain_of, explain_url

__all__ = ["chain_of", "decide", "explain_url"]

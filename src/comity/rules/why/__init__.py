"""Why a URL was, or was not, fetched: facts enter; what decided last, the way there and the remedy leave."""

from comity.rules.why.chain import chain_of
from comity.rules.why.decide import decide
from comity.rules.why.explain import explain_url

__all__ = ["chain_of", "decide", "explain_url"]

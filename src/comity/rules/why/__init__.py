"""Why a URL was, or was not, fetched: takes facts, returns the decision, the steps that led to it and the remedy."""

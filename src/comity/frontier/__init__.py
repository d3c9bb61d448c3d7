"""The frontier: a host's URLs still to visit. Reading removes nothing; settling acknowledges what was visited."""

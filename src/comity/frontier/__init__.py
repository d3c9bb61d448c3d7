"""The frontier: a host's URLs still to visit. A pop is only a look; the acknowledgement is part of settling."""

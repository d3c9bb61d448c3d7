"""Jobs in feeds: RSS, Atom, RDF and job files in XML, and JSON Feed."""

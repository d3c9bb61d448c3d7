"""Search over postings: an engine takes documents and answers queries; it makes no web requests."""

"""Search over postings: an engine takes documents and answers queries; it never asks the web for anything."""

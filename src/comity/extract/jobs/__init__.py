"""Job postings in pages, feeds and JSON responses: takes a body, returns one `Listing`; fetches nothing.

`read` decides what a body is and tries the most reliable method first: the operator's hint, structured data, known
applicant systems, tables, then repeated structure. All words of natural languages are in `words`.
"""

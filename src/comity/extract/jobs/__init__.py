"""Job postings in pages, feeds and answers of interfaces: a body enters, one `Listing` leaves; nothing is fetched.

`read` decides what a body is and asks, the surest first: the operator's hint, structured data, known applicant systems,
tables, then repeated structure. Words of many languages are in the `words_*` modules, and nowhere else.
"""

from comity.extract.jobs.read import read_listing as read_listing

from comity import sources as sources
from comity import sql as sql
from comity.doors.python.audit import Audit as Audit
from comity.doors.python.audit import audit as audit
from comity.doors.python.audit import read_audit as read_audit
from comity.doors.python.crawl import crawl as crawl
from comity.doors.python.crawl_run import CrawlRun as CrawlRun
from comity.doors.python.options import TEMPORARY as TEMPORARY
from comity.doors.python.page import Page as Page
from comity.doors.python.read_pages import read_pages as read_pages
from comity.doors.python.search import search as search
from comity.doors.python.user_code import ExtractorFailed as ExtractorFailed
from comity.doors.python.user_code import Sink as Sink
from comity.doors.python.user_code import SinkFailed as SinkFailed
from comity.extract.fetched_page import FetchedPage as FetchedPage
from comity.model.audit import AuditComparison as AuditComparison
from comity.model.audit import AuditReport as AuditReport
from comity.model.audit import Finding as Finding
from comity.model.errors import BadInput as BadInput
from comity.model.errors import ComityError as ComityError
from comity.model.page import Extraction as Extraction
from comity.model.search import Posting as Posting
from comity.model.source import Source as Source
from comity.reports.runs import IdleHost as IdleHost
from comity.walk.crawl.progress import Progress as Progress
from comity.walk.crawl.progress import RunSummary as RunSummary

__version__: str

"""The only place where objects are built and handed to each other."""

from comity.assemble.state import REREAD_EVERY_S, State, open_existing_state, open_state
from comity.assemble.terms import cookie_folder, read_request_options, state_file

__all__ = [
    "REREAD_EVERY_S",
    "State",
    "cookie_folder",
    "open_existing_state",
    "open_state",
    "read_request_options",
    "state_file",
]

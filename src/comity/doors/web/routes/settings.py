"""/admin/settings: which settings are in force, and where each comes from."""

from __future__ import annotations

import os

from comity.doors.schemas.console import SettingList, SettingView
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.services import Services
from comity.run.settings_in_force import settings_in_force

router = Router(Audience.ADMIN, prefix="/admin/settings", tags=["settings"])


@router.get("", operation_id="list_settings", response_model=SettingList)
def list_all(services: Services) -> SettingList:
    """List every setting with its value and where that comes from. Secrets are masked."""
    return SettingList(settings=SettingView.list_of(settings_in_force(services.state.settings, os.environ)))

"""What a child process is given: every setting of its parent, and none from the environment."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from comity.run.child_process import packed_settings, without_settings
from comity.run.settings_in_force import setting_variables
from comity.settings import Settings, read_settings
from tests.walk.crawling import Place
from tests.walk.forking import INTERPRETED
from tests.walk.site import Web, tree

CHANGED: dict[str, Any] = {
    "state": "elsewhere.db",
    "admin_prefix": "/console",
    "database_url": "postgresql://me:secret@127.0.0.1:1/none",
    "redis_url": "redis://:secret@127.0.0.1:1/0",
    "seeds_redis_url": "redis://127.0.0.1:1/1",
    "pages": "elsewhere",
    "audits": "elsewhere",
    "meili_url": "http://127.0.0.1:1",
    "meili_key": "a key",
    "meili_index": "other",
    "user_agent": "OtherBot/2.0",
    "contact": "me@example.org",
    "robots_unreachable": "allow",
    "allow_networks": ("127.0.0.0/8", "::1/128"),
    "tracking_parameters": ("ref", "from"),
    "accept_types": ("text/html", "text/*"),
    "reject_types": ("image/*",),
    "proxy": ("http://127.0.0.1:1", "http://127.0.0.1:2"),
    "headers": ("X-A: b", "example.com: X-A: env:A"),
    "cookies": ("a=b",),
    "auth": ("bearer env:A",),
    "login": ("login.toml",),
    "request_origins": ("https://example.com",),
    "cookie_folder": "elsewhere",
    "include": ("/docs/**",),
    "exclude": ("*.pdf", "re:[?&]sort="),
    "under": ("example.com/docs/",),
    "site_hosts": ("example.com", "example.org"),
    "extract": "og.title AS heading",
    "log_requests": "requests.jsonl",
    "proxy_user": "me",
    "proxy_password": "secret",
    "metrics": "127.0.0.1:9100",
    "pages_compression": "zstd",
    "log_format": "json",
    "log_level": "debug",
    "env": "prod",
    "admin_password_hash": "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
    "admin_token_hash": ("0" * 64,),
    "allowed_hosts": ("example.org",),
    "trusted_proxies": ("10.0.0.0/8",),
}


def changed(name: str) -> Any:
    default = Settings.model_fields[name].default
    if name in CHANGED:
        return CHANGED[name]
    return not default if isinstance(default, bool) else default + 1


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_reaches_a_child_and_the_environment_does_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in setting_variables():
        monkeypatch.delenv(variable, raising=False)
    settings = read_settings(**{name: changed(name)})
    assert getattr(settings, name) != getattr(read_settings(), name)
    packed = json.loads(json.dumps(packed_settings(settings)))
    for variable in setting_variables():
        monkeypatch.setenv(variable, "not a value of any setting")
    monkeypatch.setenv("PATH", os.environ["PATH"])
    kept = without_settings(os.environ)
    for variable in [*os.environ]:
        if variable not in kept:
            monkeypatch.delenv(variable)
    assert read_settings(**packed) == settings
    assert "PATH" in os.environ


@pytest.mark.parametrize("command", ["crawl", "work"])
def test_options_win_over_the_environment_in_every_process(web: Web, place: Place, command: str) -> None:
    """The parent is given a network and a state, its environment names others; children start as users have them."""
    place.env[INTERPRETED] = "1"
    sites = [web.site(tree(3)) for _ in range(2)]
    assert place.comity("seeds", "add", *(site.url() for site in sites)).code == 0
    place.env |= {"COMITY_ALLOW_NETWORKS": "10.0.0.0/8", "COMITY_DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    words = [site.url() for site in sites] if command == "crawl" else ["--idle-exit"]
    options = ["--state", place.state, "--allow-network", "127.0.0.0/8", "--processes", 2]
    ended = place.comity_apart(command, *words, *options)
    assert ended.code == 0, ended.err
    assert all(set(site.pages()) == set(tree(3)) for site in sites)

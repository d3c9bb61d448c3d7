"""Audiences: who each router serves and what its requests may carry. Closed by default.

Every route belongs to a `Router`, which declares its audience, body limit and content types. `RouteTable` refuses to be
built over a route without a declaration, so such an application does not start; and the middleware forwards only
requests that the table knows, so a route that is added later is not reachable either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from re import Pattern
from typing import Any, ClassVar, Final

from fastapi import APIRouter
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.routing import BaseRoute, Match, compile_path
from starlette.types import Scope

from comity.doors.web.errors import ApiError
from comity.model.dataclass import dataclass

SMALL_BODY_BYTES: Final = 16_384
LARGE_BODY_BYTES: Final = 262_144  # a thousand seeds, or a long parser hint
JSON: Final = "application/json"
_REMEMBERED: Final = 256  # paths whose route was found a moment ago
_LONGEST_REMEMBERED: Final = 200


class AudienceError(Exception):
    """A route without an audience, or with contradicting ones; a mistake in the code, found at start."""


class Audience(StrEnum):
    """Who may call a route; `access` decides who belongs to which."""

    PUBLIC = "public"
    ADMIN = "admin"
    BOT = "bot"


@dataclass(frozen=True, slots=True)
class RouterRules:
    """What a router declares."""

    audience: Audience
    max_body_bytes: int = SMALL_BODY_BYTES
    content_types: tuple[str, ...] = (JSON,)
    any_host: bool = False
    """Skips the check of the Host header: load balancers address health checks by IP."""
    before_login: bool = False
    """An admin route that works without a session: the login itself."""
    any_role: bool = False
    """An admin route whose changes a viewer may make, too: those of the own session."""
    holds_pages: bool = False
    """Bodies carry a page: their limit is `AccessSettings.max_page_body_bytes`, if that is larger."""
    serves_pages: bool = False
    """The routes answer only requests that want a page; see `wants_page`."""

    def __post_init__(self) -> None:
        if (self.any_host and self.audience is not Audience.PUBLIC) or (
            (self.before_login or self.any_role) and self.audience is not Audience.ADMIN
        ):
            raise AudienceError("any_host is for public routers, before_login and any_role for admin routers")

    @property
    def strictness(self) -> tuple[bool, bool, bool]:
        """Orders rules where a path alone has to decide: the larger is the stricter."""
        return self.audience is not Audience.PUBLIC, not self.before_login, not self.any_role


class DeclaredRoute(APIRoute):
    """A route that carries the rules of its router, wherever that router is included."""

    rules: ClassVar[RouterRules]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """A route of a page is no match for a request that wants JSON; the middleware notes which it is."""
        if self.rules.serves_pages and not scope.get("state", {}).get("wants_page"):
            return Match.NONE, {}
        return super().matches(scope)


class Router(APIRouter):
    """An APIRouter with an audience; the other options are those of APIRouter."""

    def __init__(
        self,
        audience: Audience,
        *,
        max_body_bytes: int = SMALL_BODY_BYTES,
        content_types: Sequence[str] = (JSON,),
        any_host: bool = False,
        before_login: bool = False,
        any_role: bool = False,
        holds_pages: bool = False,
        serves_pages: bool = False,
        **options: Any,
    ) -> None:
        self.rules = RouterRules(
            Audience(audience),
            max_body_bytes,
            tuple(content_types),
            any_host=any_host,
            before_login=before_login,
            any_role=any_role,
            holds_pages=holds_pages,
            serves_pages=serves_pages,
        )
        super().__init__(route_class=type("DeclaredRoute", (DeclaredRoute,), {"rules": self.rules}), **options)

    def add_api_route(self, path: str, endpoint: Any, **options: Any) -> None:
        """Add a route. The OpenAPI document names its audience, and its operation id serves as the summary."""
        if options.get("summary") is None and options.get("operation_id"):
            options["summary"] = str(options["operation_id"]).replace("_", " ").capitalize()
        extra = {"x-audience": self.rules.audience.value} | (options.pop("openapi_extra", None) or {})
        super().add_api_route(path, endpoint, openapi_extra=extra, **options)

    def include_router(self, router: APIRouter, **options: Any) -> None:
        """Include a router with the same audience; another one would be misread as having this one."""
        for context in iter_route_contexts(router.routes):
            rules = _rules_of(context)
            if rules.audience is not self.rules.audience:
                raise AudienceError(
                    f"a router for {self.rules.audience} cannot include {context.path}, which is for {rules.audience}: "
                    f"include both in the application"
                )
        super().include_router(router, **options)


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """What the table knows about a method and a path. Without rules, the path belongs to no audience."""

    rules: RouterRules | None
    is_found: bool = False
    methods: frozenset[str] = frozenset()
    """The methods of the path, if only the method is wrong."""
    action: str = ""
    """What the route does, for the record: its operation id, or its method and path."""

    def require_route(self) -> RouterRules:
        """The rules of the route; raises `ApiError` 404 or 405 if there is none."""
        if self.is_found and self.rules is not None:
            return self.rules
        if self.methods:
            allowed = self.methods | {"HEAD"} if "GET" in self.methods else self.methods
            # RFC 9110 §15.5.6: a 405 names every method of the path.
            headers = {"Allow": ", ".join(sorted(allowed))}
            raise ApiError(405, "method_not_allowed", "this path does not support this method", headers)
        raise ApiError(404, "not_found", "there is no such path")


@dataclass(frozen=True, slots=True)
class _Entry:
    pattern: Pattern[str]
    methods: frozenset[str]
    rules: RouterRules
    path: str


class RouteTable:
    """Every route of an application with its rules, in the order in which the application tries them."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._entries: list[_Entry] = []
        # A form does the same as the operation with its path, and is recorded under the same name.
        self._actions: dict[tuple[str, str], str] = {}
        self._closed: dict[str, RouterRules] = {}  # first segments of paths that are not public
        self._found = lru_cache(maxsize=_REMEMBERED)(self._find)
        for context in iter_route_contexts(routes):
            rules, path = _rules_of(context), context.path or ""
            operation = getattr(context.original_route, "operation_id", None)
            self._entries.append(_Entry(compile_path(path)[0], frozenset(context.methods or ()), rules, path))
            for method in context.methods or () if operation else ():
                self._actions[method, path] = str(operation)
            if rules.audience is not Audience.PUBLIC:
                segment = _first_segment(path)
                self._closed[segment] = _strictest([rules, self._closed.get(segment, rules)])

    def match(self, method: str, path: str, *, wants_page: bool = False) -> RouteMatch:
        """Find the route of a request, or what to check before saying that there is none."""
        find = self._found if len(path) <= _LONGEST_REMEMBERED else self._find
        return find(method, path, wants_page=wants_page)

    def _find(self, method: str, path: str, *, wants_page: bool) -> RouteMatch:
        with_path = [
            entry
            for entry in self._entries
            if (wants_page or not entry.rules.serves_pages) and entry.pattern.match(path)
        ]
        for entry in with_path:
            if method in entry.methods:
                action = self._actions.get((method, entry.path), f"{method} {entry.path}")
                return RouteMatch(entry.rules, is_found=True, action=action)
        if with_path:
            # A path that is declared by itself is not one of those that a parameter stands for.
            with_path = [entry for entry in with_path if entry.path == path] or with_path
            methods = frozenset(name for entry in with_path for name in entry.methods)
            return RouteMatch(_strictest(entry.rules for entry in with_path), methods=methods)
        # Beside closed routes, strangers do not learn which paths exist.
        return RouteMatch(self._closed.get(_first_segment(path)))


def rules_of(router: APIRouter) -> RouterRules:
    """The rules of a router; raises `AudienceError` if it declares none."""
    if isinstance(router, Router):
        return router.rules
    paths = [context.path for context in iter_route_contexts(router.routes)]
    raise _undeclared(f"router with {paths[0]!r}" if paths else "router without routes")


def _rules_of(context: RouteContext) -> RouterRules:
    route = context.original_route
    if isinstance(route, DeclaredRoute):
        return route.rules
    name = context.path or getattr(route, "host", None) or context.name or "unnamed"
    raise _undeclared(f"{type(route).__name__} {name!r}")


def _undeclared(what: str) -> AudienceError:
    return AudienceError(
        f"the {what} has no audience: put it on a comity.doors.web.audiences.Router that declares public, admin or bot"
    )


def _strictest(rules: Iterable[RouterRules]) -> RouterRules:
    return max(rules, key=lambda each: each.strictness)


def _first_segment(path: str) -> str:
    return path.lstrip("/").partition("/")[0]

"""What every request passes before anybody looks at it.

Hosts and origins: a page of another site can neither read from this server nor write to it, also
where it has made its own name resolve to this machine. Keys: where the server listens beyond this
machine, a request needs the server's token, but for pages whose address is itself a secret. Rates:
each client address has a bucket of requests. Answers: nothing may be framed, cached, or loaded from
elsewhere, and no address goes out as a referrer.
"""

import hmac
import time
from collections import OrderedDict
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "asynccfr_token"
OWN_SECRET = ("/table/", "/join/", "/api/tables/", "/api/join/", "/static/")
LOCAL = ("localhost", "127.0.0.1", "::1")
CLIENTS = 10_000
SAFE = ("GET", "HEAD")
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; style-src 'self' "
    "'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


class Rules(NamedTuple):
    """Who may ask, and how often.

    Attributes:
        token: needed where it is not None.
        local: only this machine's own names are answered to.
        rate, burst: requests a second of one client address, and how many at once.
    """

    token: str | None
    local: bool
    rate: float
    burst: float


class Guard:
    """The application behind it sees only what passes."""

    def __init__(self, application: ASGIApp, rules: Rules) -> None:
        self.application = application
        self.rules = rules
        self.buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.application(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        status, why = self.refusal(scope)
        if scope["type"] == "websocket" and status:
            await send({"type": "websocket.close", "code": 1008, "reason": why})
        elif status == 303:
            response = RedirectResponse(scope["path"], status)
            response.set_cookie(COOKIE, why, httponly=True, samesite="strict")
            await response(scope, receive, send_guarded)
        elif status:
            await JSONResponse({"error": why}, status)(scope, receive, send_guarded)
        else:
            await self.application(scope, receive, send_guarded)

    def refusal(self, scope: Scope) -> tuple[int, str]:
        """The status that a request is refused with, and why; 0 if it passes.

        303 is for the address that was printed: its token moves into a cookie.
        """
        headers = Headers(scope=scope)
        if not self.take(scope["client"][0] if scope.get("client") else ""):
            return 429, f"more than {self.rules.rate:g} requests a second; slow down"
        host = headers.get("host", "")
        if self.rules.local and hostname(host) not in LOCAL:
            return 403, f"host={host}: this server answers to {', '.join(LOCAL)} only"
        origin = headers.get("origin")
        unsafe = scope["type"] == "websocket" or scope["method"] not in SAFE
        if unsafe and origin is not None and urlsplit(origin).netloc != host:
            return 403, f"origin={origin}: requests of other sites are refused"
        token = self.rules.token
        if token is None or scope["path"].startswith(OWN_SECRET):
            return 0, ""
        query = scope["query_string"].decode("latin-1")
        if scope["type"] == "http" and query.startswith("token=") and same(query[6:], token):
            return 303, token
        if any(same(given, token) for given in tokens_in(headers)):
            return 0, ""
        return 401, "open the address that the server printed, or send its token as a bearer's"

    def take(self, client: str) -> bool:
        """Take a request from a client's bucket; False if it is empty."""
        now = time.monotonic()
        left, since = self.buckets.pop(client, (self.rules.burst, now))
        left = min(self.rules.burst, left + (now - since) * self.rules.rate)
        self.buckets[client] = (max(left - 1, 0), now)
        if len(self.buckets) > CLIENTS:
            self.buckets.popitem(last=False)
        return left >= 1


def hostname(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def tokens_in(headers: Headers) -> list[str]:
    """What a request gives as the server's token."""
    found = []
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found.append(value)
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return found
    return [*found, cookie.value] if cookie else found


def same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())

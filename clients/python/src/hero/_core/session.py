"""A connection that reconnects. Calls are repeated where that is safe, and subscriptions continue where they were."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import deque
from collections.abc import Coroutine
from typing import Any

from .. import errors
from .call import Again, Keyed, Once, Options, Repeat, Status, Wait, with_keys
from .feed import Feed
from .link import Link, Lost, Open, Unreachable, open_link
from .login import Login
from .wire import error_of, given, plain, seconds

TRANSIENT = (errors.Code.RATE_LIMITED, errors.Code.STORE_UNAVAILABLE)
"""After these errors a subscription continues from its cursor."""

FINAL = (errors.JobFailed, errors.JobStopped, errors.WaitTimeout, errors.IdempotencyReused)
"""Errors of a repeated create that are about what it created. Any other says nothing of the time before."""

UNREAD = (errors.NotHero, errors.AnswerTooLarge, errors.UnexpectedAnswer)
"""Errors of what came in place of an answer. They say nothing of the call."""

MOST_EARLY = 1024
"""Maximum number of subscriptions whose items may arrive before the answer to their call was read."""


def pause(options: Options, failures: int) -> float:
    """Returns a pause with full jitter: a random time up to a bound that doubles."""
    return random.uniform(0.0, min(options.longest_backoff, options.backoff * 2.0 ** min(failures, 30)))


class Attempt:
    """A call across reconnects: its parameters, its deadline, and what happens if the connection is lost."""

    def __init__(self, options: Options, method: str, params: dict[str, Any], again: Again, wait: Wait | None) -> None:
        self._options, self._method = options, method
        self._params, self._again = with_keys(_items_as_dicts(given(params), again), again)
        now = time.monotonic()
        allowed = options.call_timeout
        self._ends: float | None = None
        if wait is not None:
            asked = self._params.get("wait_timeout")
            asked = wait.default if asked is None else seconds(asked)
            allowed += max(0.0, asked)
            self._ends = now + asked
        self.deadline = now + allowed
        self._losses = 0
        self._sent = False

    def left(self) -> float:
        return max(0.001, self.deadline - time.monotonic())

    def params(self) -> dict[str, Any]:
        """Returns the parameters to send. A repeated wait gets the rest of its time."""
        if self._losses and self._ends is not None:
            self._params["wait_timeout"] = max(0.0, round(self._ends - time.monotonic(), 3))
        return self._params

    def pause(self) -> float:
        """Returns the time to wait before sending: this call itself may be what ends the connection."""
        return min(pause(self._options, self._losses), self.left()) if self._losses > 1 else 0.0

    def ended(self, error: Exception) -> None:
        """Handles that the call cannot be sent, or that the server refused it.

        Raises an error of its own if an earlier attempt may have been carried out.
        """
        if self._sent and isinstance(self._again, Keyed) and not isinstance(error, errors.Closed):
            raise self._unknown(f"{str(error) or repr(error)}. {self._method} had been sent before the connection broke") from error

    def refused(self, refused: errors.RpcError) -> None:
        """Handles that the server answered with an error. Raises an error of its own as `ended` does."""
        if not isinstance(refused, FINAL):
            self.ended(refused)

    def late(self, late: errors.CallTimeout) -> None:
        """Adds the call to the error of its answer: it may be carried out yet."""
        late.method, late.params = self._method, self._params

    def lost(self, lost: Lost, status: Status) -> None:
        """Handles a lost connection. Raises an error if the call must not be repeated.

        That of a change says that its outcome is unknown, also if what came was no answer, or none that can be taken.
        """
        self._losses += 1
        self._sent |= lost.sent
        if lost.error is not None:
            if self._sent and not isinstance(self._again, Repeat) and isinstance(lost.error, UNREAD):
                raise self._unknown(f"{lost.error}. {self._method} had been sent") from lost.error
            raise lost.error from None
        if status == "closed":
            raise closed() from None
        if lost.sent and isinstance(self._again, Once):
            raise self._unknown(f"{lost.reason} while {self._method} was under way at {self._options.url}") from None

    def _unknown(self, what: str) -> errors.OutcomeUnknown:
        """Returns the error of a call that was sent and is not sent again."""
        if isinstance(self._again, Keyed):
            then = ": by the `idempotency_key` in `params` it may be made again"
        else:
            then = ". It is not sent again: look what is there, then decide"
        return errors.OutcomeUnknown(f"{what}, so whether it was carried out is not known{then}", self._method, self._params)


class Session:
    """All calls and subscriptions of one client. It belongs to one event loop."""

    def __init__(self, options: Options, open: Open = open_link) -> None:
        self.options = options
        self._open = open
        self.token = options.token
        self._login: Login | None = None
        # The connection whose login is under way, or failed.
        self._entering: Link | None = None
        self.status: Status = "new"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._link: Link | None = None
        self._connecting: asyncio.Task[Link] | None = None
        self._known = False
        # The number of failed attempts in a row, and the reason of the last failure. A connection that opens and sends
        # no message has failed, too.
        self._failures = 0
        self._why = ""
        self._feeds: set[Feed] = set()
        self._by_id: dict[tuple[Link, str], Feed] = {}
        # Items that arrived before the answer of their subscribe call was read.
        self._early: dict[tuple[Link, str], deque[tuple[Any, Any, int]]] = {}
        self._early_bytes = 0
        self._subscribing = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    # ---- Calls ------------------------------------------------------------------------------------------------------------------------

    async def call(self, method: str, params: dict[str, Any], again: Again, wait: Wait | None = None) -> Any:
        """Makes a call, if necessary over several connections, and returns the result as JSON."""
        attempt = Attempt(self.options, method, params, again, wait)
        while True:
            if delay := attempt.pause():
                await asyncio.sleep(delay)
            try:
                link = self.link or await self.within(attempt.deadline, method)
            except Exception as failed:
                # Also what a function raised that returns tokens or signs.
                attempt.ended(failed)
                raise
            try:
                return await link.request(method, attempt.params(), attempt.left())
            except errors.CallTimeout as late:
                attempt.late(late)
                raise
            except Lost as lost:
                attempt.lost(lost, self.status)
            except errors.MethodNotFound as missing:
                attempt.refused(missing)
                raise await self.older(method, missing) from None
            except errors.RpcError as refused:
                attempt.refused(refused)
                raise

    async def within(self, deadline: float, method: str) -> Link:
        """Returns a connection. Raises `ConnectError` if there is none before the deadline."""
        if self.link is not None:
            return self.link
        left = deadline - asyncio.get_running_loop().time()
        try:
            return await asyncio.wait_for(self.connected(), max(0.001, left))
        except asyncio.TimeoutError:
            raise errors.ConnectError(f"{method} was not sent: no connection to {self.options.url} came about in time") from None

    async def older(self, method: str, missing: errors.MethodNotFound) -> errors.MethodNotFound:
        """Returns the error for a method that the server does not have, with the version of the server."""
        version = "of another version"
        try:
            if self.link is not None and method != "server_info":
                version = f"{(await self.link.request('server_info', {}, 5.0))['version']}"
        except (errors.Error, Lost, KeyError, TypeError):
            pass
        from ..aio.methods import VERSION

        what = f"the server at {self.options.url} ({version}) has no method {method}; this client was made for {VERSION}"
        return errors.MethodNotFound(f"{what}: install a newer server, or the client of its version", missing.code, missing.details, method)

    # ---- The connection ---------------------------------------------------------------------------------------------------------------

    @property
    def link(self) -> Link | None:
        """The connection, if it is alive."""
        link = self._link
        return link if link is not None and link.lost is None else None

    async def connected(self) -> Link:
        """Returns the connection, and connects if there is none."""
        if self.status == "closed":
            raise closed()
        if self.link is not None:
            return self.link
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(self._was_connected)
        # A caller that stops waiting must not cancel the attempt for the others.
        return await asyncio.shield(self._connecting)

    def _was_connected(self, task: asyncio.Task[Link]) -> None:
        self._connecting = None
        if not task.cancelled():
            # Callers that waited got the exception. Reading it here avoids a warning if nobody waited.
            task.exception()

    async def _connect(self) -> Link:
        most = self.options.reconnect
        while True:
            if (most is not None and self._failures > most) or (self._failures and not self._known):
                self._failures = 0
                self._is("waiting" if self._known else "new")
                raise errors.ConnectError(self._why)
            if self._known:
                self._is("waiting")
                await asyncio.sleep(pause(self.options, self._failures))
            self._is("connecting")
            try:
                link = await self._opened()
            except Unreachable as failed:
                self._failures += 1
                self._why = str(failed)
                continue
            except BaseException:
                self._is("waiting" if self._known else "new")
                raise
            self._known = True
            self._link = link
            self._is("open")
            return link

    async def _opened(self) -> Link:
        """Opens a connection with the token, or by the login if that is over."""
        login = self._login
        try:
            token = self.token
            # The function may block.
            token = await asyncio.to_thread(token) if callable(token) else token
            return await self._open(self.options, token, self._item, self._over)
        except errors.NotAuthenticated:
            if login is None:
                raise
        self._entering = link = await self._open(self.options, None, self._item, self._over)
        try:
            token = await login.on(link, self.options)
        except BaseException as failed:
            link.abort(Lost("the login failed"))
            if isinstance(failed, Lost):
                raise failed.error or Unreachable(f"{self.options.url} broke the connection during a login: {failed}") from failed
            if isinstance(failed, errors.RpcError) and failed.code in TRANSIENT:
                raise Unreachable(f"{self.options.url} takes no login now: {failed}") from failed
            raise
        self._entering = None
        if self._login is login:
            self.token = token
        return link

    def _over(self, link: Link, lost: Lost) -> None:
        """Handles the end of a connection: restores its subscriptions. Calls handle it themselves."""
        if link is self._entering:
            # It was never used, and an answer to its login was no success.
            return
        # An open connection is not enough: only one that has sent a message counts as a success.
        self._failures = 0 if link.heard else self._failures + 1
        if lost.told:
            self._why = f"no connection to {self.options.url} lasts until it answers: {lost.reason}"
        else:
            self._why = f"{self.options.url} closes each connection before it says anything ({lost.reason}); is it a hero server?"
        if self._link is link:
            self._link = None
        if self.status == "closed":
            return
        self._is("waiting")
        for key in [key for key in self._by_id if key[0] is link]:
            feed = self._by_id.pop(key)
            feed.attached = None
            error = lost.to(key[1]).error
            if error is not None:
                feed.end(error)
            elif not feed.over and not feed.full:
                self._go(self._resume(feed))

    def stay_logged_in(self, login: Login, token: str) -> None:
        """Makes new connections those of this login: by its token, and by another login once the token is refused."""
        self._login, self.token = login, token

    def _is(self, status: Status) -> None:
        if self.status in (status, "closed"):
            return
        self.status = status
        if self.options.on_status is not None:
            self.options.on_status(status)

    def _go(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Ends everything. Pending calls raise `Closed`."""
        if self.status == "closed":
            return
        self._is("closed")
        for feed in list(self._feeds):
            feed.end(closed())
        self._feeds.clear()
        if self._connecting is not None:
            self._connecting.cancel()
        link, self._link = self._link, None
        if link is not None:
            await link.close(Lost("the client was closed", closed()))
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # ---- Subscriptions ----------------------------------------------------------------------------------------------------------------

    async def subscribe(self, method: str, unsubscribe: str, params: dict[str, Any], resumable: bool, from_now: bool) -> Feed:
        """Subscribes. Raises an error if the server refuses; later errors are raised while reading items."""
        feed = Feed(method, unsubscribe, given(params), resumable, from_now, self.options.buffer, self.options.room)
        self._loop = asyncio.get_running_loop()
        await self._attach(feed)
        self._feeds.add(feed)
        return feed

    async def _attach(self, feed: Feed, again: bool = False) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.options.call_timeout
        params = dict(feed.params)
        while True:
            if feed.cursor is not None:
                params["cursor"] = feed.cursor
            link = await self.within(deadline, feed.method)
            self._subscribing += 1
            try:
                name = await self._ask(link, feed, params, deadline - loop.time())
                key = (link, name)
                if feed.over:
                    # Its reader left meanwhile.
                    self._go(self._unsubscribe(feed, key))
                    return
                self._by_id[key], feed.attached, feed.full, feed.resumed = feed, key, False, again
                if again and feed.from_now and feed.cursor is None:
                    # There was no cursor yet, so the items of the meantime are unknown; `lagged` says so.
                    feed.push({"type": "lagged", "cursor": ""}, 0)
                for result, error, size in self._early.pop(key, ()):
                    self._early_bytes -= size
                    self._give(feed, key, result, error, size)
                if link.lost is None or key not in self._by_id:
                    return
                # The connection ended after these items.
                self._detach(feed)
                again = True
                if error := link.lost.to(name).error:
                    raise error
            except Lost as lost:
                if lost.error is not None:
                    raise lost.error from None
            except errors.MethodNotFound as missing:
                raise await self.older(feed.method, missing) from None
            finally:
                self._subscribing -= 1
                if not self._subscribing:
                    self._early.clear()
                    self._early_bytes = 0

    async def _ask(self, link: Link, feed: Feed, params: dict[str, Any], left: float) -> str:
        """Makes the subscribe call. If the caller leaves meanwhile, the subscription is ended."""
        asking = asyncio.ensure_future(link.request(feed.method, params, max(0.001, left)))
        try:
            return str(await asyncio.shield(asking))
        except asyncio.CancelledError:

            def left_alone(asked: asyncio.Future[Any]) -> None:
                if not asked.cancelled() and asked.exception() is None and link.lost is None:
                    self._go(self._unsubscribe(feed, (link, str(asked.result()))))

            asking.add_done_callback(left_alone)
            raise

    async def _resume(self, feed: Feed, delay: float = 0.0) -> None:
        """Subscribes again, after the last item that arrived."""
        await asyncio.sleep(delay)
        if feed.over:
            return
        most = self.options.reconnect
        try:
            await self._attach(feed, again=True)
        except errors.RpcError as error:
            feed.failures += 1
            if error.code not in TRANSIENT or (most is not None and feed.failures > most):
                feed.end(error)
            else:
                self._go(self._resume(feed, pause(self.options, feed.failures)))
        except errors.Error as error:
            feed.end(error)

    def _item(self, link: Link, name: str, result: Any, error: Any, size: int) -> None:
        if self.status == "closed" or link.refused:
            return
        key = (link, name)
        feed = self._by_id.get(key)
        if feed is not None:
            self._give(feed, key, result, error, size)
        elif self._subscribing:
            if len(self._early) >= MOST_EARLY or self._early_bytes + size > self.options.room:
                link.refused = True
                link.abort(Lost("the server sent too many items of subscriptions that nobody knows"))
                return
            # One item more than a feed has room for shows that there were more.
            early = self._early.setdefault(key, deque())
            if len(early) <= self.options.buffer:
                early.append((result, error, size))
                self._early_bytes += size

    def _give(self, feed: Feed, key: tuple[Link, str], result: Any, error: Any, size: int) -> None:
        if feed.attached != key:
            return
        if error is not None:
            self._detach(feed)
            failed = error_of(feed.method, error)
            feed.failures += 1
            most = self.options.reconnect
            if failed.code in TRANSIENT and (most is None or feed.failures <= most):
                self._go(self._resume(feed, pause(self.options, feed.failures)))
            else:
                feed.end(failed)
        elif feed.doubts(result):
            self._detach(feed)
            self._go(self._unsubscribe(feed, key))
            self._go(self._resume(feed))
        elif not feed.push(result, size):
            self._detach(feed)
            self._go(self._unsubscribe(feed, key))
        elif feed.over:
            self._detach(feed)

    def _detach(self, feed: Feed) -> None:
        if feed.attached is not None:
            self._by_id.pop(feed.attached, None)
            feed.attached = None

    async def _unsubscribe(self, feed: Feed, key: tuple[Link, str]) -> None:
        link, name = key
        # If the connection has ended, so has the subscription.
        with contextlib.suppress(errors.Error, Lost):
            await link.request(feed.unsubscribe, {"subscription": name}, self.options.call_timeout)

    async def take(self, feed: Feed) -> list[dict[str, Any]]:
        """Returns the next items of a subscription, at least one, or none at its end."""
        items = await feed.take()
        if feed.full and not feed.over:
            feed.full = False
            self._go(self._resume(feed))
        return items

    def forget(self, feed: Feed) -> None:
        """The same as `leave`, from any thread, for a subscription that is no longer used."""
        if self._loop is not None and not self._loop.is_closed() and self.status != "closed":
            self._loop.call_soon_threadsafe(lambda: self._go(self.leave(feed)))

    async def leave(self, feed: Feed) -> None:
        """Ends a subscription."""
        feed.end(None)
        self._feeds.discard(feed)
        key = feed.attached
        if key is not None:
            self._detach(feed)
            await self._unsubscribe(feed, key)


def closed() -> errors.Closed:
    return errors.Closed("the client is closed; make another one")


def _items_as_dicts(params: dict[str, Any], again: Again) -> dict[str, Any]:
    """Returns the parameters with the items that get keys as dicts. The caller's own items stay unchanged."""
    items = getattr(again, "items", None)
    if items is None:
        return params
    return {**params, items: [item if isinstance(item, dict) else plain(item) for item in params[items]]}

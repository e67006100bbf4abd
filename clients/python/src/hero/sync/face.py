# Made of ../aio/face.py by `make clients`. Change that instead.
"""The base of the generated methods of this face."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from .. import errors
from .._base import read
from .._core.call import Again, Wait
from .._core.thread import Session
from .stream import Subscription


class Face:
    """Calls and subscriptions over a session."""

    _session: Session

    def _call(self, method: str, params: dict[str, Any], result: Any, again: Again, wait: Wait | None = None) -> Any:
        answer = self._session.call(method, params, again, wait)
        try:
            return read(result, answer)
        except ValidationError as wrong:
            what = f"{method} of {self._session.options.url} answered with something else than this client knows"
            raise errors.UnexpectedAnswer(f"{what}, so their versions differ: {wrong}") from wrong

    def _subscribe(
        self, method: str, ended_by: str, params: dict[str, Any], item: Any, resumable: bool, from_now: bool
    ) -> Subscription[Any]:
        return Subscription(self._session, (method, ended_by, params, resumable, from_now), item)

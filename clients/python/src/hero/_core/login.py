"""A login by signature, on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from .. import errors
from .call import Options
from .link import Link, host_of


@dataclass(frozen=True)
class Login:
    """Who logs in: a public key, and the function that signs texts with its private one."""

    pubkey: str
    sign: Callable[[str], str]

    async def on(self, link: Link, options: Options) -> str:
        """Logs in on a new connection, and returns the token for others."""
        nonce = checked(str(await link.request("fetch_nonce", {"pubkey": self.pubkey}, options.call_timeout)), options.url)
        # The function may block.
        signature = await asyncio.to_thread(self.sign, nonce)
        params = {"pubkey": self.pubkey, "signature": signature, "nonce": nonce}
        logged_in = await link.request("authenticate", params, options.call_timeout)
        try:
            return str(logged_in["token"])
        except (KeyError, TypeError) as wrong:
            raise errors.UnexpectedAnswer(f"authenticate of {options.url} gave no token, so the versions differ") from wrong


def checked(nonce: str, url: str) -> str:
    """Returns a nonce if it is for this server."""
    # The host may have a port. Only the last two fields are others.
    if nonce.rsplit(":", 2)[0].lower() != f"hero:{host_of(url)}".lower():
        raise errors.NotHero(f"{url} gave a nonce of another server, {nonce!r}: what signs it would log somebody in there")
    return nonce

"""TLS: which certificates the client trusts, and the error for those that it does not."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fake import Talk, fake

from hero import errors


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates a directory with a certificate authority, and a certificate from it for `localhost`."""
    home = tmp_path_factory.mktemp("authority")
    (home / "ext").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    for made in [
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=mine -keyout ca.key -out ca.pem",
        "req -newkey rsa:2048 -nodes -subj /CN=hero -keyout key.pem -out hero.csr",
        "x509 -req -in hero.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out cert.pem",
    ]:
        subprocess.run(["openssl", *made.split()], cwd=home, check=True, capture_output=True, timeout=60)
    return home


async def pong(talk: Talk) -> None:
    await talk.answer(await talk.call(), "pong")
    await talk.socket.wait_closed()


def over_tls(authority: Path) -> Any:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "cert.pem", authority / "key.pem")
    return fake(pong, ssl=context)


def at(url: str) -> str:
    return url.replace("ws://127.0.0.1", "wss://localhost")


@pytest.mark.parametrize("named", ["argument", "environment"])
async def test_an_authority_of_ones_own_is_named_in_the_code_or_outside_of_it(
    Hero: Any, authority: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    given = {"ca": authority / "ca.pem"} if named == "argument" else {}
    monkeypatch.setenv("HERO_CA", "" if given else str(authority / "ca.pem"))
    async with over_tls(authority) as url, Hero(at(url), **given) as hero:
        assert await hero.ping() == "pong"


async def test_a_certificate_of_an_unknown_authority_is_told_with_where_to_name_it(Hero: Any, authority: Path) -> None:
    async with over_tls(authority) as url:
        with pytest.raises(errors.NotHero, match=r"local issuer certificate; .*Hero\(ca=…\) or HERO_CA"):
            await Hero(at(url)).ping()


async def test_a_certificate_for_another_name_is_told_without_a_word_of_authorities(Hero: Any, authority: Path) -> None:
    async with over_tls(authority) as url:
        with pytest.raises(errors.NotHero, match="not valid for") as told:
            await Hero(url.replace("ws:", "wss:"), ca=authority / "ca.pem").ping()
    assert "HERO_CA" not in str(told.value)


@pytest.mark.parametrize(("text", "says"), [(None, "cannot be read: No such file"), ("x", "has no certificate in PEM")])
async def test_a_file_that_names_no_authority_is_told(Hero: Any, tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(errors.ConnectError, match=says) as told:
        await Hero("wss://localhost:1", ca=file).ping()
    assert str(file) in str(told.value)


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""], ids=["speaks", "closes"])
async def test_a_server_that_speaks_no_tls_is_told_with_the_address_to_use(Hero: Any, said: bytes) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(errors.ConnectError, match=f"no TLS, use ws://127.0.0.1:{port}$"):
            await Hero(f"wss://127.0.0.1:{port}").ping()

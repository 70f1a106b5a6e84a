"""Real web servers on loopback, for what real servers do: hostile, broken, slow and endless answers included."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True, kw_only=True)
class Site:
    """A server that runs, and what it was asked."""

    port: int
    scheme: str = "http"
    asked: list[Asked] = field(default_factory=list[Asked])

    @property
    def host(self) -> str:
        """As `allow_hosts` writes it."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"{self.scheme}://{self.host}{path}"


Answer: TypeAlias = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def site(answer: Answer | bytes, *, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Site]:
    """Serve on a free port of loopback until the block ends; every connection still open is cancelled then."""
    running = Site(port=0, scheme="http" if tls is None else "https")
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        # Whoever reads may have seen enough: then the rest cannot be written.
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            request = await read_request(reader)
            running.asked.append(request)
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(request, writer)
        writer.close()
        with suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError, TimeoutError):
            await writer.wait_closed()
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        server.close()
        left = list(tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *rest = head.split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method=method, path=path, headers=headers, body=body)


def response(
    body: bytes = b"", *, status: str = "200 OK", headers: tuple[tuple[str, str], ...] = (), length: int | None = None
) -> bytes:
    """One whole answer; a wrong length on request."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def redirect(to: str, *, status: str = "302 Found") -> bytes:
    return response(status=status, headers=(("Location", to),))


def by_path(**answers: bytes) -> Answer:
    """Answer by the first part of the path; anything else is 404."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        name = asked.path.strip("/").partition("/")[0].partition("?")[0]
        writer.write(answers.get(name, response(b"nothing here", status="404 Not Found")))
        await writer.drain()

    return answer


def endless(head: bytes, piece: bytes) -> Answer:
    """Send the head and then the piece for ever."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()

    return answer


def dripping(head: bytes) -> Answer:
    """Send the head and then a byte now and then, for ever: always something, never the end."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)  # the pace is what this server is about; no test waits for it

    return answer


def silent(head: bytes = b"") -> Answer:
    """Send the head and then nothing, for ever."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await writer.drain()
        await asyncio.Event().wait()

    return answer


def certificate(folder: Path, *, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a certificate for a host name or an address; return the server's context and one that trusts it alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    try:
        alternative: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        alternative = x509.DNSName(name)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / f"{name}.pem"
    pem.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    client = ssl.create_default_context(cadata=made.public_bytes(serialization.Encoding.PEM).decode("ascii"))
    return server, client

"""A chisel client that is not ours, for `postern tunnel-server`.

    as_client.py GROUP URL FINGERPRINT_ECDSA FINGERPRINT_ED25519 PORT

PORT is one that the server may listen on. Prints `passed: ...` for each thing that held; the exit status is 0 when all
did. The server knows two users: `me:secret`, who may do everything, and `guest:guest`, who may have R:127.0.0.1:1.
"""

import asyncio
import base64
import hashlib
import json
import time
from contextlib import asynccontextmanager

import asyncssh
from asyncssh.connection import SSHClientConnectionOptions
from websockets.asyncio.client import connect

import scenarios
from chisel import PACKET, PASSWORD, USER, WINDOW, ClientConnection
from chisel import eventually, main, over_websocket, passed, within

CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com")
TARGET = b"127.0.0.1:9"  # nobody connects to it: the visitor's stream ends here


class Login(asyncssh.SSHClient):
    """Takes the host key with the expected fingerprint only, and answers with the passwords in turn."""

    def __init__(self, fingerprints, passwords):
        self.fingerprints, self.passwords = fingerprints, list(passwords)

    def validate_host_public_key(self, host, addr, port, key):
        digest = base64.b64encode(hashlib.sha256(key.public_data).digest()).decode()
        return digest in self.fingerprints

    def password_auth_requested(self):
        return self.passwords.pop(0) if self.passwords else None


class Server:
    """The server under test."""

    def __init__(self, url, ecdsa, ed25519, port):
        self.url, self.port = url, int(port)
        self.fingerprints = {"ecdsa-sha2-nistp256": ecdsa, "ssh-ed25519": ed25519}

    def config(self, port=None, **changes):
        remote = {
            "LocalHost": "127.0.0.1", "LocalPort": str(port or self.port), "LocalProto": "tcp",
            "RemoteHost": "127.0.0.1", "RemotePort": "9", "RemoteProto": "tcp",
            "Socks": False, "Reverse": True, "Stdio": False,
        }
        return json.dumps({"Version": "0.0.0-src", "Remotes": [remote | changes]}).encode()

    async def pair(self, connection, window=WINDOW, size=PACKET):
        """A visitor and the channel that the server opens for it."""
        connection.offer = (window, size)
        visitor = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 14)
        target, reader, writer = await connection.next_stream()
        assert target == TARGET, target
        return visitor, (reader, writer)


@asynccontextmanager
async def connected(server, user=USER, passwords=(PASSWORD,), cipher=None, key=None, strict=True, login=True):
    """A connection, logged in unless it shall not be."""
    extra = {"encryption_algs": [cipher]} if cipher else {}
    if key:
        extra["server_host_key_algs"] = [key]
    fingerprints = [server.fingerprints[key]] if key else list(server.fingerprints.values())
    options = await SSHClientConnectionOptions.construct(
        username=user, client_factory=lambda: Login(fingerprints, passwords), known_hosts=([], [], []), config=None,
        agent_path=None, client_keys=None, preferred_auth=("password",), host="127.0.0.1", port=9, **extra,
    )
    options.waiter = asyncio.get_running_loop().create_future()
    connection = ClientConnection(asyncio.get_running_loop(), options, wait="auth").begin()
    connection.strict = strict
    async with connect(
        server.url, subprotocols=["chisel-v3"], compression=None, max_size=None, close_timeout=0.1, proxy=None,
        ping_interval=None,  # of its own it would end a connection that it does not read
    ) as web_socket:
        running = asyncio.create_task(over_websocket(web_socket, connection))
        try:
            if login:
                await within(options.waiter, "the login")
            connection.login, connection.running = options.waiter, running
            yield connection
        finally:
            connection.abort()
            await running


async def configured(connection, server):
    """Has the server listen, at once also where its port was the last connection's."""
    assert await connection.ask(b"config", server.config()) == (True, b"")


async def algorithms(*arguments):
    server = Server(*arguments)
    for cipher in CIPHERS:
        for key in server.fingerprints:
            async with connected(server, cipher=cipher, key=key) as connection:
                assert connection.get_extra_info("send_cipher") == cipher
                await configured(connection, server)
                await scenarios.both_ways(await server.pair(connection), 300_000)
                connection.rekey()
                await eventually(lambda: connection.exchanges == 2, "the second key exchange")
                await scenarios.both_ways(await server.pair(connection), 1000)
                passed(f"{cipher} with {key}")


async def refused_login(server, user, passwords):
    """Returns the number of seconds until it was refused."""
    async with connected(server, user, passwords, login=False) as connection:
        began = time.monotonic()
        try:
            await within(connection.login, "the end of the login")
        except asyncssh.DisconnectError:
            return time.monotonic() - began
        raise AssertionError(f"{user} was let in")


async def login(*arguments):
    server = Server(*arguments)
    assert await refused_login(server, USER, ["wrong"]) > 0.1
    await refused_login(server, "nobody", [PASSWORD])
    await refused_login(server, USER, [""])
    passed("wrong passwords and users are refused, after a pause")
    async with connected(server, passwords=["wrong", PASSWORD]) as connection:
        assert await connection.ask(b"ping") == (True, b"pong")
    passed("the right password after a wrong one is taken")
    await refused_login(server, USER, ["wrong"] * 7 + [PASSWORD])
    passed("after six wrong ones no right one helps")


async def configuration(*arguments):
    server = Server(*arguments)
    guest = {"user": "guest", "passwords": ["guest"]}
    async with connected(server, **guest) as connection:
        denied = f"server: access to 'R:127.0.0.1:{server.port}' denied"
        assert await connection.ask(b"config", server.config()) == (False, denied.encode())
        assert await connection.ask(b"ping") == (True, b"pong"), "it is the client who leaves"
    passed("a remote that is not allowed is refused, by name")
    for what in ({"LocalPort": "65536"}, {"LocalPort": ""}, {"LocalProto": "udp", "RemoteProto": "udp"},
                 {"Reverse": False}, {"Socks": True}):
        async with connected(server) as connection:
            success, text = await connection.ask(b"config", server.config(**what))
            assert success is False and text, what
    passed("remotes that cannot be are refused, with a text")
    for data in (b"", b"{}", b"7", b"\xff", b'{"Version":1,"Remotes":{}}', server.config()[:-1]):
        async with connected(server) as connection:
            success, text = await connection.ask(b"config", data)
            # One without remotes is a configuration; chisel takes it too.
            assert success is False or data == b"{}", (data, text)
    passed("a configuration that is none is refused")
    taken = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    async with connected(server) as connection:
        held = f"Server cannot listen on R:127.0.0.1:{port}".encode()
        assert await connection.ask(b"config", server.config(port)) == (False, held)
    taken.close()
    passed("a port that is in use is refused, by name")
    async with connected(server) as connection:
        await configured(connection, server)
        assert (await connection.ask(b"config", server.config()))[0] is False
        await scenarios.both_ways(await server.pair(connection), 1000)
    passed("a second configuration is refused, and the first stays")


async def streams(*arguments):
    server = Server(*arguments)
    async with connected(server) as connection:
        await configured(connection, server)
        pair = lambda **options: server.pair(connection, **options)
        await scenarios.half_close(pair)
        await scenarios.closed_with_data_on_the_way(pair)
        await scenarios.channel_requests(pair)
        await scenarios.global_requests(connection)
        await scenarios.refused_kinds(connection, [
            (b"chisel", TARGET, True, (1,)),
            (b"session", b"", True, (1, 3)),
            (b"direct-tcpip", TARGET, False, (1, 3)),
        ])
        passed("channels from the client are refused")
        pings = connection.pings
        await eventually(lambda: connection.pings > pings + 2, "keep-alives of the server")
        connection.pong = True
        await eventually(lambda: connection.pings > pings + 5, "keep-alives go on when pongs are empty")
        passed("the server's keep-alives are answered, with and without a text")


async def rekey(*arguments):
    server = Server(*arguments)
    for cipher in CIPHERS:
        for strict in (True, False):
            async with connected(server, cipher=cipher, strict=strict) as connection:
                assert connection.strict_offered, "the server did not offer strict key exchange"
                await configured(connection, server)
                name = f"{cipher}{'' if strict else ' without strict key exchange'}"
                await scenarios.rekeyed(connection, lambda: server.pair(connection), name)


async def windows(*arguments):
    server = Server(*arguments)
    async with connected(server) as connection:
        await configured(connection, server)
        await scenarios.all_windows(connection, lambda **options: server.pair(connection, **options))


if __name__ == "__main__":
    main({"algorithms": algorithms, "login": login, "configuration": configuration, "streams": streams,
          "rekey": rekey, "windows": windows})

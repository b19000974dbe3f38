"""A chisel server that is not ours, for `postern tunnel-client`.

    as_server.py GROUP

For each case it says which client the test shall start (`case: {...}`), and once all that it checks has held,
`passed: ...`. The exit status is 0 when every case passed.
"""

import asyncio
import json
from contextlib import asynccontextmanager

import asyncssh
from asyncssh.connection import SSHServerConnectionOptions
from websockets.asyncio.server import serve

import scenarios
from chisel import PACKET, PASSWORD, USER, WINDOW, ServerConnection
from chisel import eventually, main, over_websocket, passed, tell, within

CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com")
HOST_KEYS = ("ecdsa-sha2-nistp256", "ssh-ed25519", "rsa-sha2-256", "rsa-sha2-512")
REMOTE_KEYS = {
    "LocalHost", "LocalPort", "LocalProto", "RemoteHost", "RemotePort", "RemoteProto", "Socks", "Reverse", "Stdio",
}


class Login(asyncssh.SSHServer):
    """Whom the server lets in, and what it was shown."""

    def __init__(self, side):
        self.side = side

    def begin_auth(self, username):
        return self.side.users

    def password_auth_supported(self):
        return True

    def validate_password(self, username, password):
        self.side.logins.append((username, password))
        return (username, password) == (USER, PASSWORD)


class Side:
    """One server with one target, and the connections that came."""

    def __init__(self, users=True, pong=b"pong", strict=True, key="ssh-ed25519", cipher=None):
        self.users, self.pong, self.strict, self.cipher = users, pong, strict, cipher
        self.key = host_key(key)
        self.logins, self.upgrades = [], []
        self.connections, self.visits = asyncio.Queue(), asyncio.Queue()

    async def serve_web_socket(self, web_socket):
        self.upgrades.append(web_socket.request)
        extra = {"encryption_algs": [self.cipher]} if self.cipher else {}
        options = await SSHServerConnectionOptions.construct(
            server_factory=lambda: Login(self), server_host_keys=[self.key], config=None, **extra
        )
        connection = ServerConnection(asyncio.get_running_loop(), options).begin()
        connection.pong, connection.strict = self.pong, self.strict
        self.connections.put_nowait(connection)
        await over_websocket(web_socket, connection)

    async def connection(self, success=True, text=b""):
        """The next connection, once its configuration is answered as given."""
        connection = await within(self.connections.get(), "a connection")
        config = await within(connection.configs.get(), "the configuration")
        connection.answer_config(success, text)
        return connection, json.loads(config)

    async def pair(self, connection, window=WINDOW, size=PACKET):
        channel = await connection.open(self.target.encode(), window, size)
        return await within(self.visits.get(), "the client's connection to its target"), channel


HOST_KEY_CACHE = {}


def host_key(name):
    """A host key that signs with this algorithm only."""
    if name not in HOST_KEY_CACHE:
        kind = "ssh-rsa" if name.startswith("rsa") else name
        options = {"key_size": 2048} if kind == "ssh-rsa" else {}
        pair = asyncssh.load_keypairs(asyncssh.generate_private_key(kind, **options))[0]
        pair.host_key_algorithms = (name.encode(),)
        HOST_KEY_CACHE[name] = pair
    return HOST_KEY_CACHE[name]


@asynccontextmanager
async def case(name, args=(), logs=(), lacks=(), subprotocols=None, **options):
    """Serves, and has the test start a client. `logs` must appear in what the client says, `lacks` must not."""
    side = Side(**options)

    async def visit(reader, writer):
        side.visits.put_nowait((reader, writer))

    target = await asyncio.start_server(visit, "127.0.0.1", 0, limit=1 << 14)
    side.listener = target
    side.port = target.sockets[0].getsockname()[1]
    side.target = f"127.0.0.1:{side.port}"
    server = await serve(
        side.serve_web_socket, "127.0.0.1", 0, compression=None, max_size=None, subprotocols=subprotocols,
        # Nothing to say when a client is ended.
        close_timeout=0.1,
    )
    port = server.sockets[0].getsockname()[1]
    tell(
        name=name, url=f"ws://127.0.0.1:{port}/", remotes=[f"R:127.0.0.1:9:{side.target}"],
        args=list(args) or ["--auth", f"{USER}:{PASSWORD}"], logs=list(logs), lacks=list(lacks),
    )
    yield side
    passed(name)
    target.close()
    server.close()


async def algorithms():
    for cipher in CIPHERS:
        for key in HOST_KEYS:
            async with case(f"{cipher} with {key}", cipher=cipher, key=key) as side:
                connection, _ = await side.connection()
                assert connection.get_extra_info("send_cipher") == cipher
                await scenarios.both_ways(await side.pair(connection), 300_000)
                connection.rekey()
                await eventually(lambda: connection.exchanges == 2, "the second key exchange")
                await scenarios.both_ways(await side.pair(connection), 1000)


async def login():
    async with case("the right password") as side:
        await side.connection()
        assert side.logins == [(USER, PASSWORD)]
    async with case("a server without users", users=False) as side:
        await side.connection()
    # One attempt, and none that follows at once.
    wrong = ["--auth", "me:wrong-password"]
    async with case("a wrong password", wrong, ["next attempt in"], ["Connected", "wrong-password"]) as side:
        connection = await within(side.connections.get(), "a connection")
        await within(connection.wait_closed(), "the client leaves")
        assert side.logins == [(USER, "wrong-password")], "more tries than one"
        await no_more(side)
    changed = ["--auth", f"{USER}:{PASSWORD}", "--fingerprint", "A" * 43 + "="]
    async with case("another host key", changed, ["A" * 43], ["Connected", PASSWORD]) as side:
        connection = await within(side.connections.get(), "a connection")
        await within(connection.wait_closed(), "the client leaves")
        assert side.logins == [], "the password was shown to a stranger"
        await no_more(side)


async def no_more(side):
    """Nobody comes again at once."""
    try:
        await asyncio.wait_for(side.connections.get(), 0.7)
    except asyncio.TimeoutError:
        return
    raise AssertionError("the client came again at once")


async def configuration():
    for echo in (None, ["chisel-v3"]):
        async with case(f"accepted, subprotocol {'echoed' if echo else 'not echoed'}", logs=["Connected (Latency "],
                        subprotocols=echo) as side:
            connection, config = await side.connection()
            assert side.upgrades[0].headers["Sec-WebSocket-Protocol"] == "chisel-v3"
            assert set(config) == {"Version", "Remotes"}
            (remote,) = config["Remotes"]
            assert set(remote) == REMOTE_KEYS
            assert (remote["LocalHost"], remote["LocalPort"]) == ("127.0.0.1", "9")
            assert (remote["RemoteHost"], remote["RemotePort"]) == ("127.0.0.1", str(side.port))
            assert remote["Reverse"] is True and remote["Socks"] is False and remote["Stdio"] is False
            assert remote["LocalProto"] == remote["RemoteProto"] == "tcp"
            assert await connection.ask(b"ping") == (True, b"pong")
    for success, text in (
        (False, "server: access to 'R:127.0.0.1:9' denied"),
        (False, "Reverse port forwaring not enabled on server"),
        (False, "Server cannot listen on R:127.0.0.1:9"),
        (False, ""),
        (True, "accepted, but there is a text"),
    ):
        name = f"{'success' if success else 'failure'} with the text «{text}»"
        async with case(name, logs=[text, "next attempt in"], lacks=["Connected"]) as side:
            connection, _ = await side.connection(success, text.encode())
            await within(connection.wait_closed(), "the client leaves")
            # And comes again: first refused, then accepted.
            await side.connection(success, text.encode())


async def streams():
    args = ["--auth", f"{USER}:{PASSWORD}", "--keepalive", "200ms"]
    async with case("streams", args) as side:
        connection, _ = await side.connection()
        pair = lambda **options: side.pair(connection, **options)
        await scenarios.half_close(pair)
        await scenarios.closed_with_data_on_the_way(pair)
        await scenarios.channel_requests(pair)
        await scenarios.global_requests(connection)
        prohibited = (1,)
        await scenarios.refused_kinds(connection, [
            (b"chisel", b"127.0.0.1:22", True, prohibited),
            (b"chisel", b"localhost:9", True, prohibited),
            (b"chisel", side.target.encode() + b"/udp", True, prohibited),
            (b"chisel", side.target.encode(), False, prohibited),
            (b"chisel", b"", True, prohibited),
            (b"session", b"", True, (1, 3)),
            (b"direct-tcpip", side.target.encode(), False, (1, 3)),
            (b"forwarded-tcpip", side.target.encode(), False, (1, 3)),
            (b"x11", b"", True, (1, 3)),
        ])
        passed("undeclared targets and other channel types are refused")
        pings = connection.pings
        await eventually(lambda: connection.pings > pings + 2, "keep-alives")
    async with case("a pong without text", args, pong=True) as side:
        connection, _ = await side.connection()
        await eventually(lambda: connection.pings > 3, "keep-alives go on")
        await scenarios.both_ways(await side.pair(connection), 1000)
    async with case("a target that refuses") as side:
        connection, config = await side.connection()
        await scenarios.both_ways(await side.pair(connection), 1000)
        side.listener.close()
        for _ in range(3):
            try:
                reader, writer = await connection.open(side.target.encode())
            except asyncssh.ChannelOpenError:
                continue
            await within(writer.channel.wait_closed(), "the end of a stream without a target", 2)


async def rekey():
    for cipher in CIPHERS:
        for strict in (True, False):
            name = f"{cipher}{'' if strict else ' without strict key exchange'}"
            async with case(f"re-key, {name}", cipher=cipher, strict=strict) as side:
                connection, _ = await side.connection()
                assert connection.strict_offered, "the client did not offer strict key exchange"
                await scenarios.rekeyed(connection, lambda: side.pair(connection), name)


async def windows():
    async with case("windows") as side:
        connection, _ = await side.connection()
        await scenarios.all_windows(connection, lambda **options: side.pair(connection, **options))


if __name__ == "__main__":
    main({"algorithms": algorithms, "login": login, "configuration": configuration, "streams": streams,
          "rekey": rekey, "windows": windows})

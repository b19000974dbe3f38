"""A chisel server that is not ours, which forwards the ports that its clients ask for, to the clients' targets.

    forwards.py PORT USER PASSWORD

It listens on 127.0.0.1 and runs until it is ended.
"""

import asyncio
import json
import sys

import asyncssh
from asyncssh.connection import SSHServerConnectionOptions
from websockets.asyncio.server import serve

from chisel import ServerConnection, over_websocket


class Login(asyncssh.SSHServer):
    """One user."""

    def __init__(self, user, password):
        self.known = (user, password)

    def begin_auth(self, username):
        return True

    def password_auth_supported(self):
        return True

    def validate_password(self, username, password):
        return (username, password) == self.known


async def carry(reader, writer):
    """One direction of a stream, to its end."""
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


def forward(connection, target):
    """Returns the function that serves a connection to a forwarded port."""
    async def visit(reader, writer):
        try:
            channel, sink = await connection.open(target)
            await asyncio.gather(carry(reader, sink), carry(channel, writer))
            sink.close()
        except (OSError, asyncssh.Error, AssertionError):
            # Either side may go away, and a target may refuse.
            pass
        writer.close()

    return visit


async def listeners(connection):
    """Opens the ports of a client's configuration."""
    remotes = json.loads(await connection.configs.get())["Remotes"]
    opened = []
    for remote in remotes:
        assert remote["Reverse"], remote
        target = f"{remote['RemoteHost']}:{remote['RemotePort']}".encode()
        visit = forward(connection, target)
        opened.append(await asyncio.start_server(visit, "127.0.0.1", int(remote["LocalPort"])))
    connection.answer_config()
    return opened


async def main(port, user, password):
    key = asyncssh.load_keypairs(asyncssh.generate_private_key("ecdsa-sha2-nistp256"))[0]

    async def serve_client(web_socket):
        options = await SSHServerConnectionOptions.construct(
            server_factory=lambda: Login(user, password), server_host_keys=[key], config=None
        )
        connection = ServerConnection(asyncio.get_running_loop(), options).begin()
        opening = asyncio.create_task(listeners(connection))
        await over_websocket(web_socket, connection)
        opening.cancel()
        if opening.done() and not opening.cancelled():
            for listener in opening.result():
                listener.close()

    async with serve(serve_client, "127.0.0.1", int(port), compression=None, max_size=None, close_timeout=0.1):
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

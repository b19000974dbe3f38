"""A tenant of `postern tunnel-server` who is logged in and means ill: one kind of packet, over and over.

    flood.py KIND URL FINGERPRINT_ECDSA FINGERPRINT_ED25519 PORT

PORT is one that the server may listen on. Prints `flooding` when it begins and `passed: ...` when what is expected came
of it; the exit status is 0 then.
"""

import asyncio
from contextlib import asynccontextmanager

from asyncssh.constants import (
    MSG_CHANNEL_FAILURE, MSG_CHANNEL_OPEN, MSG_CHANNEL_OPEN_FAILURE, MSG_CHANNEL_REQUEST, MSG_CHANNEL_SUCCESS,
    MSG_CHANNEL_WINDOW_ADJUST, MSG_GLOBAL_REQUEST, MSG_REQUEST_FAILURE, MSG_REQUEST_SUCCESS,
)
from asyncssh.packet import Boolean, String, UInt32

import as_client
from as_client import Server, connected
from chisel import ClientConnection, eventually, main, passed

COUNT = 30_000  # packets of a flood
ENDLESS = 10_000_000  # packets that nobody takes all of
REKEYS = 300
PATIENCE = 120  # seconds
PENDING = 1 << 20  # bytes on their way in this process


class Flooder(ClientConnection):
    """Counts answers to what it has sent by hand, and makes nothing of them."""

    def begin(self):
        self.answers = 0
        self.swallows = set()
        return super().begin()

    def process_packet(self, kind, number, packet):
        if kind in self.swallows:
            self.answers += 1
            return True
        return super().process_packet(kind, number, packet)

    async def pour(self, packets):
        """Sends them as fast as they are taken; false when the connection ended before."""
        for number, (kind, *fields) in enumerate(packets):
            self.send_packet(kind, *fields)
            if number % 100 == 0:
                await asyncio.sleep(0)
            while self._transport and self._transport.get_write_buffer_size() > PENDING:
                if self.running.done():
                    return False
                await asyncio.sleep(0.001)
            if not self._transport or self.running.done():
                return False
        return True

    async def all_answered(self, count):
        await eventually(lambda: self.answers >= count, f"{count} answers, not {self.answers}", PATIENCE)
        self.swallows.clear()
        assert await self.ask(b"ping") == (True, b"pong"), "it lives, and what is answered is in order"


as_client.ClientConnection = Flooder


@asynccontextmanager
async def begun(arguments):
    server = Server(*arguments)
    async with connected(server) as connection:
        await as_client.configured(connection, server)
        print("flooding", flush=True)
        yield server, connection


async def requests(*arguments):
    """Global requests, each of which wants an answer."""
    async with begun(arguments) as (_, connection):
        connection.swallows = {MSG_REQUEST_SUCCESS, MSG_REQUEST_FAILURE}
        request = (MSG_GLOBAL_REQUEST, String(b"tcpip-forward"), Boolean(True), b"\x00\x00\x00\x01x")
        assert await connection.pour(request for _ in range(COUNT))
        await connection.all_answered(COUNT)
        passed("requests are answered one by one")


async def opens(*arguments):
    """Channels that the server does not offer, with targets where nothing listens."""
    async with begun(arguments) as (_, connection):
        connection.swallows = {MSG_CHANNEL_OPEN_FAILURE}
        numbers = (UInt32(1 << 20), UInt32(1 << 15))
        opened = (
            (MSG_CHANNEL_OPEN, String((b"session", b"chisel")[n % 2]), UInt32(n), *numbers, b"127.0.0.1:9")
            for n in range(COUNT)
        )
        assert await connection.pour(opened)
        await connection.all_answered(COUNT)
        passed("channels are refused one by one")


async def channel_requests(*arguments):
    """Commands and variables for a stream that is open, and widenings of its window."""
    async with begun(arguments) as (server, connection):
        (_, writer), (_, sink) = await server.pair(connection)
        channel = sink.channel
        there = channel._send_chan
        answers = []
        process = channel.process_packet

        def swallow(kind, number, packet):
            if kind in (MSG_CHANNEL_FAILURE, MSG_CHANNEL_SUCCESS):
                return answers.append(kind) or True
            return process(kind, number, packet)

        channel.process_packet = swallow

        def packets():
            for number in range(COUNT // 3):
                kind = (b"exec", b"env")[number % 2]
                yield MSG_CHANNEL_REQUEST, UInt32(there), String(kind), Boolean(True), String(b"x" * 1000)
                yield MSG_CHANNEL_WINDOW_ADJUST, UInt32(there), UInt32(0)
                yield MSG_CHANNEL_WINDOW_ADJUST, UInt32(there), UInt32(1)

        assert await connection.pour(packets())
        await eventually(lambda: len(answers) == COUNT // 3, "an answer to each", PATIENCE)
        assert set(answers) == {MSG_CHANNEL_FAILURE}
        await serves_on(server, connection)
        writer.close()
        passed("requests on a stream are refused one by one")


async def serves_on(server, connection):
    """Another stream of the connection carries bytes."""
    visitor, (channel, back) = await server.pair(connection)
    visitor[1].write(b"to and fro")
    assert await channel.readexactly(10) == b"to and fro"
    back.write(b"and back")
    assert await visitor[0].readexactly(8) == b"and back"
    visitor[1].close()


async def too_wide(*arguments):
    """A window of more than 4 GiB ends the connection (RFC 4254 section 5.2)."""
    async with begun(arguments) as (server, connection):
        _, (_, sink) = await server.pair(connection)
        there = sink.channel._send_chan
        await connection.pour([(MSG_CHANNEL_WINDOW_ADJUST, UInt32(there), UInt32(0xFFFFFFFF))] * 2)
        await eventually(lambda: connection.running.done(), "the end", PATIENCE)
        passed("a window that is too wide ends the connection")


async def unread(*arguments):
    """Requests whose answers nobody reads."""
    async with begun(arguments) as (_, connection):
        connection._transport.pause_reading()
        numbers = (UInt32(1 << 20), UInt32(1 << 15))
        opened = (MSG_CHANNEL_OPEN, String(b"session"), UInt32(1), *numbers)
        await connection.pour(opened for _ in range(ENDLESS))
        await eventually(lambda: connection.running.done(), "the end", PATIENCE)
        passed("who reads no answers is cut")


async def rekeys(*arguments):
    """Key exchanges one after another, with nothing between them. Whether they are too many for the server depends on
    how fast this machine makes them."""
    async with begun(arguments) as (_, connection):
        for number in range(REKEYS):
            before = connection.exchanges
            connection.rekey()
            await eventually(lambda: connection.exchanges > before and connection._kex_complete
                             or connection.running.done(), "a key exchange")
        passed("keys are changed over and over")


if __name__ == "__main__":
    main({"requests": requests, "opens": opens, "channel_requests": channel_requests, "too_wide": too_wide,
          "unread": unread, "rekeys": rekeys})

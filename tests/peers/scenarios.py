"""Checks of a stream, whichever end opened it. A `pair()` gives both ends of a new stream, each a reader and a
writer: first the TCP end that postern serves, then the SSH channel's end here."""

import asyncio
import hashlib
import os

from chisel import eventually, passed, within

MIB = 1 << 20
SMALL = 512  # bytes of a packet, and two of them are a window


async def send(writer, data, end=True):
    """Writes all of it, then its end."""
    for begin in range(0, len(data), 1 << 16):
        writer.write(data[begin:begin + (1 << 16)])
        await writer.drain()
    if end:
        writer.write_eof()


async def receive(reader, meanwhile=lambda count: None):
    """Reads to the end: the count and the digest."""
    count, digest = 0, hashlib.sha256()
    while data := await within(reader.read(1 << 16), "more data"):
        digest.update(data)
        count += len(data)
        meanwhile(count)
    return count, digest.digest()


def of(data):
    return len(data), hashlib.sha256(data).digest()


async def both_ways(pair, size=MIB, meanwhile=lambda count: None):
    """Different bytes in both directions at once, each to its end, then nothing is left open."""
    (reader, writer), (channel, sink) = pair
    up, down = os.urandom(size), os.urandom(size)
    *_, down_got, up_got = await within(
        asyncio.gather(
            send(writer, up), send(sink, down), receive(reader, meanwhile), receive(channel, meanwhile)
        ),
        "the transfer",
        25,
    )
    assert down_got == of(down), f"towards the TCP end {down_got[0]} of {size} bytes came, or others"
    assert up_got == of(up), f"towards the channel {up_got[0]} of {size} bytes came, or others"
    writer.close()
    await within(sink.channel.wait_closed(), "the channel's close")


async def half_close(pair):
    """The TCP end is done first; the channel's end still sends. Then the other way round."""
    (reader, writer), (channel, sink) = await pair()
    await send(writer, b"question")
    assert await receive(channel) == of(b"question")
    assert not sink.channel.is_closing(), "the other direction ended as well"
    await send(sink, b"a late answer")
    assert await receive(reader) == of(b"a late answer")
    await within(sink.channel.wait_closed(), "the close after both ends")
    writer.close()
    (reader, writer), (channel, sink) = await pair()
    await send(sink, b"question")
    assert await receive(reader) == of(b"question")
    await send(writer, b"a late answer")
    assert await receive(channel) == of(b"a late answer")
    await within(sink.channel.wait_closed(), "the close after both ends")
    writer.close()
    passed("half-close in each direction")


async def closed_with_data_on_the_way(pair):
    """10 MB, then an immediate close: nothing is lost."""
    data = os.urandom(10_000_000)
    (reader, writer), (channel, sink) = await pair()
    sink.write(data)
    sink.close()
    assert await receive(reader) == of(data)
    writer.close()
    (reader, writer), (channel, sink) = await pair()
    writer.write(data)
    writer.close()
    assert await receive(channel) == of(data)
    sink.close()
    passed("10 MB and an immediate close, each way, nothing lost")


async def channel_requests(pair):
    """Channel requests are answered with failure, and the stream goes on."""
    (reader, writer), (channel, sink) = await pair()
    for kind in (b"exec", b"shell", b"window-change", b"keepalive@example.org"):
        assert await within(sink.channel._make_request(kind, b"raw data"), "an answer") is False, kind
        sink.channel._send_request(kind, b"without an answer")
    await both_ways(((reader, writer), (channel, sink)), size=1000)
    passed("channel requests are refused and the stream goes on")


async def global_requests(connection):
    """Pings get their pong; what is unknown fails where an answer is wanted, and is passed over where none is."""
    for _ in range(20):
        assert await connection.ask(b"ping") == (True, b"pong")
    for kind in (b"keepalive@openssh.com", b"tcpip-forward", b"no-more-sessions@openssh.com", b""):
        assert (await connection.ask(kind, b"\x00\x00\x00\x01x"))[0] is False, kind
        connection.tell(kind)
    # Answers come in order (RFC 4254 §4): a stray one would stand for this.
    assert await connection.ask(b"ping") == (True, b"pong")
    passed("pings are answered, unknown requests refused")


async def rekeyed(connection, pair, name, size=6 * MIB):
    """Key exchanges begun by this end over and over while data flows both ways."""
    before, due = connection.exchanges, [0]

    def meanwhile(count):
        if count > due[0] and connection.rekey():
            due[0] = count + size // 12

    await both_ways(await pair(), size, meanwhile)
    done = connection.exchanges - before
    assert done >= 3, f"{done} key exchanges"
    await both_ways(await pair(), 1000)
    passed(f"re-keyed in mid-transfer, several times: {name}")


async def small_window(pair):
    """The other end may send 1,024 bytes at a time, in packets of 512."""
    await both_ways(await pair(window=2 * SMALL, size=SMALL), size=128 << 10)
    passed("a window of two small packets")


async def no_adjustment(connection, pair):
    """A window that is used up and not adjusted for a while holds this stream and no other (asyncssh itself minds that
    nobody sends beyond it)."""
    window = 64 << 10
    (reader, writer), (channel, sink) = await pair(window=window)
    # Nobody takes what arrives; the channel keeps its window.
    sink.channel.pause_reading()
    data = os.urandom(4 * MIB)
    sender = asyncio.create_task(send(writer, data))
    await eventually(lambda: sink.channel._recv_window == 0, "the window is used up")
    for _ in range(5):
        assert await connection.ask(b"ping") == (True, b"pong")
        await both_ways(await pair(), size=100_000)
    assert sink.channel._recv_window == 0
    sink.channel.resume_reading()
    assert await receive(channel) == of(data)
    await sender
    sink.write_eof()
    writer.close()
    passed("an exhausted window holds its own stream only, and goes on when adjusted")


async def stalled_tcp_end(connection, pair):
    """Nobody reads at the TCP end: what is taken off the channel is bounded, and other streams live."""
    data = os.urandom(24 * MIB)
    (reader, writer), (channel, sink) = await pair()
    sink.write(data)
    sink.write_eof()
    await eventually(lambda: sink.channel._send_window == 0, "the other end's window is used up")
    for _ in range(5):
        assert await connection.ask(b"ping") == (True, b"pong")
        await both_ways(await pair(), size=100_000)
    assert sink.channel._send_buf_len > 0, "24 MiB were taken for one who does not read"
    assert await receive(reader) == of(data)
    writer.close()
    passed("a TCP end that does not read stalls its own stream only")


async def all_windows(connection, pair):
    await small_window(pair)
    await no_adjustment(connection, pair)
    await stalled_tcp_end(connection, pair)


async def refused_kinds(connection, kinds):
    """Channels that are not offered: each is refused with a code (RFC 4254 §5.1)."""
    import asyncssh

    for kind, target, raw, codes in kinds:
        try:
            await connection.open(target, kind=kind, raw=raw)
        except asyncssh.ChannelOpenError as error:
            assert error.code in codes, (kind, target, error.code)
            continue
        raise AssertionError(f"a channel of type {kind} to {target} was opened")

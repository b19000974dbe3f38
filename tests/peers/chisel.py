"""chisel-v3 on asyncssh and websockets: what the two ends of the tunnel have in common.

asyncssh does the SSH; here is what it does not do: identifications without `2.0`, global requests with raw data,
channels of any type, and the WebSocket below, whose message borders mean nothing.
"""

import asyncio
import json
import socket
import sys
import traceback

import asyncssh
from asyncssh.channel import SSHTCPChannel
from asyncssh.constants import MSG_REQUEST_FAILURE, MSG_REQUEST_SUCCESS
from asyncssh.packet import String
from asyncssh.stream import SSHReader, SSHTCPStreamSession, SSHWriter
from websockets.exceptions import ConnectionClosed

WAIT = 15  # seconds that anything may take
WINDOW = 2 << 20  # bytes, as a chisel peer has it
PACKET = 32 << 10  # bytes
MESSAGE = 4093  # bytes of a WebSocket message: borders fall anywhere in a packet

USER, PASSWORD = "me", "secret"


class Session(SSHTCPStreamSession):
    """A stream session that tells when it is open."""

    def __init__(self):
        super().__init__()
        self.opened = asyncio.Event()

    def session_started(self):
        super().session_started()
        self.opened.set()


class Chisel:
    """Mixed into asyncssh's connections."""

    identification = b""
    strict = True
    pong = b"pong"  # bytes, or True for an empty success

    # asyncssh takes the other side's offer for an agreement, but both have to offer it.
    @property
    def _strict_kex(self):
        return self.strict and self.strict_offered

    @_strict_kex.setter
    def _strict_kex(self, offered):
        self.strict_offered = offered

    def begin(self):
        self.exchanges = 0
        self.pings = 0
        self.configs = asyncio.Queue()
        self.arrived = asyncio.Queue()
        self.offer = (WINDOW, PACKET)
        return self

    def _send_version(self):
        if self.is_client():
            self._client_version = self.identification
        else:
            self._server_version = self.identification
        self._send(self.identification + b"\r\n")

    def _recv_version(self):
        line, found, rest = bytes(self._inpbuf).partition(b"\n")
        if not found:
            return False
        line = line.removesuffix(b"\r")
        assert line.startswith(b"SSH-chisel-v3-"), line
        if self.is_client():
            self._server_version = line
        else:
            self._client_version = line
        self._inpbuf = rest
        self._send_kexinit()
        self._kexinit_sent = True
        self._recv_handler = self._recv_pkthdr
        return True

    def _get_extra_kex_algs(self):
        return [name for name in super()._get_extra_kex_algs() if self.strict or b"strict" not in name]

    def send_newkeys(self, k, h):
        super().send_newkeys(k, h)
        self.exchanges += 1

    def rekey(self):
        """Begins a key exchange; false while one is under way."""
        if not self._kex_complete:
            return False
        self._send_kexinit()
        self._kexinit_sent = True
        return True

    def _process_ping_global_request(self, packet):
        self.pings += 1
        self._report_global_response(self.pong)

    def _process_config_global_request(self, packet):
        self.configs.put_nowait(packet.get_remaining_payload())

    def answer_config(self, success=True, text=b""):
        self._global_request_queue.pop(0)
        self.send_packet(MSG_REQUEST_SUCCESS if success else MSG_REQUEST_FAILURE, text)

    def _process_chisel_open(self, packet):
        target = packet.get_remaining_payload()
        window, size = self.offer
        channel = SSHTCPChannel(self, self._loop, None, "strict", window, size)
        session = Session()
        self.arrived.put_nowait((target, channel, session))
        return channel, session

    async def ask(self, kind, data=b""):
        """A global request with an answer: whether it succeeded, and the data."""
        kind_of_answer, packet = await within(self._make_global_request(kind, data), f"the answer to {kind}")
        return kind_of_answer == MSG_REQUEST_SUCCESS, packet.get_remaining_payload()

    def tell(self, kind, data=b""):
        """A global request without an answer."""
        self._send_global_request(kind, data)

    async def open(self, target, window=WINDOW, size=PACKET, kind=b"chisel", raw=True):
        """Opens a channel: its reader and writer."""
        channel = SSHTCPChannel(self, self._loop, None, "strict", window, size)
        session = await within(channel._open_forward(Session, kind, target if raw else String(target)), "the channel")
        return SSHReader(session, channel), SSHWriter(session, channel)

    async def next_stream(self):
        """The next channel that the other side opens: its target, reader and writer."""
        target, channel, session = await within(self.arrived.get(), "a channel from the other side")
        await within(session.opened.wait(), "the channel's confirmation")
        return target, SSHReader(session, channel), SSHWriter(session, channel)


class ClientConnection(Chisel, asyncssh.SSHClientConnection):
    identification = b"SSH-chisel-v3-client"


class ServerConnection(Chisel, asyncssh.SSHServerConnection):
    identification = b"SSH-chisel-v3-server"


async def within(awaitable, what, seconds=WAIT):
    try:
        return await asyncio.wait_for(awaitable, seconds)
    except asyncio.TimeoutError:
        raise AssertionError(f"not within {seconds} s: {what}") from None


async def eventually(condition, what, seconds=WAIT):
    """Waits until a condition holds."""
    async def poll():
        while not condition():
            await asyncio.sleep(0.005)

    await within(poll(), what, seconds)


async def over_websocket(web_socket, connection):
    """Runs an SSH connection over a WebSocket, to the end of either."""
    near, far = socket.socketpair()
    await asyncio.get_running_loop().create_connection(lambda: connection, sock=near)
    reader, writer = await asyncio.open_connection(sock=far)

    async def to_ssh():
        async for message in web_socket:
            assert isinstance(message, bytes), "a text message"
            writer.write(message)
            await writer.drain()

    async def from_ssh():
        while data := await reader.read(MESSAGE):
            await web_socket.send(data)

    tasks = [asyncio.create_task(to_ssh()), asyncio.create_task(from_ssh())]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(outcome, (type(None), asyncio.CancelledError, ConnectionClosed, OSError)):
            traceback.print_exception(outcome)
    writer.close()
    await web_socket.close()


def passed(name):
    print("passed:", name, flush=True)


def tell(**case):
    """Says to the test which process it should start."""
    print("case:", json.dumps(case), flush=True)


def main(groups):
    """Runs the group that the command line names."""
    asyncio.run(groups[sys.argv[1]](*sys.argv[2:]))

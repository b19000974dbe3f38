"""An independent client for the tunnel's server: paramiko over a WebSocket.

    peer.py client HOST PORT LISTEN USER PASSWORD     drives `postern tunnel-server`; prints one line a check

LISTEN is a port that the server side forwards. The exit status is 0 when every check held.
"""

import hashlib
import json
import os
import socket
import sys
import threading
import time

import paramiko
import websocket
from paramiko import common
from paramiko.message import Message

MIB = 1 << 20
WAIT = 30


class Pipe:
    """A WebSocket as the socket that paramiko wants: message borders mean nothing."""

    def __init__(self, url):
        # The server does not repeat the subprotocol, which the library would take for an error.
        header = ["Sec-WebSocket-Protocol: chisel-v3"]
        self.ws = websocket.create_connection(url, header=header, timeout=WAIT)
        self.left = b""
        self._closed = False

    def settimeout(self, timeout):
        self.ws.settimeout(timeout)

    def send(self, data):
        self.ws.send_binary(bytes(data))
        return len(data)

    def recv(self, count):
        while not self.left:
            try:
                self.left = self.ws.recv()
            except websocket.WebSocketTimeoutException as error:
                raise socket.timeout() from error
            except websocket.WebSocketConnectionClosedException:
                return b""
            if self.left == b"" or isinstance(self.left, str):
                return b""
        data, self.left = self.left[:count], self.left[count:]
        return data

    def close(self):
        self._closed = True
        self.ws.shutdown()


class Peer(paramiko.Transport):
    """paramiko, with the three things that it does not do: the identification, raw requests, channels of any type."""

    def __init__(self, pipe):
        super().__init__(pipe)
        self.local_version = "SSH-chisel-v3-client"
        self.targets = []
        self.opened = threading.Semaphore(0)
        self.waiting = []

    def _check_banner(self):
        self.remote_version = self.packetizer.readline(self.banner_timeout)
        assert self.remote_version.startswith("SSH-"), self.remote_version

    def _parse_channel_open(self, m):
        kind, number, window, size = m.get_text(), m.get_int(), m.get_int(), m.get_int()
        assert kind == "chisel", kind
        self.targets.append(m.get_remainder())
        own = self._next_channel()
        channel = paramiko.Channel(own)
        self._channels.put(own, channel)
        with self.lock:
            self.channels_seen[own] = True
        channel._set_transport(self)
        channel._set_window(self.default_window_size, self.default_max_packet_size)
        channel._set_remote_channel(number, window, size)
        reply = Message()
        reply.add_byte(common.cMSG_CHANNEL_OPEN_SUCCESS)
        for value in (number, own, channel.in_window_size, channel.in_max_packet_size):
            reply.add_int(value)
        self._send_message(reply)
        self.waiting.append(channel)
        self.opened.release()

    def next_channel(self):
        assert self.opened.acquire(timeout=WAIT), "no channel was opened"
        return self.waiting.pop(0)

    def ask(self, kind, data=b""):
        """A global request: whether it succeeded, and its data."""
        self.completion_event = threading.Event()
        self.global_response = None
        request = Message()
        request.add_byte(common.cMSG_GLOBAL_REQUEST)
        request.add_string(kind)
        request.add_boolean(True)
        request.add_bytes(data)
        self._send_user_message(request)
        assert self.completion_event.wait(WAIT), f"no answer to {kind}"
        answer = self.global_response
        return (False, b"") if answer is None else (True, answer.get_remainder())


def remote(listen, port="9"):
    return {
        "LocalHost": "127.0.0.1", "LocalPort": str(listen), "LocalProto": "tcp",
        "RemoteHost": "127.0.0.1", "RemotePort": port, "RemoteProto": "tcp",
        "Socks": False, "Reverse": True, "Stdio": False,
    }


def config(listen):
    return json.dumps({"Version": "1.11.0", "Remotes": [remote(listen)]}).encode()


def passed(what):
    print("passed:", what, flush=True)


def connect(url, cipher=None, key_type=None):
    peer = Peer(Pipe(url))
    options = peer.get_security_options()
    if cipher:
        options.ciphers = (cipher,)
    if key_type:
        options.key_types = (key_type,)
    peer.start_client(timeout=WAIT)
    return peer


def transfer(peer, listen, rekey):
    """Bytes both ways at once through one stream, which the peer echoes; hashed."""
    visitor = socket.create_connection(("127.0.0.1", listen))
    visitor.settimeout(WAIT)
    channel = peer.next_channel()

    def echo():
        while data := channel.recv(1 << 16):
            channel.sendall(data)
        channel.shutdown_write()

    data = os.urandom(8 * MIB)
    threading.Thread(target=echo, daemon=True).start()

    def send():
        visitor.sendall(data)
        visitor.shutdown(socket.SHUT_WR)

    threading.Thread(target=send, daemon=True).start()
    got, digest = 0, hashlib.sha256()
    while piece := visitor.recv(1 << 16):
        digest.update(piece)
        got += len(piece)
        if rekey and got > MIB:
            peer.renegotiate_keys()
            rekey = False
    assert digest.digest() == hashlib.sha256(data).digest(), f"{got} bytes came back, changed or cut"
    visitor.close()
    channel.close()


def client(host, port, listen, user, password):
    url, listen = f"ws://{host}:{port}/", int(listen)
    for cipher in ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com"):
        for key_type in ("ecdsa-sha2-nistp256", "ssh-ed25519"):
            peer = connect(url, cipher, key_type)
            peer.auth_password(user, password)
            assert peer.ask("config", config(listen)) == (True, b"")
            transfer(peer, listen, rekey=True)
            assert set(peer.targets) == {b"127.0.0.1:9"}
            peer.close()
            passed(f"{cipher} with {key_type}: login, configuration, 8 MiB both ways, re-key in the middle, half-close")
    peer = connect(url)
    try:
        peer.auth_password(user, password + "x")
        raise AssertionError("a wrong password was taken")
    except paramiko.AuthenticationException:
        passed("a wrong password is refused")
    peer.auth_password(user, password)
    passed("and the right one taken afterwards")
    assert peer.ask("config", config(1 << 16))[0] is False
    passed("a configuration that cannot be is refused")
    peer.close()
    peer = connect(url)
    peer.auth_password(user, password)
    assert peer.ask("config", config(listen)) == (True, b"")
    for _ in range(50):
        assert peer.ask("ping") == (True, b"pong")
    passed("pings are answered")
    assert peer.ask("keepalive@example.org")[0] is False
    passed("unknown requests are refused")
    try:
        peer.open_channel("session", timeout=WAIT)
        raise AssertionError("the server took a channel")
    except paramiko.ChannelException as error:
        assert error.code == 1, error
        passed("channels from the client are refused: administratively prohibited")
    peer.close()


if __name__ == "__main__":
    if sys.argv[1] == "client":
        client(*sys.argv[2:])
    else:
        sys.exit("unknown role")

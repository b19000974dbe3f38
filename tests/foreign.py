#!/usr/bin/env python3
"""Runs a foreign executable, `postern start` alone, then beside one of this machine: a site through `postern relay`, each at either end, with bodies of
--mib MiB in both directions, a range of the last bytes, and the counters; then `tunnel-client` and `tunnel-server`, also with
chisel at --chisel, and the cipher that the foreign client chooses.
Usage: tests/foreign.py NATIVE 'FOREIGN [ARGUMENT…]' [--cipher NAME] [--mib N] [--chisel FILE] [--only start|site|both|tunnel] [--from YEAR]"""

import argparse
import http.server
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import threading
import time

# The bytes of every body, over and over; a prime length, so that no buffer's end is always the same byte.
BLOCK = bytes(i * 131 + (i >> 8) & 0xff for i in range(1_048_573))
WITHIN = 120


def body(start, end):
    while start < end:
        at = start % len(BLOCK)
        piece = BLOCK[at:at + end - start]
        start += len(piece)
        yield piece


class Follower:
    """Compares what arrives with the bytes of a body."""

    def __init__(self, start=0):
        self.at = start

    def take(self, piece):
        for want in body(self.at, self.at + len(piece)):
            assert piece[:len(want)] == want, f'a wrong byte after {self.at}'
            piece = piece[len(want):]
            self.at += len(want)


class Site(http.server.BaseHTTPRequestHandler):
    """GET /N is N bytes, or a range of them; POST tells how many came."""

    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        size = int(self.path[1:])
        asked = re.fullmatch(r'bytes=(\d+)-', self.headers.get('Range', ''))
        start = int(asked[1]) if asked else 0
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header('Content-Range', f'bytes {start}-{size - 1}/{size}')
        self.send_header('Content-Length', str(size - start))
        self.end_headers()
        for piece in body(start, size):
            self.wfile.write(piece)

    def do_POST(self):
        left, came = int(self.headers['Content-Length']), Follower()
        while left:
            piece = self.rfile.read(min(left, 1 << 18))
            came.take(piece)
            left -= len(piece)
        said = str(came.at).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


class Running:
    """A process, with its output in files."""

    def __init__(self, command, arguments, **variables):
        self.home = tempfile.TemporaryDirectory()
        self.said = tempfile.NamedTemporaryFile()
        variables = {**os.environ, 'POSTERN_HOME': self.home.name, **variables}
        self.process = subprocess.Popen(
            [*shlex.split(command), *arguments], env=variables, stdout=self.said, stderr=subprocess.STDOUT,
            start_new_session=True)

    def text(self):
        with open(self.said.name, encoding='utf-8', errors='replace') as file:
            return file.read()

    def says(self, pattern):
        until = time.monotonic() + WITHIN
        while not (found := re.search(pattern, self.text(), re.M)):
            assert time.monotonic() < until and self.process.poll() is None, f'{pattern} is missing: {self.text()}'
            time.sleep(0.05)
        return found[1] if found.groups() else found[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # To what runs it and to itself.
        os.killpg(self.process.pid, signal.SIGTERM)
        until = time.monotonic() + 30
        while self.is_there() and time.monotonic() < until:
            time.sleep(0.05)
        has_ended = not self.is_there()
        if not has_ended:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.said.close()
        self.home.cleanup()
        assert has_ended, 'it does not end'

    def is_there(self):
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True


def ask(port, host, line, headers=(), size=0):
    """Sends a request with a body of so many bytes; answers the socket and the head of the answer."""
    stream = socket.create_connection(('127.0.0.1', port))
    stream.settimeout(WITHIN)
    lines = [f'{line} HTTP/1.1', f'Host: {host}', 'Connection: close', f'Content-Length: {size}', *headers]
    stream.sendall('\r\n'.join([*lines, '', '']).encode())
    for piece in body(0, size):
        stream.sendall(piece)
    file = stream.makefile('rb')
    head = b''
    while not head.endswith(b'\r\n\r\n'):
        more = file.readline()
        assert more, f'no answer to {line}: {head}'
        head += more
    return file, head.decode()


def transfer(port, host, size):
    """A download, the last bytes of one, and an upload."""
    for start, line in ((0, '200 OK'), (size - 1000, '206 Partial Content')):
        headers = [f'Range: bytes={start}-'] if start else []
        file, head = ask(port, host, f'GET /{size}', headers)
        assert line in head and f'\r\nContent-Length: {size - start}\r\n' in head, head
        came = Follower(start)
        while piece := file.read(1 << 18):
            came.take(piece)
        assert came.at == size, f'{came.at} bytes of {size} came'
    file, head = ask(port, host, 'POST /', size=size)
    assert '200 OK' in head and file.read() == str(size).encode(), head


def share(relay, connector, site, size):
    """A share from one to the other. The counters of the relay include the heads of three requests."""
    with Running(relay, ['relay', '--listen=127.0.0.1:0', '--tunnel-listen=127.0.0.1:0']) as server:
        url = server.says(r'^Relay: (http://\S+?)/$')
        port = int(url.rsplit(':', 1)[1])
        with Running(connector, ['http', str(site), '--server', url, '--name=foreign']) as client:
            host = client.says(r'^http://(\S+?)/$')
            transfer(port, host, size)
            counted = figures(relay, server)
            for name, most in (('bytes_in', size + 5000), ('bytes_out', size + 6000)):
                assert size < counted[name] < most, counted


def figures(relay, server):
    """The counters of the one site, once they have all three requests."""
    until = time.monotonic() + WITHIN
    while True:
        told = subprocess.run([*shlex.split(relay), 'relay', 'list', '--json'], check=True, stdout=subprocess.PIPE,
                              env={**os.environ, 'POSTERN_HOME': server.home.name})
        found = json.loads(told.stdout)[0]['figures']
        if found['requests'] == 3:
            return found
        assert time.monotonic() < until, found
        time.sleep(0.1)


def start(foreign, since, site, size):
    """The manager with its own relay, a site that is shared until a year in which 32 bits of seconds are over, and its counters.
    The clock is to show `since`, a year, or a later one."""
    with Running(foreign, ['start', '--no-open', '0']) as manager:
        manager.says('Management page')

        def told(*arguments):
            run = subprocess.run([*shlex.split(foreign), *arguments], check=True, stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, 'POSTERN_HOME': manager.home.name})
            return run.stdout

        told('app', 'add', 'http', str(site), '--name=foreign', '--until=2090-01-31T18:00:00Z')
        host, port = re.match(r'http://([^/]*:(\d+))/', told('app', 'connect', 'foreign')).groups()
        transfer(int(port), host, size)
        until = time.monotonic() + WITHIN
        while True:
            app = json.loads(told('status', '--json'))['applications'][0]
            counted = app['connection']
            if counted['visitors']['requests'] == 3:
                break
            assert time.monotonic() < until, app
            time.sleep(0.1)
        assert int(app['created_at'][:4]) >= since, app
        assert app['expires'] == counted['exposed']['expires'] == '2090-01-31T18:00:00Z', app
        assert size < counted['bytes_in'] < 1.1 * size + 10000 and size < counted['bytes_out'] < 1.1 * size + 10000, counted


def free_port():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return free.getsockname()[1]


def tunnel(server, client, site, size, cipher=None):
    """A tunnel without a relay. A client of ours is to choose `cipher`; `server` and `client` begin with what runs them and
    end in the command."""
    at, visitors = free_port(), free_port()
    is_ours = server.endswith('tunnel-server')
    listen = [f'--listen=127.0.0.1:{at}'] if is_ours else ['--host=127.0.0.1', f'--port={at}', '--reverse']
    with Running(server, [*listen, '--auth=me:secret']) as here:
        here.says('Listening on')
        remote = f'R:127.0.0.1:{visitors}:127.0.0.1:{site}'
        with Running(client, ['-vv' if cipher else '-v', '--auth=me:secret', f'http://127.0.0.1:{at}', remote]) as there:
            there.says(r'Connected \(Latency')
            transfer(visitors, 'localhost', size)
            if cipher:
                found = there.says(r'tunnel ciphers: (\S+) up')
                assert found == cipher, f'{found} was chosen, not {cipher}'


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('native')
    parser.add_argument('foreign')
    parser.add_argument('--cipher')
    parser.add_argument('--mib', type=int, default=16)
    parser.add_argument('--chisel')
    parser.add_argument('--only', default='')
    parser.add_argument('--from', type=int, default=0, dest='since')
    given = parser.parse_args()
    site = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    port, size = site.server_port, given.mib << 20
    native, foreign = given.native, given.foreign
    pairs = [
        ('start', start, foreign, given.since),
        ('site, the relay is foreign', share, foreign, native),
        ('site, the connector is foreign', share, native, foreign),
        ('both ends are foreign', share, foreign, foreign),
        ('tunnel to this machine', tunnel, f'{native} tunnel-server', f'{foreign} tunnel-client', given.cipher),
        ('tunnel from this machine', tunnel, f'{foreign} tunnel-server', f'{native} tunnel-client'),
    ]
    if given.chisel:
        pairs += [
            ('tunnel to chisel', tunnel, f'{given.chisel} server', f'{foreign} tunnel-client', given.cipher),
            ('tunnel from chisel', tunnel, f'{foreign} tunnel-server', f'{given.chisel} client'),
        ]
    for name, run, server, client, *cipher in pairs:
        if not name.startswith(given.only):
            continue
        began = time.monotonic()
        run(server, client, port, size, *cipher)
        print(f'foreign: {name}: passed, {time.monotonic() - began:.0f} s', flush=True)


if __name__ == '__main__':
    main()

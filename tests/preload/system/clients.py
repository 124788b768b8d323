# SPDX-License-Identifier: MIT
"""Clients that move bytes in all ways: small programs that know nothing of streams."""
import errno
import os
import random
import select
import socket
import struct
import threading
import time

from harness import sent_over_tcp
from talk import PATIENCE, connected, heard, is_ready, ping, receive_exactly, say, warm


def random_client(port, carried, rounds=300):
    """Random bytes in random sizes, while it receives what comes back."""
    connection = connected(port)
    warm(connection, carried == "1")
    before = sent_over_tcp(connection)
    generator = random.Random(7)
    for _ in range(int(rounds)):
        message = generator.randbytes(generator.choice([1, 7, 100, 1000, 20000, 100000]))
        sender = threading.Thread(target=connection.sendall, args=(message,))
        sender.start()
        assert receive_exactly(connection, len(message)) == message
        sender.join(PATIENCE)
    assert carried == "0" or sent_over_tcp(connection) == before
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(1) == b""


def steady_client(port):
    """Goes on over the stream that it has, after it was told to."""
    connection = connected(port)
    warm(connection, True)
    say("carried")
    heard()
    before = sent_over_tcp(connection)
    ping(connection, 500)
    assert sent_over_tcp(connection) == before
    say("done")


def crowd_client(port, count):
    """Many connections at a time, of which each has bytes on its way, through poll."""
    connections = [connected(port) for _ in range(int(count))]
    generator = random.Random(11)
    for _ in range(30):
        messages = [generator.randbytes(generator.choice([1, 30, 3000])) for _ in connections]
        for connection, message in zip(connections, messages):
            connection.sendall(message)
        missing = {c.fileno(): (c, m) for c, m in zip(connections, messages)}
        poller = select.poll()
        for connection in connections:
            poller.register(connection, select.POLLIN)
        while missing:
            ready = poller.poll(PATIENCE * 1000)
            assert ready, "nothing came"
            for fd, _ in ready:
                connection, message = missing[fd]
                part = connection.recv(1000)
                assert part and message.startswith(part)
                missing[fd] = connection, message[len(part):]
                if len(part) == len(message):
                    del missing[fd]
                    poller.unregister(fd)


def two_threads_client(port, carried):
    """One thread sends much more than fits, another one receives: both sleep at times."""
    connection = connected(port)
    warm(connection, carried == "1")
    message = random.Random(3).randbytes(8 << 20)
    sender = threading.Thread(target=connection.sendall, args=(message,))
    sender.start()
    assert receive_exactly(connection, len(message)) == message
    sender.join(PATIENCE)


def non_blocking_client(port, carried):
    """connect answers EINPROGRESS or is done; SO_ERROR says how it went."""
    connection = socket.socket()
    connection.setblocking(False)
    assert connection.connect_ex(("127.0.0.1", int(port))) in (0, errno.EINPROGRESS)
    assert is_ready(connection, select.POLLOUT)
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    connection.settimeout(PATIENCE)
    warm(connection, carried == "1")
    # Fills what there is, until nothing goes.
    connection.setblocking(False)
    refused = socket.socket()
    refused.setblocking(False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        name = free.getsockname()
    code = refused.connect_ex(name)
    if code == errno.EINPROGRESS:
        assert is_ready(refused, select.POLLOUT)
        code = refused.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    assert code == errno.ECONNREFUSED


def many_client(port, count):
    """Connects and closes; no descriptor is left behind."""
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    before = None
    for number in range(int(count)):
        with connected(port) as connection:
            # Some become streams, some are closed while they do, and some never talk.
            ping(connection, (0, 1, 2, 5)[number % 4] if number % 100 else 40)
        if number == 1000:
            before = descriptors()
    deadline = time.monotonic() + PATIENCE
    while descriptors() > before + 8:
        assert time.monotonic() < deadline, f"{before} descriptors, then {descriptors()}"
        time.sleep(0.05)


def fills_client(port, carried):
    """A sender that nobody reads from is told so, and then waits; nothing is lost."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.sendall(b"done")
    connection.setblocking(False)
    sent = 0
    full = False
    while not full:
        try:
            sent += connection.send(b"f" * 1000)
        except BlockingIOError:
            # TCP's buffers may grow meanwhile.
            full = not is_ready(connection, select.POLLOUT, 0.1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 50000))
    connection.setblocking(True)
    try:
        # TCP may take some more than it had said.
        while True:
            sent += connection.send(b"f" * 1000)
    except BlockingIOError:
        pass
    say("full")
    assert is_ready(connection, select.POLLOUT)
    print(sent)


def memcached_client(port, carried):
    """Sets and gets over several connections."""
    connections = [connected(port) for _ in range(8)]
    generator = random.Random(5)
    before = sum(map(sent_over_tcp, connections))
    total = 0
    for number in range(2000):
        value = generator.randbytes(generator.choice([1, 100, 4000]))
        connection = connections[number % 8]
        connection.sendall(b"set k 0 0 %d\r\n%s\r\nget k\r\n" % (len(value), value))
        expected = b"STORED\r\nVALUE k 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
        assert receive_exactly(connection, len(expected)) == expected
        total += len(value)
    assert carried == "0" or sum(map(sent_over_tcp, connections)) - before < total / 2

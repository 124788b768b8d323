# SPDX-License-Identifier: MIT
"""What roles have in common: connections, and words to the test."""
import os
import select
import socket
import sys
import time

from harness import sent_over_tcp

PATIENCE = 20
#: Where servers are.
HOST = os.environ.get("CARIAMA_TEST_HOST", "127.0.0.1")


def say(word):
    print(word, flush=True)


def heard():
    return sys.stdin.readline().strip()


def receive_exactly(connection, count):
    parts = []
    while count:
        part = connection.recv(count)
        assert part, "the connection ended early"
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def listening(port):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((HOST, port))
    server.listen(512)
    say(server.getsockname()[1])
    return server


def connected(port):
    connection = socket.create_connection((HOST, int(port)), PATIENCE)
    connection.settimeout(PATIENCE)
    return connection


def ping(connection, rounds=200):
    """Talks until the stream is there, when there will be one."""
    for _ in range(rounds):
        connection.sendall(b"ping")
        assert receive_exactly(connection, 4) == b"ping"


def warm(connection, carried):
    """Talks until bytes no longer go over TCP; how many go then must not change."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        before = sent_over_tcp(connection)
        ping(connection, 20)
        if sent_over_tcp(connection) == before:
            assert carried, "went over a stream"
            return
        if not carried and before > 2000:
            return
    raise AssertionError("never went over a stream")


def is_ready(connection, event, seconds=PATIENCE):
    poller = select.poll()
    poller.register(connection, event)
    return bool(poller.poll(seconds * 1000))

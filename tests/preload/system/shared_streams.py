# SPDX-License-Identifier: MIT
"""Programs that fork when their connection is a stream, and use it in both processes."""
import os
import random
import select
import signal
import socket
import struct
import sys
import time

from sharing import END, PATTERN, Turns, child, let_arrive
from talk import PATIENCE, connected, listening, ping, receive_exactly, warm


def waits(way):
    """A function that sleeps until a connection is readable, and one that reads."""
    def by_poll(connection):
        poller = select.poll()
        poller.register(connection, select.POLLIN)
        assert poller.poll(PATIENCE * 1000), "nothing came"

    def by_select(connection):
        assert select.select([connection], [], [], PATIENCE)[0], "nothing came"

    sets = {}

    def by_epoll(connection):
        if connection not in sets:
            sets[connection] = select.epoll()
            flags = select.EPOLLET if way == "edge" else 0
            sets[connection].register(connection, select.EPOLLIN | flags)
        assert sets[connection].poll(PATIENCE), "nothing came"

    return {"poll": by_poll, "select": by_select, "level": by_epoll, "edge": by_epoll}.get(way)


def receive(connection, count, way):
    """So many bytes; what has polled does not wait in a receive."""
    wait = waits(way)
    if wait is None:
        return receive_exactly(connection, count)
    connection.setblocking(False)
    parts = []
    while count:
        try:
            part = connection.recv(count)
            assert part, "the connection ended early"
            parts.append(part)
            count -= len(part)
        except BlockingIOError:
            wait(connection)
    connection.settimeout(PATIENCE)
    return b"".join(parts)


def fork_unread_client(port, carried, way, first):
    """What was unread at the fork is read by the child and the parent, in turns; both go on."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.sendall(PATTERN[:5000])
    let_arrive(connection, 5000)
    turns = Turns()

    def rounds(mine):
        for i in range(6):
            if i % 2 == mine:
                if i:
                    turns.wait(mine)
                begin, end = [0, 700, 1500, 1501, 3000, 4000, 5000][i:i + 2]
                assert receive(connection, end - begin, way) == PATTERN[begin:end]
                connection.sendall(PATTERN[i:i + 4])
                turns.give(1 - mine)
        # All has been read but what the two have sent.
        if mine == 0:
            turns.wait(0)
            assert receive(connection, 24, way) == b"".join(PATTERN[i:i + 4] for i in range(6))
            turns.give(1)
        else:
            turns.wait(1)
        for i in range(20):
            if i % 2 == mine:
                ping(connection, 10)
                turns.give(1 - mine)
            else:
                turns.wait(mine)

    if first == "child":
        with child(lambda: rounds(0)):
            rounds(1)
    else:
        with child(lambda: rounds(1)):
            rounds(0)


def fork_polls_client(port, carried, way):
    """The child waits before anything comes; nothing but bytes wakes it."""
    connection = connected(port)
    warm(connection, carried == "1")
    turns = Turns()

    def work():
        turns.give(1)
        if way != "receive":
            waits(way)(connection)
            connection.setblocking(False)
            assert connection.recv(4, socket.MSG_PEEK) == b"late"
            connection.settimeout(PATIENCE)
        assert receive_exactly(connection, 4) == b"late"
        ping(connection, 20)

    with child(work):
        turns.wait(1)
        time.sleep(0.05)
        connection.sendall(b"late")


def fork_split_client(port, carried):
    """The child reads what the parent writes, as rsync's receiver and generator."""
    connection = connected(port)
    warm(connection, carried == "1")
    size = len(PATTERN)

    def reads():
        assert receive_exactly(connection, size) == PATTERN

    with child(reads):
        generator = random.Random(5)
        sent = 0
        while sent < size:
            piece = generator.choice([1, 100, 5000, 100000])
            connection.sendall(PATTERN[sent:sent + piece])
            sent += piece


def fork_reads_client(port, carried):
    """Parent and child read in turns from a peer that only sends."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.sendall(b"done")
    turns = Turns()
    generator = random.Random(9)

    def read_in_turns(mine):
        while (word := turns.wait(mine)) != END:
            place = struct.unpack("<q", word)[0]
            part = connection.recv(generator.choice([1, 3000, 200000]))
            assert part == PATTERN[place:place + len(part)], "not the next bytes"
            place += len(part)
            if place == len(PATTERN):
                return turns.give(1 - mine, END)
            turns.give(1 - mine, struct.pack("<q", place))
        return None

    place = len(receive_exactly(connection, 100000))
    with child(lambda: read_in_turns(1)):
        turns.give(0, struct.pack("<q", place))
        read_in_turns(0)
    assert not connection.recv(1)


def fork_writes_client(port, carried):
    """Both send in turns to a peer that only receives."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.sendall(b"done")
    turns = Turns()
    pieces = list(range(0, len(PATTERN), 70000))
    connection.sendall(PATTERN[:70000])

    def writes(mine):
        for i in range(1, len(pieces)):
            if i % 2 == mine:
                turns.wait(mine)
                connection.sendall(PATTERN[pieces[i]:pieces[i] + 70000])
                turns.give(1 - mine)

    with child(lambda: writes(1)):
        turns.give(1)
        writes(0)
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(1) == b"y"


def only_sends():
    connection = talked_with()
    connection.sendall(PATTERN)
    connection.close()


def only_receives():
    connection = talked_with()
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    connection.sendall(b"y" if b"".join(parts) == PATTERN else b"n")
    connection.close()


def talked_with():
    """A connection that has been echoed until the client said so."""
    connection, _ = listening(0).accept()
    while (part := receive_exactly(connection, 4)) != b"done":
        connection.sendall(part)
    return connection


def echo_then_forks():
    """Forks when it is told, and both of its processes serve the same connection."""
    server = listening(0)
    while True:
        connection, _ = server.accept()
        while part := connection.recv(65536):
            if part == b"fork":
                os.fork()
                part = b"done"
            connection.sendall(part)
        connection.close()


def echo_dozes():
    """Does nothing at all for some time when it is told."""
    server = listening(0)
    while True:
        connection, _ = server.accept()
        while part := connection.recv(65536):
            if part == b"doze":
                time.sleep(1)
            else:
                connection.sendall(part)
        connection.close()


def both_fork_client(port, carried):
    """Both sides fork at the same time."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.sendall(b"fork")
    with child(lambda: receive_exactly(connection, 4) == b"done" or sys.exit(1)):
        pass
    receive_exactly(connection, 4)
    ping(connection, 200)


def echo_then_execs():
    """Becomes another program, as inetd's children do, when it has served for a while."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = listening(0)
    while True:
        connection, _ = server.accept()
        while part := connection.recv(65536):
            connection.sendall(part)
            if part in (b"exec", b"late"):
                if os.fork() == 0:
                    time.sleep(0.3 if part == b"late" else 0)
                    for fd in range(2):
                        os.dup2(connection.fileno(), fd)
                    os.execv("/bin/cat", ["cat"])
                time.sleep(0.1 if part == b"late" else 0)
                break
        connection.close()


def late_inetd_client(port, carried):
    """What comes before the server has closed its stream may be lost with it, and is told."""
    generator = random.Random(5)
    resets = 0
    for i in range(40):
        with connected(port) as connection:
            warm(connection, carried == "1")
            connection.sendall(b"exec")
            receive_exactly(connection, 4)
            # Every fourth time long enough for the server.
            pause = 0.1 if i % 4 == 0 else generator.uniform(0, 0.02)
            time.sleep(pause)
            try:
                for size in (4, 5, 700, 9000, 8):
                    message = generator.randbytes(size)
                    connection.sendall(message)
                    echo = receive_exactly(connection, size)
                    assert echo == message, f"{i}: {echo[:16]} came for {message[:16]}"
            except (ConnectionResetError, BrokenPipeError):
                assert pause < 0.1, "there was time enough"
                resets += 1
    assert carried == "1" or resets == 0


def unread_inetd_client(port, carried):
    """What the server had not read when it closed its stream cannot come to the next program, which
    is told at once, and not as an end."""
    with connected(port) as connection:
        warm(connection, carried == "1")
        connection.sendall(b"late")
        receive_exactly(connection, 4)
        connection.sendall(b"lost")
        connection.settimeout(1.5)
        try:
            assert receive_exactly(connection, 4) == b"lost" and carried == "0"
        except ConnectionResetError:
            assert carried == "1"

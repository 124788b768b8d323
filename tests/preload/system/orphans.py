# SPDX-License-Identifier: MIT
"""Programs of which a process ends, or is killed, while others have its connection."""
import contextlib
import errno
import os
import select
import signal
import socket
import time

from sharing import PATTERN, Turns, child, let_arrive
from talk import PATIENCE, connected, heard, ping, receive_exactly, say, warm


def orphan_client(port, carried, state, way):
    """The process that has the stream ends in a state; its child goes on, or is told at once."""
    here, there = os.pipe()
    parent = os.fork()
    if parent == 0:
        connection = connected(port)
        warm(connection, carried == "1")
        if state == "unread":
            connection.sendall(PATTERN[:3000])
            let_arrive(connection, 3000)
        if state in ("dozes", "asked"):
            connection.sendall(b"doze")
            time.sleep(0.1)
        turns = Turns()
        if os.fork() == 0:
            turns.wait(1)
            if state == "used":
                ping(connection, 20)
            if state == "asked":
                connection.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    connection.recv(1)
                connection.settimeout(PATIENCE)
            turns.give(0)
            dying = int(turns.wait(1))
            while way != "closes" and os.getppid() == dying:
                time.sleep(0.001)
            time.sleep(0.1 if way == "closes" else 0)
            os.write(there, outcome(connection, state))
            os._exit(0)
        turns.give(1)
        turns.wait(0)
        turns.give(1, str(os.getpid()).encode())
        if way == "closes":
            connection.close()
            os.waitpid(-1, 0)
        if way == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    os.close(there)
    os.waitpid(parent, 0)
    assert select.select([here], [], [], PATIENCE)[0], "hangs"
    seen = os.read(here, 100).decode()
    assert seen == "ok", f"{state} {way}: {seen}"


def outcome(connection, state):
    try:
        if state == "unread" and receive_exactly(connection, 3000) != PATTERN[:3000]:
            return b"other bytes"
        ping(connection, 100)
        return b"ok"
    except OSError as error:
        return errno.errorcode.get(error.errno, "timeout").encode()
    except AssertionError as error:
        return str(error).encode()


def child_dies_client(port, carried):
    """A child that uses the connection is killed at any moment; the parent goes on."""
    for pause in (0, 0.0003, 0.001, 0.003, 0.01, 0.03):
        connection = connected(port)
        warm(connection, carried == "1")
        process = os.fork()
        if process == 0:
            while True:
                connection.sendall(b"c" * 4)
                connection.recv(4)
        time.sleep(pause)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        connection.sendall(b"parent")
        received = b""
        while not received.endswith(b"parent"):
            part = connection.recv(100)
            assert part, "ended"
            received += part
        assert not received.removesuffix(b"parent").strip(b"c")
        connection.shutdown(socket.SHUT_WR)
        assert not connection.recv(1)


def stopped_owner_client(port, carried):
    """The process that has the stream is stopped while its child asks, and wakes up."""
    connection = connected(port)
    warm(connection, carried == "1")
    parent = os.getpid()
    process = os.fork()
    if process == 0:
        os.kill(parent, signal.SIGSTOP)
        connection.setblocking(False)
        try:
            connection.sendall(b"wait")
            sent = True
        except BlockingIOError:
            sent = False
        assert sent or carried == "1"
        os.kill(parent, signal.SIGCONT)
        connection.settimeout(PATIENCE)
        if not sent:
            connection.sendall(b"wait")
        assert receive_exactly(connection, 4) == b"wait"
        ping(connection, 50)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0
    ping(connection, 50)


def widowed_client(port, carried, state):
    """The peer is killed, or stopped and then killed, after the fork: both processes learn it."""
    connection = connected(port)
    warm(connection, carried == "1")
    turns = Turns()

    def learns():
        connection.settimeout(PATIENCE)
        try:
            while connection.recv(4096):
                pass
        except ConnectionResetError:
            pass

    def work():
        if state == "used":
            ping(connection, 20)
        say("ready")
        turns.give(0)
        if state == "asks":
            with contextlib.suppress(BlockingIOError):
                connection.setblocking(False)
                connection.recv(4)
        learns()

    with child(work):
        turns.wait(0)
        heard()
        learns()


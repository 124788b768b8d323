# SPDX-License-Identifier: MIT
"""Clients that look at what calls answer, and at the end of a peer."""
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import termios
import threading
import time

from talk import PATIENCE, connected, heard, is_ready, ping, receive_exactly, say, warm


def semantics_client(port, carried):
    """What receives and sends do with flags, time limits, and the other side's half."""
    connection = connected(port)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    warm(connection, carried == "1")
    addresses = connection.getsockname(), connection.getpeername()
    connection.settimeout(None)
    # MSG_DONTWAIT, MSG_PEEK, FIONREAD, MSG_WAITALL, MSG_TRUNC.
    try:
        connection.recv(1, socket.MSG_DONTWAIT)
        raise AssertionError("something came")
    except BlockingIOError:
        pass
    connection.sendall(b"0123456789")
    assert is_ready(connection, select.POLLIN)
    while connection.recv(100, socket.MSG_PEEK) != b"0123456789":
        pass
    waiting = struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, b"\0" * 4))[0]
    assert waiting == 10
    sender = threading.Timer(0.05, connection.sendall, (b"abcdefghij",))
    sender.start()
    assert connection.recv(20, socket.MSG_WAITALL) == b"0123456789abcdefghij"
    sender.join()
    # Several buffers.
    assert connection.sendmsg([b"ab", b"", b"cde"]) == 5
    first, second = bytearray(2), bytearray(10)
    assert is_ready(connection, select.POLLIN)
    assert connection.recv(5, socket.MSG_PEEK | socket.MSG_WAITALL)
    count, control, flags, _ = connection.recvmsg_into([first, second])
    while count < 5:
        count += connection.recv_into(memoryview(second)[count - 2:])
    assert (bytes(first), bytes(second[:3]), control) == (b"ab", b"cde", [])
    # SO_RCVTIMEO of the socket itself, and a time limit by poll.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50000))
    begun = time.monotonic()
    try:
        connection.recv(1)
        raise AssertionError("something came")
    except BlockingIOError:
        assert time.monotonic() - begun > 0.045
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 0))
    assert select.select([connection], [connection], [], 10) == ([], [connection], [])
    assert not is_ready(connection, select.POLLIN, 0.01)
    # A copy means the same connection; the original may be closed.
    copy = os.dup(connection.fileno())
    os.write(copy, b"copy")
    assert receive_exactly(connection, 4) == b"copy"
    os.close(copy)
    ping(connection, 1)
    assert addresses == (connection.getsockname(), connection.getpeername())
    # The other side's half goes on after ours has ended.
    connection.sendall(b"last words")
    connection.shutdown(socket.SHUT_WR)
    try:
        connection.send(b"more")
        raise AssertionError("sent after shutdown")
    except BrokenPipeError:
        pass
    assert receive_exactly(connection, 10) == b"last words"
    assert connection.recv(1) == b""
    assert connection.recv(1) == b""


def sends_first_client(port, carried):
    """Sends all before it receives anything, against a peer that waits in a send as well."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.settimeout(None)
    for size in (100, 20_000, 700_000):
        message = os.urandom(size)
        connection.sendall(message)
        assert is_ready(connection, select.POLLIN)
        assert struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, b"\0" * 4))[0] > 0
        while (there := connection.recv(100, socket.MSG_PEEK)) != message[:100]:
            assert there == message[:len(there)]
        first, second = bytearray(30), bytearray(40)
        count = connection.recvmsg_into([first, second])[0]
        start = (first + second)[:count]
        assert start + receive_exactly(connection, size - count) == message
    ping(connection, 20)
    # Bytes that are left unread make a reset, wherever they wait.
    connection.sendall(os.urandom(200_000))


def signals_client(port, carried):
    """Handlers run while a receive waits; with SA_RESTART it goes on."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.settimeout(None)
    caught = []
    signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
    for restart in (False, True):
        signal.siginterrupt(signal.SIGALRM, not restart)
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        sender = threading.Timer(0.1, connection.sendall, (b"x",))
        sender.start()
        assert connection.recv(1) == b"x"
        sender.join()
    assert len(caught) == 2


def signaled_client(port, carried):
    """Who waits for SIGIO gets it: such a connection stays TCP, one with a stream says so."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})
    tell, on = fcntl.F_SETFL, struct.pack("i", 1)
    ways = [lambda at: fcntl.fcntl(at, tell, fcntl.fcntl(at, fcntl.F_GETFL) | os.O_ASYNC),
            lambda at: fcntl.ioctl(at, termios.FIOASYNC, on)]
    for way in ways:
        for early in (True, False):
            connection = socket.socket()
            connection.settimeout(PATIENCE)
            fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
            if early:
                way(connection)
            connection.connect(("127.0.0.1", int(port)))
            if not early:
                way(connection)
            for _ in range(50):
                ping(connection, 1)
            while signal.sigtimedwait({signal.SIGIO}, 0.05) is not None:
                pass
            connection.sendall(b"x")
            assert signal.sigtimedwait({signal.SIGIO}, PATIENCE) is not None, "no signal"
            assert connection.recv(1) == b"x"
    connection = connected(port)
    warm(connection, carried == "1")
    for way in ways:
        try:
            way(connection)
            assert carried == "0"
        except OSError as refused:
            assert carried == "1" and refused.errno == errno.EOPNOTSUPP


def shutdown_wakes_client(port, carried):
    """A thread that waits in a receive is woken by a shutdown of another one."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.settimeout(None)
    got = []
    reader = threading.Thread(target=lambda: got.append(connection.recv(1)))
    reader.start()
    time.sleep(0.05)
    connection.shutdown(socket.SHUT_RDWR)
    reader.join(PATIENCE)
    assert got == [b""]


def look_until_ready(connection):
    """Without any call that sleeps."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
            return
        except BlockingIOError:
            pass
    raise AssertionError("looked in vain")


def bereaved(port, carried, state):
    """What the peer of `doomed` sees; printed, to be compared with TCP's."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.sendall(b"done")
    if state in ("unread", "close_unread"):
        connection.sendall(b"u" * 2000)
    say("ready")
    assert heard() == "killed"
    if state == "looks":
        look_until_ready(connection)
    assert is_ready(connection, select.POLLIN)
    received, end = 0, None
    while end is None:
        try:
            part = connection.recv(700)
            received += len(part)
            end = None if part else "end"
        except OSError as error:
            end = errno.errorcode[error.errno]
    # A first send may be taken before the reset comes back.
    sent = None
    deadline = time.monotonic() + PATIENCE
    while sent is None and time.monotonic() < deadline:
        try:
            connection.send(b"s")
        except OSError as error:
            sent = errno.errorcode[error.errno]
    print(received, end, "EPIPE" if sent == "ECONNRESET" else sent)

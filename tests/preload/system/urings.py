# SPDX-License-Identifier: MIT
"""Small programs that know nothing of streams, and make an io_uring before or after their sockets."""
import ctypes
import errno
import os
import select
import socket
import threading
import time

from talk import PATIENCE, connected, receive_exactly, warm


def setup_uring(libc):
    return libc.syscall(425, 8, ctypes.create_string_buffer(256))


def has_made_uring(libc):
    if setup_uring(libc) >= 0:
        return True
    print("the kernel has no io_uring:", os.strerror(ctypes.get_errno()))
    return False


def uring_client(port, carried):
    """A process has an io_uring, which moves bytes past the library, or streams."""
    libc = ctypes.CDLL(None, use_errno=True)
    connection = connected(port)
    if carried == "1":
        warm(connection, True)
        assert setup_uring(libc) == -1 and ctypes.get_errno() == errno.EPERM
    elif has_made_uring(libc):
        warm(connection, False)


def is_announced(port):
    with open("/proc/net/unix", encoding="ascii") as names:
        return f"@cariama-preload/{os.geteuid()}/{port}\n" in names.read()


def uring_first(port):
    """What a process with an io_uring does afterwards is the kernel's alone; nobody is told that it
    has the library, nor goes on being told."""
    before = socket.create_server(("127.0.0.1", 0))
    old = socket.create_connection(before.getsockname())
    accepted = before.accept()[0]
    assert is_announced(before.getsockname()[1])
    if not has_made_uring(ctypes.CDLL(None, use_errno=True)):
        return
    assert not is_announced(before.getsockname()[1])
    listener = socket.create_server(("127.0.0.1", 0))
    assert not is_announced(listener.getsockname()[1])
    pairs = [(old, accepted)]
    for server in (before, listener):
        far = socket.create_connection(server.getsockname())
        pairs.append((far, server.accept()[0]))
    for far, near in pairs:
        for i in range(100):
            far.sendall(b"%d" % i)
            assert near.recv(10) == b"%d" % i
    warm(connected(port), False)


class Event(ctypes.Structure):
    """struct epoll_event of x86-64."""
    _pack_ = 1
    _fields_ = [("events", ctypes.c_uint32), ("data", ctypes.c_uint64)]


class Instance:
    """An epoll instance that knows its descriptors by numbers which are none of theirs."""
    ADD, DEL, MOD = 1, 2, 3

    def __init__(self, libc):
        self.libc = libc
        self.fd = libc.epoll_create1(0)

    def control(self, operation, fd, events, data):
        event = Event(events, data)
        return self.libc.epoll_ctl(self.fd, operation, fd, ctypes.byref(event))

    def wait(self, milliseconds):
        event = Event()
        if self.libc.epoll_wait(self.fd, ctypes.byref(event), 1, milliseconds) != 1:
            return None
        return event.data


def uring_between(port):
    """Epoll instances from before, and who sleeps in one, get what they asked for afterwards."""
    if os.uname().machine != "x86_64":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    connection = connected(port)
    here, there = os.pipe()
    plain, slept, once = (Instance(libc) for _ in range(3))
    for instance in (plain, slept):
        instance.control(Instance.ADD, connection.fileno(), select.EPOLLIN, 11 << 40)
    plain.control(Instance.ADD, here, select.EPOLLIN, 12 << 40)
    once.control(Instance.ADD, here, select.EPOLLIN | select.EPOLLONESHOT, 13 << 40)
    os.write(there, b"x")
    assert once.wait(1000) == 13 << 40
    assert plain.wait(1000) == 12 << 40
    os.read(here, 1)
    seen, received = [], []
    thread = threading.Thread(target=lambda: seen.append(slept.wait(PATIENCE * 1000)))
    # One waits in the call that receives, the other one in poll before it.
    others = [connected(port), connected(port)]
    others[0].settimeout(None)
    receivers = [threading.Thread(target=lambda each=each: received.append(each.recv(4)))
                 for each in others]
    for each in (thread, *receivers):
        each.start()
    time.sleep(0.1)
    made = has_made_uring(libc)
    for each, receiver in zip(others, receivers):
        each.sendall(b"late")
        receiver.join()
        each.close()
    assert received == [b"late", b"late"]
    if not made:
        connection.sendall(b"ping")
        thread.join()
        return
    for i in range(100):
        connection.sendall(b"ping")
        assert plain.wait(PATIENCE * 1000) == 11 << 40
        thread.join()
        assert slept.wait(1000) == 11 << 40
        assert receive_exactly(connection, 4) == b"ping"
        assert plain.wait(0) is None
    assert seen == [11 << 40]
    # One that has reported stays as it is, until it is asked again.
    os.write(there, b"x")
    assert once.wait(0) is None
    once.control(Instance.MOD, here, select.EPOLLIN | select.EPOLLONESHOT, 14 << 40)
    assert once.wait(1000) == 14 << 40
    assert plain.wait(1000) == 12 << 40
    assert plain.control(Instance.DEL, here, 0, 0) == 0
    assert plain.wait(0) is None
    warm(connection, False)

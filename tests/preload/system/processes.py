# SPDX-License-Identifier: MIT
"""Clients that fork and start programs, and strangers among them."""
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from harness import sent_over_tcp
from talk import PATIENCE, connected, heard, listening, ping, receive_exactly, say, warm


def forked_client(port, carried):
    """The parent's connection goes on while a child lives that does not use it."""
    connection = connected(port)
    warm(connection, carried == "1")
    child = os.fork()
    if child == 0:
        connection.close()
        other = connected(port)
        ping(other, 50)
        os._exit(0)
    ping(connection, 200)
    assert os.waitpid(child, 0)[1] == 0
    ping(connection, 200)


def child_of_client(port):
    """A child goes on with what its parent connected, and the parent has closed."""
    connection = connected(port)
    child = os.fork()
    if child == 0:
        warm(connection, "LD_PRELOAD" in os.environ)
        os._exit(0)
    connection.close()
    assert os.waitpid(child, 0)[1] == 0


def unseen_fork_client(port, carried):
    """A child that was made by syscall(2) has another socket at the number of the connection."""
    connection = connected(port)
    warm(connection, carried == "1")
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    child = ctypes.CDLL(None).syscall(number, signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        fd = connection.fileno()
        connection.close()
        one, other = socket.socketpair()
        assert fd in (one.fileno(), other.fileno())
        socket.send_fds(one, [b"x"], [0])
        socket.send_fds(other, [b"x"], [0])
        passed = [socket.recv_fds(each, 1, 1)[1] for each in (one, other)]
        os._exit(0 if all(passed) else 1)
    assert os.waitpid(child, 0)[1] == 0
    ping(connection, 200)


def busy_forks_client(port, carried):
    """Forks while other threads use streams: neither waits for the other."""
    connections = [connected(port) for _ in range(3)]
    for connection in connections:
        warm(connection, carried == "1")
    over = threading.Event()

    def talk(connection):
        while not over.is_set():
            ping(connection, 10)

    threads = [threading.Thread(target=talk, args=(each,)) for each in connections]
    for thread in threads:
        thread.start()
    for _ in range(400):
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    over.set()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def shared_client(port):
    """Parent and child use one connection that was none's stream before: it stays TCP."""
    connection = connected(port)
    for _ in range(100):
        child = os.fork()
        if child == 0:
            ping(connection, 1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        ping(connection, 1)


def spawn_client(port, carried):
    """Programs started by vfork close and copy descriptors of their own only."""
    connection = connected(port)
    warm(connection, carried == "1")
    os.set_inheritable(connection.fileno(), True)
    for _ in range(3):
        subprocess.run(["/bin/true"], close_fds=True, check=True, stdin=connection.fileno())
        ping(connection, 20)


def exec_client(port):
    """Another program goes on with a connection that has never been a stream."""
    connection = connected(port)
    connection.sendall(b"before")
    assert receive_exactly(connection, 6) == b"before"
    os.set_inheritable(connection.fileno(), True)
    os.execv(sys.executable, [sys.executable, sys.argv[0], "after_exec", str(connection.fileno())])


def echo_then_exec():
    """Becomes another program, which goes on with a connection that may be a stream."""
    server = listening(0)
    connection, _ = server.accept()
    while (part := connection.recv(4)) != b"exec":
        connection.sendall(part)
    for fd in range(2):
        os.dup2(connection.fileno(), fd)
    os.execv("/bin/cat", ["cat"])


def client_of_exec(port, carried, sends):
    """The other side becomes another program: TCP goes on with it, a stream is reset at once, also
    for a side that only sends, and none of its bytes is lost without that."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.sendall(b"exec")
    begun = time.monotonic()
    try:
        if carried == "0":
            ping(connection)
        while sends == "1" and carried == "1":
            connection.sendall(b"lost")
            assert time.monotonic() - begun < PATIENCE, "sent into nothing"
        while carried == "1":
            assert not connection.recv(4)
            raise AssertionError("ended")
    except (ConnectionResetError, BrokenPipeError):
        assert carried == "1" and time.monotonic() - begun < PATIENCE / 4


def after_exec(fd):
    connection = socket.socket(fileno=int(fd))
    connection.settimeout(PATIENCE)
    ping(connection, 200)


def squatter(*names):
    """Has names that programs of another user look for, and listens under them."""
    squatted = []
    for name in names or [heard()]:
        kind = socket.SOCK_STREAM if "streams" in name else socket.SOCK_DGRAM
        squatted.append(socket.socket(socket.AF_UNIX, kind))
        squatted[-1].bind("\0" + name)
        if kind == socket.SOCK_STREAM:
            squatted[-1].listen()
    say("bound")
    heard()


def squatted_client(port):
    """Stays on TCP: a stranger has the name of its connection."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    stranger = subprocess.Popen([sys.executable, sys.argv[0], "squatter"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, user=65534, cwd="/",
                                env=environment)
    connection = connected(port)
    here, there = ("%s:%04x" % (socket.inet_aton(host).hex(), number)
                   for host, number in (connection.getsockname(), connection.getpeername()))
    stranger.stdin.write(f"cariama-streams/0/p3/{here}-{there}\n")
    stranger.stdin.flush()
    assert stranger.stdout.readline().strip() == "bound"
    ping(connection, 2000)
    assert sent_over_tcp(connection) == 8000
    stranger.kill()
    stranger.wait()

# SPDX-License-Identifier: MIT
"""Servers: small programs that know nothing of streams."""
import multiprocessing
import os
import select
import signal
import socket
import socketserver
import struct
import threading

from talk import HOST, PATIENCE, heard, listening, say


def serve_echo(connection):
    while part := connection.recv(65536):
        connection.sendall(part)


def echo():
    """Serves connections one after the other, until the input ends."""
    server = listening(0)
    threading.Thread(target=lambda: (heard(), os._exit(0)), daemon=True).start()
    while True:
        connection, _ = server.accept()
        with connection:
            try:
                serve_echo(connection)
            except OSError:
                pass


def echo_epoll(edge):
    """Serves all connections at a time, by one epoll instance, level- or edge-triggered."""
    server = listening(0)
    server.setblocking(False)
    poller = select.epoll()
    flags = select.EPOLLET if edge == "edge" else 0
    poller.register(server, select.EPOLLIN)
    connections, waiting = {}, {}
    while True:
        for fd, events in poller.poll():
            if fd == server.fileno():
                connection, _ = server.accept()
                connection.setblocking(False)
                connections[connection.fileno()] = connection
                waiting[connection.fileno()] = b""
                poller.register(connection, select.EPOLLIN | select.EPOLLOUT * bool(flags) | flags)
                continue
            connection = connections[fd]
            try:
                while len(waiting[fd]) < 1 << 20:
                    part = connection.recv(4096)
                    if not part:
                        raise EOFError
                    waiting[fd] += part
            except BlockingIOError:
                pass
            except (EOFError, ConnectionError):
                poller.unregister(connection)
                del connections[fd], waiting[fd]
                connection.close()
                continue
            try:
                while waiting[fd]:
                    waiting[fd] = waiting[fd][connection.send(waiting[fd]):]
            except BlockingIOError:
                pass
            if not flags:
                wanted = select.EPOLLIN | (select.EPOLLOUT if waiting[fd] else 0)
                poller.modify(connection, wanted)


def echo_fork():
    """A child for each connection, as PostgreSQL has."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = listening(0)
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            server.close()
            serve_echo(connection)
            os._exit(0)
        connection.close()


class ForkingEcho(socketserver.ForkingMixIn, socketserver.TCPServer):
    """A child for each connection, as the standard library of Python has it."""
    request_queue_size = 512


class EchoHandler(socketserver.BaseRequestHandler):
    def handle(self):
        serve_echo(self.request)


def echo_forking_mixin():
    with ForkingEcho((HOST, 0), EchoHandler) as server:
        say(server.server_address[1])
        server.serve_forever()


def echo_inetd():
    """Another program serves each connection as its input and output, as inetd has."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = listening(0)
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            for fd in range(2):
                os.dup2(connection.fileno(), fd)
            os.execv("/bin/cat", ["cat"])
        connection.close()


def echo_child():
    """A child is given each connection when it has been accepted, and the parent goes on."""
    server = listening(0)
    while True:
        connection, _ = server.accept()
        child = multiprocessing.get_context("fork").Process(target=serve_echo, args=(connection,))
        child.start()
        connection.close()


def echo_passed():
    """A process is given each connection in a message, by another one that keeps none."""
    here, there = socket.socketpair(socket.AF_UNIX)
    server = listening(0)
    if os.fork() == 0:
        here.close()
        while True:
            _, (fd,), _, _ = socket.recv_fds(there, 1, 1)
            with socket.socket(fileno=fd) as connection:
                serve_echo(connection)
    there.close()
    while True:
        connection, _ = server.accept()
        with connection:
            socket.send_fds(here, [b"c"], [connection.fileno()])


def echo_prefork():
    """Two workers that accept at one socket, as nginx has."""
    server = listening(0)
    for _ in range(2):
        if os.fork() == 0:
            while True:
                connection, _ = server.accept()
                with connection:
                    serve_echo(connection)
    signal.pause()


def close_all():
    """Closes all that it did not open, and then serves."""
    os.closerange(3, 1024)
    echo()


def doomed(state):
    """Accepts, echoes until it is told, gets into a state, and is killed there."""
    server = listening(0)
    connection, _ = server.accept()
    say("accepted")
    connection.settimeout(PATIENCE)
    while (part := connection.recv(4)) != b"done":
        connection.sendall(part)
    if state in ("sent", "half"):
        connection.sendall(b"z" * 3000)
    if state == "half":
        connection.shutdown(socket.SHUT_WR)
    if state == "unread":
        connection.recv(1)
    if state == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    if state == "close_unread":
        connection.recv(1)
        connection.close()
    say("ready")
    heard()


def never_reads():
    """Accepts, echoes until it is told, and then reads no more until it is told again."""
    server = listening(0)
    connection, _ = server.accept()
    while (part := connection.recv(4)) != b"done":
        connection.sendall(part)
    heard()
    total = 0
    while part := connection.recv(65536):
        total += len(part)
    print(total)

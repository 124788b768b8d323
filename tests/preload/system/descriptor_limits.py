# SPDX-License-Identifier: MIT
"""Programs that open connections until they may have no more descriptors."""
import errno
import resource
import select
import socket

from talk import connected, heard, listening, ping, receive_exactly, say, warm


def limit_descriptors(limit):
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(limit), int(limit)))


def greedy_client(port, limit, carried):
    """socket(2) answers EMFILE; what is open goes on, and when some are closed new ones work."""
    limit_descriptors(limit)
    connections = []
    try:
        while True:
            connections.append(connected(port))
            # The first ones are carried; later ones as long as there are descriptors for that.
            if len(connections) < 3:
                warm(connections[-1], carried == "1")
            ping(connections[-1], 20)
            assert len(connections) < int(limit)
    except OSError as error:
        assert error.errno == errno.EMFILE, error
    say(f"EMFILE after {len(connections)}")
    # The library leaves half of them to the program.
    assert len(connections) > int(limit) // 2 - 20
    for connection in connections:
        ping(connection, 20)
    for _ in range(3):
        for connection in connections[:10]:
            connection.close()
        del connections[:10]
        again = [connected(port) for _ in range(3)]
        for connection in again:
            warm(connection, carried == "1")
        connections += again
        for connection in connections:
            ping(connection, 5)


def greedy_server(limit):
    """accept(2) answers EMFILE; it goes on with those that it has, and takes others as they end."""
    limit_descriptors(limit)
    server = listening(0)
    poller = select.epoll()
    poller.register(server, select.EPOLLIN)
    connections, accepts = {}, True
    while True:
        for fd, _ in poller.poll():
            if fd == server.fileno():
                try:
                    connection, _ = server.accept()
                except OSError as error:
                    say(errno.errorcode[error.errno])
                    poller.unregister(server)
                    accepts = False
                    continue
                connections[connection.fileno()] = connection
                poller.register(connection, select.EPOLLIN)
                continue
            try:
                part = connections[fd].recv(65536)
                connections[fd].sendall(part)
            except ConnectionError:
                part = b""
            if not part:
                connections.pop(fd).close()
                if not accepts:
                    poller.register(server, select.EPOLLIN)
                    accepts = True


def crowd_at_greedy_server(port, limit):
    """Who waits for a server without descriptors is served when others have gone."""
    connections = []
    for _ in range(int(limit)):
        connections.append(connected(port))
        connections[-1].sendall(b"ping")
    assert heard() == "EMFILE"
    gone = connections[:3 * len(connections) // 4]
    for connection in gone:
        connection.close()
    for connection in connections[len(gone):]:
        assert receive_exactly(connection, 4) == b"ping"
        ping(connection, 50)

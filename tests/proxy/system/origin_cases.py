# SPDX-License-Identifier: MIT
# Origins that die and come back, and one that takes no connections.
import socket
import struct
import threading
import time

from messages import FRESH, PATIENCE, response
from support import Origin, Proxy


def case_origin_dies():
    def half(_, link):
        link.send(response(b"half", FRESH, length=100))
        link.socket.recv(1)

    pages = {"/": response(b"root", FRESH), "/other": response(b"other", FRESH), "/half": half}
    # Keeps the port for the one that comes later.
    with socket.socket() as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        place.bind(("127.0.0.1", 0))
        origin = Origin(pages, place.getsockname()[1])
        with Proxy(origin.port) as proxy:
            assert proxy.get("/").body == b"root"
            with proxy.link() as link:
                link.send(b"GET /half HTTP/1.1\r\nHost: test\r\n\r\n")
                while b"half" not in link.rest:
                    assert link.more(), "it has begun"
                origin.die()
                try:
                    raise AssertionError("it was taken for whole: %r" % link.read().body)
                except (EOFError, ConnectionResetError):
                    pass
            # What is fresh is served; the rest is told, and nothing waits.
            assert proxy.get("/").body == b"root"
            for path, method in (("/other", "GET"), ("/half", "GET"), ("/", "POST")):
                assert proxy.get(path, method=method).status == 502, path
            with Origin(pages, origin.port) as again:
                assert proxy.get("/other").body == b"other" and again.count("/other") == 1
    # One that takes no connections: its queue is full, and it does not say so.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf, \
            Proxy(deaf.getsockname()[1], "--connect-timeout", "1") as proxy:
        waiting = []
        while len(waiting) < 10:
            one = socket.socket()
            waiting.append(one)
            one.settimeout(0.3)
            try:
                one.connect(deaf.getsockname())
            except TimeoutError:
                break
        assert len(waiting) < 10, "the queue has no end here"
        answer = proxy.get("/")
        assert answer.status == 504 and b"cannot be reached in time" in answer.body
        for one in waiting:
            one.close()


def case_origin_breaks():
    """An origin that resets the connection while the client takes nothing."""
    broken = threading.Event()

    def reset(link):
        link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.socket.close()
        broken.set()

    def breaks(_, link):
        link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        link.socket.settimeout(0.5)
        try:
            for _ in range(100):
                link.send(b"x" * 1000000)
        except TimeoutError:
            reset(link)

    with Origin({"/": response(b"root", FRESH), "/breaks": breaks}) as origin, \
            Proxy(origin.port) as proxy, proxy.link() as slow:
        slow.send(b"GET /breaks HTTP/1.1\r\nHost: test\r\n\r\n")
        assert broken.wait(PATIENCE)
        before = proxy.processor_time()
        time.sleep(1)
        used = proxy.processor_time() - before
        assert used < 0.2, "%.2f s of a second for nothing" % used
        assert proxy.get("/").body == b"root"
        # Who takes the rest finds out that there is no end.
        try:
            raise AssertionError("%d bytes were taken for whole" % len(slow.read().body))
        except (EOFError, ConnectionResetError):
            pass

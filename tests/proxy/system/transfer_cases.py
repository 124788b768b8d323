# SPDX-License-Identifier: MIT
# Documents that are on their way: long ones, in parts, and to many clients at once.
import threading

from messages import FRESH, PATIENCE, response
from support import Origin, Proxy, until


def case_streaming():
    size = 200 << 20
    block = bytes(range(256)) * 4096
    go_on = threading.Event()

    def large(_, link):
        link.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n" % size + FRESH.encode() + b"\r\n")
        for _ in range(size // len(block)):
            link.send(block)
        return b""

    def halves(_, link):
        link.send(b"HTTP/1.1 200 OK\r\n" + FRESH.encode())
        link.send(b"Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        assert go_on.wait(PATIENCE)
        return b"6\r\nsecond\r\n0\r\n\r\n"

    def until_close(_, link):
        link.send(b"HTTP/1.0 200 OK\r\n%s\r\nto the end" % FRESH.encode())

    with Origin({"/large": large, "/halves": halves, "/close": until_close}) as origin, \
            Proxy(origin.port, "--cache-mib", "16") as proxy:
        before = proxy.memory()
        with proxy.link() as slow, proxy.link() as link:
            # A client that takes nothing holds back its origin, and no memory.
            slow.send(b"GET /large HTTP/1.1\r\nHost: test\r\n\r\n")
            link.send(b"GET /large HTTP/1.1\r\nHost: test\r\n\r\n")
            taken = 0
            while b"\r\n\r\n" not in link.rest:
                link.more()
            rest = link.rest[link.rest.index(b"\r\n\r\n") + 4:]
            while taken < size:
                rest = rest or link.socket.recv(1 << 20)
                expected = block[taken % len(block):][:len(rest)]
                assert rest[:len(expected)] == expected
                taken += len(expected)
                rest = rest[len(expected):]
            grown = proxy.memory() - before
            assert grown < 30000, "%d KiB more memory" % grown
        # The first half arrives while the second one does not exist, at both who wait.
        with proxy.link() as one, proxy.link() as two:
            one.send(b"GET /halves HTTP/1.1\r\nHost: test\r\n\r\n")
            while b"first" not in one.rest:
                one.more()
            two.send(b"GET /halves HTTP/1.1\r\nHost: test\r\n\r\n")
            while b"first" not in two.rest:
                two.more()
            go_on.set()
            assert one.read().body == two.read().body == b"firstsecond"
            stored = one.get("/halves")
            assert stored["content-length"] == "11" and stored["cache-status"] == "cariama; hit"
            assert origin.count("/halves") == 1
        # A body that ends with the connection is whole, or not: it is passed on and not stored.
        assert proxy.get("/close").body == proxy.get("/close").body == b"to the end"
        assert origin.count("/close") == 2
        with proxy.link() as link:
            link.send(b"GET /halves HTTP/1.0\r\nHost: test\r\n\r\n")
            assert link.read().body == b"firstsecond"


def case_collapsed():
    gate = threading.Event()

    def held(fields):
        def page(*_):
            assert gate.wait(PATIENCE)
            return response(b"x" * 100000, fields)
        return page

    with Origin({"/a": held(FRESH), "/private": held("Cache-Control: private\r\n")}) as origin, \
            Proxy(origin.port) as proxy:
        links = [proxy.link() for _ in range(50)]
        for link in links:
            link.send(b"GET /a HTTP/1.1\r\nHost: test\r\n\r\n")
        others = [proxy.link() for _ in range(10)]
        for link in others:
            link.send(b"GET /private HTTP/1.1\r\nHost: test\r\n\r\n")
        until(lambda: len(origin.asked) == 2, "both are asked for")
        # Some leave, among them the first one.
        for link in links[:10]:
            link.socket.close()
        gate.set()
        answers = [link.read() for link in links[10:]]
        assert all(answer.body == b"x" * 100000 for answer in answers)
        assert origin.count("/a") == 1
        # What may not be shared is fetched for each, at the same time.
        assert all(link.read().body == b"x" * 100000 for link in others)
        assert origin.count("/private") == 10
        assert proxy.metric('requests_total{cache="collapsed"}') >= 40

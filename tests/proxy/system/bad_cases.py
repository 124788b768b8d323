# SPDX-License-Identifier: MIT
# Clients and origins that break the rules, by mistake or on purpose.
import random
import socket
import threading
import time

from messages import FRESH, PATIENCE, response
from support import Origin, Proxy, until


def case_smuggling():
    with Origin({"/": response(b"root", FRESH), "/hidden": response(b"hidden", FRESH)}) as origin, \
            Proxy(origin.port) as proxy:
        hidden = b"GET /hidden HTTP/1.1\r\nHost: test\r\n\r\n"
        post = b"POST / HTTP/1.1\r\nHost: test\r\n"
        for bad, status in [
            (post + b"Content-Length: 5\r\nContent-Length: 0\r\n\r\n", 400),
            (post + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n", 400),
            (post + b"Content-Length: 0, 0\r\n\r\n", 400),
            (post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            (post + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
            (post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n", 400),
            (post + b"Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n", 501),
            (post + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", 400),
            (post + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
            (post + b"X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            (post + b"X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            (post + b"X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            (post + b"X: \0\r\n\r\n", 400),
            (b"POST / HTTP/1.1\nHost: test\n\n", 400),
            (b"POST / HTTP/1.0\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: a/../b\r\n\r\n", 400),
            (b"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", 400),
        ]:
            with proxy.link() as link:
                link.send(bad + hidden)
                answer = link.read()
                assert answer.status == status, (bad, answer.first)
                # Nothing after it is taken for a request.
                assert answer["connection"] == "close" and link.ends(), bad
        assert origin.asked == [], [request.first for request in origin.asked]
        # Malformed chunks: the origin gets no end, and so no request.
        with proxy.link() as link:
            link.send(post + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n" + hidden)
            assert link.read().status == 400 and link.ends() and link.rest == b""
        assert origin.count("/hidden") == 0
        with proxy.link() as link:
            assert link.get("/").body == b"root"
        assert proxy.metric("refused_total") == 22


def case_slow_clients():
    with Origin({"/": response(b"root", FRESH), "/post": response(b"posted")}) as origin, \
            Proxy(origin.port, "--head-timeout", "1", "--idle-timeout", "5", "--client-timeout",
                  "1") as proxy:
        began = time.monotonic()
        # A body that stops, and a connection without a request: they wait beside the others.
        stopped, idle = proxy.link(), proxy.link()
        stopped.send(b"POST /post HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc")
        # A byte now and then does not prolong the time of a head.
        slow = [proxy.link() for _ in range(200)]
        ended = 0
        for link in slow:
            link.send(b"GET / HT")
        while time.monotonic() - began < 3:
            for link in slow:
                try:
                    link.socket.send(b"T")
                except OSError:
                    pass
            with proxy.link() as link:
                assert link.get("/").body == b"root"
            time.sleep(0.2)
        for link in slow:
            link.ends()
            ended += link.rest.startswith(b"HTTP/1.1 408 ")
        assert ended >= 150, ended
        stopped.ends()
        # An idle connection ends without a word.
        assert idle.ends() and idle.rest == b""
        # The heads and the body.
        assert proxy.metric("timeouts_total") == 201
        until(lambda: proxy.metric("clients") == 1, "all are gone")


def case_too_much():
    with Origin({"/": response(b"root", FRESH), "/post": response(b"posted")}) as origin, \
            Proxy(origin.port, "--max-body-mib", "1", "--max-clients", "50") as proxy:
        before = proxy.memory()
        with proxy.link() as link:
            # 100 MB of header lines: refused early, and what follows is thrown away.
            link.send(b"GET / HTTP/1.1\r\nHost: test\r\n")
            lines = b"X-A: %s\r\n" % (b"a" * 1000) * 1000
            try:
                for _ in range(100):
                    link.send(lines)
            except OSError:
                pass
            link.ends()
            assert link.rest.startswith(b"HTTP/1.1 431 "), link.rest[:100]
        with proxy.link() as link:
            link.send(b"GET / HTTP/1.1\r\nHost: test\r\nX: " + b"a" * 40000)
            assert link.read().status == 431
        assert proxy.get("/" + "a" * 9000).status == 414
        assert proxy.get("/", "A: b\r\n" * 100).status == 431
        with proxy.link() as link:
            link.send(b"POST /post HTTP/1.1\r\nHost: test\r\nContent-Length: 2000000\r\n\r\n")
            assert link.read().status == 413
        with proxy.link() as link:
            link.send(b"POST /post HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                for _ in range(64):
                    link.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            except OSError:
                pass
            link.ends()
            assert b"posted" not in link.rest
        assert proxy.memory() - before < 20000
        # More connections than are allowed wait outside, and come in when others leave.
        links = [proxy.link() for _ in range(60)]
        until(lambda: proxy.metric("clients") >= 50, "all are taken")
        for link in links[:30]:
            link.socket.close()
        assert links[-1].get("/").body == b"root"


def case_bad_origins():
    def raw(text):
        def page(_, link):
            link.send(text)
        return page

    def endless(_, link):
        link.send(b"HTTP/1.1 200 OK\r\n")
        for _ in range(100000):
            link.send(b"X-A: " + b"a" * 1000 + b"\r\n")

    def trickle(_, link):
        link.send(b"HTTP/1.1 200 OK\r\n")
        for _ in range(600):
            link.send(b"X: y\r\n")
            time.sleep(0.05)

    def hang(_, link):
        link.socket.recv(1)

    def half(_, link):
        link.send(response(b"half", FRESH, length=100))
        hang(_, link)

    def interims(_, link):
        for _ in range(100000):
            link.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    ok = b"HTTP/1.1 200 OK\r\n" + FRESH.encode()
    pages = {
        "/dies": raw(b""), "/dies_in_head": raw(b"HTTP/1.1 200 OK\r\nA: b"),
        "/endless": endless, "/trickle": trickle, "/hang": hang, "/interims": interims,
        "/two_lengths": raw(ok + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        "/both": raw(ok + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        "/bare_lf": raw(b"HTTP/1.1 200 OK\nContent-Length: 1\n\na"),
        "/fold": raw(ok + b"A: b\r\n c\r\nContent-Length: 1\r\n\r\na"),
        "/garbage": raw(b"\0" * 100 + b"\r\n\r\n"), "/ssh": raw(b"SSH-2.0-OpenSSH\r\n\r\n"),
        "/gzip": raw(ok + b"Transfer-Encoding: gzip\r\n\r\nxx"),
        "/switch": raw(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"),
        "/short": raw(response(b"short", FRESH, length=100)), "/half": half,
        "/bad_chunk": raw(ok + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX"),
        "/cut_chunk": raw(ok + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        "/long": lambda *_: response(b"long and more", FRESH, length=4),
        "/good": response(b"good", FRESH),
    }
    with Origin(pages) as origin, Proxy(origin.port, "--origin-timeout", "2") as proxy:
        before = proxy.memory()
        for path in ("/dies", "/dies_in_head", "/endless", "/interims", "/two_lengths", "/both",
                     "/bare_lf", "/fold", "/garbage", "/ssh", "/gzip", "/switch"):
            assert proxy.get(path).status == 502, path
        # These take as long as they may, beside the next ones.
        late = {path: proxy.link() for path in ("/trickle", "/hang")}
        for path, link in late.items():
            link.send(b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n" % path.encode())
        # What begins and does not end is told by an error, and not stored.
        for path in ("/short", "/half", "/bad_chunk", "/cut_chunk"):
            for _ in range(2):
                with proxy.link() as link:
                    try:
                        answer = link.get(path)
                        raise AssertionError("%s was taken for whole: %r" % (path, answer.body))
                    except (EOFError, ConnectionResetError):
                        pass
            assert origin.count(path) == 2, path
        for path, link in late.items():
            assert link.answer().status == 504, path
            link.socket.close()
        # More than was announced: the rest is no response to anybody else's request.
        with proxy.link() as link:
            assert link.get("/long").body == b"long" and link.get("/good").body == b"good"
            assert link.get("/long").body == b"long"
        assert origin.count("/long") == 2
        assert proxy.memory() - before < 20000
    # Nobody there.
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Proxy(port) as proxy:
        answer = proxy.get("/")
        assert answer.status == 502 and b"cannot be reached" in answer.body
    # Too many requests at once for the origin.
    gate = threading.Event()
    with Origin({"/": lambda *_: gate.wait(PATIENCE) and response(b"late")}) as origin, \
            Proxy(origin.port, "--max-origin-connections", "5") as proxy:
        links = [proxy.link() for _ in range(8)]
        for i, link in enumerate(links):
            link.send(b"GET /?%d HTTP/1.1\r\nHost: test\r\n\r\n" % i)
            if i < 5:
                until(lambda: len(origin.asked) == i + 1, "it is asked for")
        assert [link.read().status for link in links[5:]] == [503] * 3
        gate.set()
        assert [link.read().body for link in links[:5]] == [b"late"] * 5


REQUESTS = [
    b"GET /a?%d HTTP/1.1\r\nHost: test\r\nAccept: x\r\nRange: bytes=0-5\r\n\r\n",
    b"GET /a HTTP/1.1\r\nHost: test\r\nIf-None-Match: \"a\", W/\"b\"\r\nX: %d\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\nX: %d\r\n\r\n"
    b"5;x=y\r\nhello\r\n0\r\nT: v\r\n\r\n",
    b"PUT http://test/b?%d HTTP/1.0\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\nbody",
    b"HEAD /b HTTP/1.1\r\nHost: test\r\nCache-Control: max-age=5, min-fresh=%d\r\n\r\n",
]
RESPONSES = [
    b"HTTP/1.1 200 OK\r\nCache-Control: max-age=1\r\nETag: \"a\"\r\nContent-Length: 3\r\n\r\nsix",
    b"HTTP/1.1 200 OK\r\nVary: Accept, X\r\nCache-Control: max-age=9\r\nTransfer-Encoding: chunked"
    b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nAge: 3\r\n\r\nto the end",
]


def mutated(source, text):
    """A few bytes are others, missing, or there twice."""
    text = bytearray(text)
    for _ in range(source.choice((0, 1, 1, 2, 5))):
        at = source.randrange(len(text))
        kind = source.randrange(4)
        if kind == 0:
            text[at] = source.choice(b"\r\n\0 :;,\"0aZ-\xff")
        elif kind == 1:
            del text[at:at + source.randrange(1, 8)]
        elif kind == 2:
            text[at:at] = text[at:at + source.randrange(1, 30)]
        else:
            text[at:at] = source.randbytes(source.randrange(1, 4))
        if not text:
            break
    return bytes(text)


def case_mutated():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    source, guard = random.Random(seed), threading.Lock()

    def page(_, link):
        with guard:
            answer = mutated(source, source.choice(RESPONSES))
        link.send(answer)

    with Origin({"/a": page, "/b": page, "/good": response(b"good", FRESH)}) as origin, \
            Proxy(origin.port, "--origin-timeout", "1", "--head-timeout", "1", "--client-timeout",
                  "1") as proxy:
        end = time.monotonic() + 3
        rounds = 0
        while time.monotonic() < end:
            links = [proxy.link() for _ in range(40)]
            for link in links:
                with guard:
                    text = b"".join(mutated(source, source.choice(REQUESTS) % source.randrange(9))
                                    for _ in range(source.randrange(1, 4)))
                try:
                    for at in range(0, len(text), 50):
                        link.send(text[at:at + 50])
                    link.socket.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
            # All end, by themselves or in time, and others are served meanwhile.
            assert proxy.get("/good").body == b"good"
            for link in links:
                link.ends()
                link.socket.close()
            rounds += 1
        assert rounds > 1
        until(lambda: proxy.metric("clients") == 1, "all are gone")
        until(lambda: proxy.metric("origin_connections") <= 2, "no connection is forgotten")

# SPDX-License-Identifier: MIT
# Requests whose bodies end early or badly, and fewer descriptors than clients.
import os
import resource
import signal
import subprocess
import sys
import threading
import time

from messages import FRESH, Link, PATIENCE, response
from support import Clients, Origin, Proxy, arguments_for, until


def case_uploads():
    """What is left of the body of a request is never taken for another request, nor the other way
    round."""
    post = b"POST /early HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\nabc"
    chunked = b"POST /late HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
    seen = []

    def early(connection):
        """It answers as soon as it has the head, keeps the connection, and waits for the body."""
        link = Link.__new__(Link)
        link.socket, link.rest = connection, b""
        while b"\r\n\r\n" not in link.rest:
            link.more()
        first = not seen
        seen.append(link)
        link.send(response(b"early" if first else b"other"))
        link.ends()

    with Origin({}) as origin, Proxy(origin.port) as proxy:
        origin.serve = early
        with proxy.link() as one, proxy.link() as two:
            one.send(post)
            answer = one.read()
            assert answer.body == b"early" and answer["connection"] == "close"
            assert two.get("/other").body == b"other"
        assert len(seen) == 2 and b"/other" not in seen[0].rest, seen[0].rest
    # While the origin waits for the rest, the client is told what is wrong with it.
    with Origin({"/late": response(b"late")}) as origin, \
            Proxy(origin.port, "--max-body-mib", "1") as proxy:
        for body, status in ((b"5\r\nhelloX\r\n", 400), (b"0x5\r\nhello\r\n0\r\n\r\n", 400),
                             (b"5\nhello\r\n0\r\n\r\n", 400),
                             (b"110000\r\n" + b"x" * 0x110000, 413)):
            with proxy.link() as link:
                sender = threading.Thread(target=link.socket.sendall, args=(chunked + body,))
                sender.start()
                answer = link.read()
                assert answer.status == status and answer["connection"] == "close", body[:20]
                sender.join()
        with proxy.link() as link:
            link.send(post.replace(b"/early", b"/late"))
            link.socket.shutdown(1)
            assert link.read().status == 400 and link.ends()
        assert origin.asked == [], "no request was whole"
        until(lambda: proxy.metric("origin_connections") == 0, "no connection to it is kept")
        with proxy.link() as link:
            link.send(chunked + b"4;x=\"y;z\"\r\nbody\r\n0\r\nTrailer: x\r\n\r\n")
            assert link.read().body == b"late" and origin.last("/late").body == b"body"


def case_descriptors():
    """Idle clients leave descriptors for connections to the origin, and for the metrics."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    gate = threading.Event()
    pages = {"/hit": response(b"hit", FRESH), "/": response(b"root"),
             "/slow": lambda *_: gate.wait(PATIENCE) and response(b"slow")}
    with Origin(pages) as origin:
        process = subprocess.Popen([sys.argv[2], *arguments_for(origin.port)], preexec_fn=limit,
                                   stdout=subprocess.PIPE, text=True)
        try:
            proxy = Clients(process.stdout.readline())
            early = [proxy.link() for _ in range(20)]
            assert all(link.get("/hit").body == b"hit" for link in early)
            idle = [proxy.link() for _ in range(400)]
            for i, link in enumerate(early):
                link.send(b"GET /slow?%d HTTP/1.1\r\nHost: test\r\n\r\n" % i)
            until(lambda: origin.count("/slow?19") == 1, "all have a connection to the origin")
            assert 50 < proxy.metric("clients") < 200, proxy.metric("clients")
            gate.set()
            assert all(link.read().body == b"slow" for link in early)
            # Those who wait outside come in when others leave.
            for link in idle[:350]:
                link.socket.close()
            assert idle[-1].get("/hit").body == b"hit"
        finally:
            process.terminate()
            status = process.wait(PATIENCE)
        assert status == 0, status


def case_woken():
    """The time in which the proxy was stopped is not its clients' and origins'."""
    size = 64 << 20
    go_on = threading.Event()

    def halves(_, link):
        link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
        assert go_on.wait(PATIENCE)
        return b"half"

    with Origin({"/large": response(b"x" * size), "/halves": halves}) as origin, \
            Proxy(origin.port, "--client-timeout", "2", "--origin-timeout", "2") as proxy, \
            proxy.link() as large, proxy.link() as late:
        large.send(b"GET /large HTTP/1.1\r\nHost: test\r\n\r\n")
        late.send(b"GET /halves HTTP/1.1\r\nHost: test\r\n\r\n")
        while b"half" not in late.rest:
            late.more()
        while b"\r\n\r\n" not in large.rest:
            large.more()
        left = size - len(large.rest) + large.rest.index(b"\r\n\r\n") + 4
        os.kill(proxy.pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(proxy.pid, signal.SIGCONT)
        # They were stopped with it, and are slower.
        time.sleep(0.3)
        go_on.set()
        assert late.read().body == b"halfhalf"
        while left > 0:
            piece = large.socket.recv(min(left, 1 << 20))
            assert piece, "%d bytes are missing" % left
            left -= len(piece)
        large.rest = b""
        # From then on the limits hold as before.
        large.send(b"GET /large HTTP/1.1\r\nHost: test\r\n\r\n")
        until(lambda: proxy.metric("timeouts_total") == 1, "the client is late")

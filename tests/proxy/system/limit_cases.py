# SPDX-License-Identifier: MIT
# Requests whose bodies end early or badly, and fewer descriptors than clients.
import resource
import subprocess
import sys
import threading

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

# SPDX-License-Identifier: MIT
# What HTTP promises to clients, seen from outside.
import re
import signal
import subprocess
import sys

from messages import FRESH, PATIENCE, counter, response
from support import Nginx, Origin, Proxy, until


def case_cached():
    with Origin({"/fresh": counter(FRESH), "/not": counter("Cache-Control: no-store\r\n"),
                 "/cookie": counter(FRESH + "Set-Cookie: a=b\r\n"),
                 "/gone": counter(FRESH, "404 Not Found"), "/q": counter(FRESH)}) as origin, \
            Proxy(origin.port) as proxy, proxy.link() as link:
        first, second = link.get("/fresh"), link.get("/fresh")
        assert first.body == second.body == b"1"
        assert first["cache-status"] == "cariama; fwd=miss" and first["age"] is None
        assert second["cache-status"] == "cariama; hit" and int(second["age"]) < 5
        assert second["via"] == "1.1 cariama" and second["date"]
        head = link.get("/fresh", method="HEAD")
        assert head["content-length"] == "1" and head["cache-status"] == "cariama; hit"
        assert [link.get("/not").body for _ in range(2)] == [b"1", b"2"]
        assert [link.get("/cookie").body for _ in range(2)] == [b"1", b"2"]
        assert [link.get("/gone").status for _ in range(2)] == [404, 404]
        assert origin.count("/gone") == 1
        assert [link.get("/q?" + q).body for q in ("a", "b", "a")] == [b"1", b"2", b"1"]
        # Another host is another document.
        link.send(b"GET /fresh HTTP/1.1\r\nHost: other\r\n\r\n")
        assert link.read().body == b"2"
        # What a request wants.
        assert link.get("/fresh", "Cache-Control: no-cache\r\n").body == b"3"
        assert link.get("/fresh", "Cache-Control: only-if-cached\r\n").body == b"3"
        assert link.get("/never", "Cache-Control: only-if-cached\r\n").status == 504
        # Many requests at once, answered in their order.
        line = b"GET /q?%d HTTP/1.1\r\nHost: test\r\n\r\n"
        link.send(b"".join(line % (i % 7) for i in range(100)))
        bodies = [link.read().body for _ in range(100)]
        assert bodies == [bodies[i % 7] for i in range(100)] and len(set(bodies)) == 7
        # HTTP/1.0, with and without keep-alive.
        link.send(b"GET /q?0 HTTP/1.0\r\nHost: test\r\nConnection: keep-alive\r\n\r\n")
        assert link.read()["connection"] == "keep-alive"
        link.send(b"GET /q?0 HTTP/1.0\r\nHost: test\r\n\r\n")
        assert link.read()["connection"] == "close" and link.ends()


def case_versions():
    """Via names the version of HTTP in which a message came (RFC 9110, section 7.6.3)."""
    body = (b"HTTP/1.%d 200 OK\r\nCache-Control: max-age=60\r\nETag: \"a\"\r\n"
            b"Content-Length: 6\r\n\r\nanswer")
    seen = []

    def old(request, _):
        seen.append(request["via"])
        return body % 0
    with Origin({"/old": old, "/new": body % 1}) as origin, Proxy(origin.port) as proxy, \
            proxy.link() as link:
        for _ in range(2):
            assert link.get("/old")["via"] == "1.0 cariama"
            assert link.get("/new")["via"] == "1.1 cariama"
        assert link.get("/old")["cache-status"] == "cariama; hit"
        assert link.get("/old", "If-None-Match: \"a\"\r\n")["via"] == "1.0 cariama"
        assert link.get("/old", "Range: bytes=0-1\r\n")["via"] == "1.0 cariama"
        link.send(b"GET /old?1 HTTP/1.0\r\nHost: test\r\n\r\n")
        assert link.read()["via"] == "1.0 cariama"
        assert seen == ["1.1 cariama", "1.0 cariama"]


def case_start():
    """The line that a proxy writes when it serves names the ports that it has."""
    with Origin({"/": counter(FRESH)}) as origin:
        for metrics, line in ((["--metrics", "127.0.0.1:0"], r", metrics on port [1-9]\d*"),
                              ([], "")):
            proxy = subprocess.Popen(
                [sys.argv[2], "--listen", "127.0.0.1:0", "--origin", "127.0.0.1:%d" % origin.port,
                 *metrics], stdout=subprocess.PIPE, text=True)
            try:
                said = proxy.stdout.readline()
                assert re.fullmatch(r"proxy 0 \(process %d\) listens on port [1-9]\d*%s\n" % (
                    proxy.pid, line), said), said
                proxy.send_signal(signal.SIGTERM)
                assert proxy.wait(PATIENCE) == 0
            finally:
                proxy.kill()
                proxy.wait()


def case_sites():
    pages = [{"/": response(name, FRESH)} for name in (b"shop", b"news")]
    with Origin(pages[0]) as shop, Origin(pages[1]) as news, \
            Proxy(shop.port, "--sites", "shop=127.0.0.1:%d,news=127.0.0.1:%d" % (
                shop.port, news.port)) as proxy, proxy.link() as link:
        def get(host, more="", method="GET"):
            link.send(("%s / HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (method, host, more)).encode())
            return link.read()
        for _ in range(2):
            assert get("shop").body == b"shop" and get("news").body == b"news"
        assert shop.count("/") == news.count("/") == 1
        # A port and capital letters make no other site; what is for none goes nowhere.
        assert get("News:81").body == b"news"
        for host in ("shop.example", "sho", "127.0.0.1:%d" % shop.port):
            assert get(host).status == 421, host
        link.send(b"GET http://other/ HTTP/1.1\r\nHost: shop\r\n\r\n")
        assert link.read().status == 421
        # An empty path before a query is sent as a slash, and is the same document.
        for _ in range(2):
            link.send(b"GET http://news?a=b HTTP/1.1\r\nHost: shop\r\n\r\n")
            assert link.read().body == b"news"
        assert news.count("/?a=b") == 1
        # A change at one is none at the other.
        assert get("shop", "Content-Length: 0\r\n", "POST").body == b"shop"
        assert get("shop")["cache-status"] == "cariama; fwd=miss"
        assert get("news")["cache-status"] == "cariama; hit"
        assert (shop.count("/"), news.count("/")) == (3, 2)
        # What was the body of a request that is refused is no request.
        with proxy.link() as other:
            hidden = b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n"
            other.send(b"POST / HTTP/1.1\r\nHost: other\r\nContent-Length: %d\r\n\r\n%s" % (
                len(hidden), hidden))
            assert other.read().status == 421
            assert other.ends() and other.rest == b""
        # HTTP/1.0 without Host says no site.
        with proxy.link() as other:
            other.send(b"GET / HTTP/1.0\r\n\r\n")
            assert other.read().status == 421
    for bad in ("shop", "shop=127.0.0.1", "a=127.0.0.1:80,A=127.0.0.1:81"):
        done = subprocess.run([sys.argv[2], "--listen", "127.0.0.1:0", "--sites", bad],
                              timeout=PATIENCE, capture_output=True, text=True)
        assert done.returncode != 0 and "HOST:PORT" in done.stderr, done


def case_conditional():
    body = bytes(range(256)) * 100
    fields = FRESH + 'ETag: "e"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n'
    with Origin({"/a": response(body, fields), "/b": response(body, fields)}) as origin, \
            Proxy(origin.port) as proxy, proxy.link() as link:
        # The first request has a condition, and the whole is stored all the same.
        first = link.get("/a", 'If-None-Match: "e"\r\n')
        assert first.status == 304 and first["etag"] == '"e"' and first["content-length"] is None
        assert origin.last("/a")["if-none-match"] is None
        until(lambda: proxy.metric("documents") == 1, "it is stored")
        whole = link.get("/a")
        assert whole.body == body and whole["cache-status"] == "cariama; hit"
        assert link.get("/a", 'If-None-Match: W/"e", "f"\r\n').status == 304
        assert link.get("/a", 'If-None-Match: "f"\r\n').status == 200
        assert link.get("/a", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n").status == 304
        assert link.get("/a", 'If-None-Match: "e"\r\n', "HEAD").status == 304
        # Ranges.
        part = link.get("/a", "Range: bytes=100-299\r\n")
        assert part.status == 206 and part.body == body[100:300]
        assert part["content-range"] == "bytes 100-299/25600" and part["content-length"] == "200"
        assert link.get("/a", "Range: bytes=-5\r\n").body == body[-5:]
        none = link.get("/a", "Range: bytes=99999-\r\n")
        assert none.status == 416 and none["content-range"] == "bytes */25600"
        assert link.get("/a", "Range: bytes=1-2,5-6\r\n").body == body
        assert link.get("/a", "Range: garbage\r\n").body == body
        assert link.get("/a", 'Range: bytes=0-9\r\nIf-Range: "f"\r\n').body == body
        assert link.get("/a", 'Range: bytes=0-9\r\nIf-Range: "e"\r\n').status == 206
        assert origin.count("/a") == 1
        # A range of what is not stored goes to the origin as it is.
        assert link.get("/b", "Range: bytes=0-9\r\n").body == body
        assert origin.last("/b")["range"] == "bytes=0-9"


def case_passed_on():
    def echo(request, _):
        return response(request.first.encode() + b"\n" + request.head + b"\n" + request.body,
                        "Connection: X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\nTransfer-Encoding-X: y\r\n")

    def interim(*_):
        early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        return early + response(b"end")

    pages = {"/e": echo, "/i": interim, "*": response(b"all")}
    with Origin(pages) as origin, Proxy(origin.port) as proxy, proxy.link() as link:
        answer = link.get("/e", "Connection: X-Mine\r\nX-Mine: 1\r\nX-Other: 2\r\n")
        seen = origin.last("/e")
        assert answer["x-hop"] is None and answer["x-end"] == "2"
        assert seen["x-mine"] is None and seen["x-other"] == "2"
        assert seen["via"] == "1.1 cariama" and seen["x-forwarded-for"] == "127.0.0.1"
        # 100 answers what the proxy may have asked; other interim responses are the client's.
        hints = link.get("/i")
        assert hints.status == 103 and hints["link"] == "x", hints.head
        assert link.read().body == b"end"
        with proxy.link() as old:
            old.send(b"GET /i HTTP/1.0\r\n\r\n")
            assert old.read().body == b"end"
        # Bodies of requests, by length and in chunks, after an answer to their expectation.
        link.send(b"PUT /e HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
        link.send(b"lo\r\n1\r\n!\r\n0\r\n\r\n")
        assert link.read().body.endswith(b"hello!") and origin.last("/e").body == b"hello!"
        link.send(b"PUT /e HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n")
        link.send(b"Expect: 100-continue\r\n\r\n")
        assert link.read().status == 100
        link.send(b"abcd")
        assert link.read().body.endswith(b"abcd")
        assert link.get("/e", method="OPTIONS").status == 200
        count = origin.count("/e")
        last = link.get("/e", "Max-Forwards: 0\r\n", "OPTIONS")
        assert last.status == 200 and "OPTIONS" in last["allow"] and origin.count("/e") == count
        link.send(b"OPTIONS http://test HTTP/1.1\r\nHost: test\r\nMax-Forwards: 1\r\n\r\n")
        assert link.read().body == b"all" and origin.last("*")["max-forwards"] == "0"
        refused = link.get("/e", method="TRACE")
        # What the proxy says itself has a date too.
        assert refused.status == 405 and refused["date"].endswith(" GMT")
        assert proxy.get("test:80", method="CONNECT").status == 405
        done = subprocess.run(["curl", "-sS", "--data-binary", "@-", "-D", "-",
                               "http://127.0.0.1:%d/e" % proxy.port], input=b"z" * 300000,
                              check=True, timeout=PATIENCE, capture_output=True).stdout
        assert done.endswith(b"z" * 300000) and origin.last("/e").body == b"z" * 300000


def case_nginx():
    with Nginx() as nginx, Proxy(nginx.port) as proxy:
        nginx.write("file", b"0123456789" * 1000)
        url = "http://127.0.0.1:%d/file" % proxy.port

        def curl(*arguments):
            return subprocess.run(["curl", "-sS", *arguments], check=True, timeout=PATIENCE,
                                  capture_output=True).stdout
        assert curl(url) == b"0123456789" * 1000
        assert b"cariama; hit" in curl("-I", url)
        assert curl("-r", "10-12", url) == b"012"
        assert curl("--compressed", "-H", "Connection: close", url) == b"0123456789" * 1000
        head = curl("-D", "-", "-o", "/dev/null", url).decode()
        tag = next(line.split(": ")[1] for line in head.splitlines() if line.startswith("ETag"))
        assert b" 304 " in curl("-D", "-", "-H", "If-None-Match: " + tag, url)
        # curl's own parallel transfers, over few connections.
        urls = [url + "?%d" % (i % 3) for i in range(60)]
        many = curl("--parallel", "--parallel-max", "20", *urls)
        assert len(many) == 600000
        assert b" 404 " in curl("-D", "-", url + "none")
        # nginx closes idle connections when it is reloaded: the next miss must not notice.
        nginx.process.send_signal(signal.SIGHUP)
        assert curl(url + "?again") == b"0123456789" * 1000

# SPDX-License-Identifier: MIT
# What HTTP promises to clients, seen from outside.
import signal
import subprocess
import sys
import threading

from support import Nginx, Origin, Proxy, PATIENCE, response, until

FRESH = "Cache-Control: max-age=60\r\n"


def counter(fields, status="200 OK"):
    """A page whose body is how often it was asked for."""
    numbers = iter(range(1, 1000000))
    lock = threading.Lock()

    def page(*_):
        with lock:
            return response(b"%d" % next(numbers), fields, status)
    return page


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


def case_revalidation():
    state = {"tag": '"1"', "body": b"one"}

    def page(request, _):
        fields = "Cache-Control: max-age=0\r\nETag: %s\r\nX-Asked: %d\r\n" % (
            state["tag"], len(origin.asked))
        if request["if-none-match"] == state["tag"]:
            return ("HTTP/1.1 304 Not Modified\r\n%s\r\n" % fields).encode()
        return response(state["body"], fields)

    def wrong_304(request, _):
        if request["if-none-match"]:
            return b'HTTP/1.1 304 Not Modified\r\nETag: "other"\r\n\r\n'
        return response(b"%d" % len(origin.asked), 'Cache-Control: max-age=0\r\nETag: "x"\r\n')

    with Origin({"/a": page, "/b": wrong_304}) as origin, Proxy(origin.port) as proxy, \
            proxy.link() as link:
        assert link.get("/a").body == b"one"
        second = link.get("/a")
        assert second.body == b"one" and second["x-asked"] == "2"
        assert second["cache-status"] == "cariama; fwd=stale; fwd-status=304"
        assert link.get("/a", 'If-None-Match: "1"\r\n').status == 304
        assert link.get("/a", "Range: bytes=1-1\r\n").body == b"n"
        state.update(tag='"2"', body=b"two!")
        assert link.get("/a").body == b"two!"
        assert link.get("/a").body == b"two!" and origin.last("/a")["if-none-match"] == '"2"'
        # A 304 about another document than ours is no answer.
        assert link.get("/b").body != link.get("/b").body
        assert proxy.metric('requests_total{cache="revalidated"}') >= 4


def case_vary():
    def page(request, _):
        return response((request["accept-language"] or "none").encode(),
                        FRESH + "Vary: Accept-Language\r\n")

    gate, entered = threading.Event(), threading.Event()

    def late(request, link):
        entered.set()
        assert gate.wait(PATIENCE)
        return page(request, link)

    with Origin({"/a": page, "/late": late, "/star": counter(FRESH + "Vary: *\r\n")}) as origin, \
            Proxy(origin.port) as proxy, proxy.link() as link:
        for _ in range(2):
            for language in ("de", "fr", ""):
                fields = "Accept-Language: %s\r\n" % language if language else ""
                assert link.get("/a", fields).body.decode() == (language or "none")
        assert origin.count("/a") == 3
        # One that waits for another variant gets its own one.
        with proxy.link() as one, proxy.link() as other:
            one.send(b"GET /late HTTP/1.1\r\nHost: b\r\nAccept-Language: de\r\n\r\n")
            assert entered.wait(PATIENCE)
            other.send(b"GET /late HTTP/1.1\r\nHost: b\r\nAccept-Language: fr\r\n\r\n")
            until(lambda: proxy.metric("clients") >= 4, "the second one waits")
            gate.set()
            assert one.read().body == b"de" and other.read().body == b"fr"
        assert [link.get("/star").body for _ in range(2)] == [b"1", b"2"]
        # A field that is hidden from the origin does not make its answer that variant.
        hidden = link.get("/a", "Accept-Language: it\r\nConnection: accept-language\r\n")
        assert hidden.body == b"none" and hidden["cache-status"] == "cariama; fwd=bypass"
        assert link.get("/a", "Accept-Language: it\r\n").body == b"it"
        # Variants of one document that are asked for at once.
        links = [proxy.link() for _ in range(20)]
        for i, each in enumerate(links):
            each.send(b"GET /a?x HTTP/1.1\r\nHost: test\r\nAccept-Language: l%d\r\n\r\n" % (i % 4))
        assert [each.read().body for each in links] == [b"l%d" % (i % 4) for i in range(20)]
        # A change takes all variants away.
        assert link.get("/a", method="DELETE").status == 200
        assert link.get("/a", "Accept-Language: de\r\n")["cache-status"] == "cariama; fwd=miss"
        assert link.get("/a", "Accept-Language: fr\r\n")["cache-status"] == "cariama; fwd=miss"


def case_invalidation():
    pages = {name: counter(FRESH) for name in ("/a", "/b", "/c", "/d")}
    pages["/move"] = response(b"", "Location: /b\r\nContent-Location: http://TEST/c\r\n",
                              "201 Created")
    pages["/bad"] = response(b"", "Location: /d\r\n", "500 Internal Server Error")
    slow, entered = threading.Event(), threading.Event()

    def late(request, _):
        if request.first.startswith("GET"):
            entered.set()
            assert slow.wait(PATIENCE)
        return response(b"x", FRESH)
    pages["/late"] = late
    with Origin(pages) as origin, Proxy(origin.port) as proxy, proxy.link() as link:
        for name in ("/a", "/b", "/c", "/d"):
            assert link.get(name).body == b"1"
        link.send(b"POST /a HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc")
        assert link.read().body == b"2" and origin.last("/a").body == b"abc"
        assert link.get("/a").body == b"3"
        assert link.get("/move", method="PUT").status == 201
        assert link.get("/bad", method="PUT").status == 500
        assert [link.get(name).body for name in ("/b", "/c", "/d")] == [b"2", b"2", b"1"]
        # What was on its way before a change is not stored.
        with proxy.link() as other:
            other.send(b"GET /late HTTP/1.1\r\nHost: test\r\n\r\n")
            assert entered.wait(PATIENCE)
            assert link.get("/late", method="POST").status == 200
            slow.set()
            assert other.read().body == b"x"
        assert link.get("/late")["cache-status"] == "cariama; fwd=miss"


def case_stale():
    state = {"up": True}

    def fails(status, directive):
        def page(*_):
            if state["up"]:
                return response(b"good", 'ETag: "a"\r\nCache-Control: max-age=0%s\r\n' % directive)
            return response(b"bad", "", status) if status else None
        return page

    with Origin({"/error": fails("503 Down", ", stale-if-error=60"),
                 "/dead": fails("", ", stale-if-error=60"),
                 "/strict": fails("503 Down", ", stale-if-error=60, must-revalidate"),
                 "/plain": fails("503 Down", "")}) as origin, \
            Proxy(origin.port) as proxy, proxy.link() as link:
        # These have no lifetime, and are stored for their validators.
        names = ("/error", "/dead", "/strict", "/plain")
        assert [link.get(name).body for name in names] == [b"good"] * 4
        state["up"] = False
        assert [link.get(name).status for name in names] == [200, 200, 503, 503]
        assert link.get("/dead").body == b"good"
        assert proxy.metric('requests_total{cache="stale"}') == 3
    with Origin({"/while": counter('ETag: "a"\r\nCache-Control: max-age=0, '
                                   'stale-while-revalidate=60\r\n')}) as origin, \
            Proxy(origin.port) as proxy, proxy.link() as link:
        assert link.get("/while").body == b"1"
        assert link.get("/while").body == b"1"
        until(lambda: link.get("/while").body != b"1", "it is refreshed")


def case_passed_on():
    def echo(request, _):
        return response(request.first.encode() + b"\n" + request.head + b"\n" + request.body,
                        "Connection: X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\nTransfer-Encoding-X: y\r\n")

    def interim(*_):
        early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        return early + response(b"end")

    with Origin({"/e": echo, "/i": interim}) as origin, Proxy(origin.port) as proxy, \
            proxy.link() as link:
        answer = link.get("/e", "Connection: X-Mine\r\nX-Mine: 1\r\nX-Other: 2\r\n")
        seen = origin.last("/e")
        assert answer["x-hop"] is None and answer["x-end"] == "2"
        assert seen["x-mine"] is None and seen["x-other"] == "2"
        assert seen["via"] == "1.1 cariama" and seen["x-forwarded-for"] == "127.0.0.1"
        assert link.get("/i").body == b"end"
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
        assert link.get("/e", method="TRACE").status == 405
        assert proxy.get("test:80", method="CONNECT").status == 405
        done = subprocess.run(["curl", "-sS", "--data-binary", "@-", "-D", "-",
                               "http://127.0.0.1:%d/e" % proxy.port], input=b"z" * 300000,
                              check=True, timeout=PATIENCE, capture_output=True).stdout
        assert done.endswith(b"z" * 300000) and origin.last("/e").body == b"z" * 300000


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

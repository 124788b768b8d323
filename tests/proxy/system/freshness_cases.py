# SPDX-License-Identifier: MIT
# Which of the documents that are stored answers a request, and for how long it may.
import threading

from messages import FRESH, PATIENCE, counter, response
from support import Origin, Proxy, until


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

    def tags(first, then):
        def page(request, _):
            if request["if-none-match"]:
                return ("HTTP/1.1 304 Not Modified\r\nETag: %s\r\n\r\n" % then).encode()
            return response(b"%d" % origin.count(request.path),
                            "Cache-Control: max-age=0\r\nETag: %s\r\n" % first)
        return page

    with Origin({"/a": page, "/b": wrong_304, "/weaker": tags('"w"', 'W/"w"'),
                 "/stronger": tags('W/"w"', '"w"')}) as origin, Proxy(origin.port) as proxy, \
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
        # A weak tag finds the document; a strong one says more of the bytes than is known of those
        # that are stored (RFC 9111, section 4.3.4).
        assert [link.get("/weaker").body for _ in range(2)] == [b"1", b"1"]
        assert [link.get("/stronger").body for _ in range(2)] == [b"1", b"3"]
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

    def learns(request, _):
        """Says only with a 304 that its languages differ, and from then on."""
        if request["if-none-match"]:
            return (b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nCache-Control: max-age=60\r\n'
                    b"Vary: Accept-Language\r\n\r\n")
        if origin.count(request.path) > 1:
            return page(request, None)
        return response((request["accept-language"] or "none").encode(),
                        'Cache-Control: max-age=0\r\nETag: "a"\r\n')

    with Origin({"/a": page, "/late": late, "/learns": learns,
                 "/star": counter(FRESH + "Vary: *\r\n")}) as origin, \
            Proxy(origin.port) as proxy, proxy.link() as link:
        for language in ("de", "fr", "it", "fr", "de"):
            assert link.get("/learns", "Accept-Language: %s\r\n" % language).body == (
                language.encode())
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
    # What names /x/t of this host in other ways, and what does not.
    names = ["t", "/x/t#part", "//TEST:80/x/t", "http://test/x/t", "http:/x/t"]
    others = ["", "#t", "?t", "https://test/x/t", "//other/x/t", "/t", "x/t", "mailto:t"]
    pages["/x/t"] = pages["/"] = counter(FRESH)
    for number, name in enumerate(names + others):
        pages["/x/%d" % number] = response(b"", "Location: %s\r\n" % name, "201 Created")
    pages["/root"] = response(b"", "Location: http://test?q\r\nContent-Location: //test\r\n")
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
        for number in range(len(names + others)):
            link.get("/x/t")
            assert link.get("/x/%d" % number, method="POST").status == 201
            hit = link.get("/x/t")["cache-status"] == "cariama; hit"
            assert hit == (number >= len(names)), (names + others)[number]
        before = [link.get(name).body for name in ("/", "/?q")]
        assert link.get("/root", method="POST").status == 200
        assert link.get("/").body not in before and link.get("/?q").body not in before
        # The port of http is the same as none.
        link.send(b"PUT /d HTTP/1.1\r\nHost: test:80\r\nContent-Length: 0\r\n\r\n")
        assert link.read().body == b"2" and link.get("/d").body == b"3"
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

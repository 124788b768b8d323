# SPDX-License-Identifier: MIT
# Several proxies that share their memory: where documents come from, changes, deaths.
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time

from changing import ChangingOrigin
from messages import FRESH, PATIENCE, response
from support import Job, Origin, Proxy, job_command, skip, until
SCHEMES = ("ac", "bcc", "ccwr", "mtacc", "hybcc")


def case_job():
    for scheme in SCHEMES:
        pages = {"/d%d" % i: response(b"%d " % i * 3000, FRESH) for i in range(20)}
        pages["/v"] = lambda request, _: response(request["x"].encode(), FRESH + "Vary: X\r\n")
        with Origin(pages) as origin, Job(3, scheme, origin.port, "--cache-mib", "8") as proxies:
            for proxy in proxies:
                with proxy.link() as link:
                    for i in range(20):
                        assert link.get("/d%d" % i).body == b"%d " % i * 3000
            # Each fetches for itself, or one for all.
            asked = len(origin.asked)
            assert asked == (60 if scheme == "ac" else 20), (scheme, asked)
            neighbour = sum(proxy.metric('requests_total{cache="neighbour"}') for proxy in proxies)
            assert (neighbour > 0) == (scheme != "ac"), (scheme, neighbour)
            for x in ("a", "b"):
                for proxy in proxies:
                    assert proxy.get("/v", "X: %s\r\n" % x).body == x.encode()
            # A part of what a neighbour has, and a condition on it.
            assert proxies[2].get("/d7", "Range: bytes=0-3\r\n").body == b"7 7 "
            if scheme == "ac":
                continue
            # A change that passes through one is seen at all of them.
            assert origin.count("/v") == 2, scheme
            pages["/d1"] = response(b"changed", FRESH)
            assert proxies[1].get("/d1", method="POST").status == 200
            assert [proxy.get("/d1").body for proxy in proxies] == [b"changed"] * 3, scheme


def case_job_change():
    gate, entered = threading.Event(), threading.Event()
    numbers = itertools.count()

    def late(request, _):
        body = b"%d" % next(numbers)
        if body == b"0":
            entered.set()
            assert gate.wait(PATIENCE)
        return response(body, FRESH)

    with Origin({"/": late}) as origin, Job(2, "bcc", origin.port) as proxies:
        with proxies[1].link() as early, proxies[1].link() as later:
            early.send(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            assert entered.wait(PATIENCE)
            assert proxies[0].get("/", method="POST").body == b"1"
            # Who asks after the change does not wait for what was asked for before.
            assert later.get("/").body == b"2"
            gate.set()
            assert early.read().body == b"0"
            # Nor is that stored in the place of the newer one.
            bodies = [proxy.get("/").body for proxy in proxies]
            assert bodies == [b"2", b"2"], bodies


def case_job_checked():
    for scheme in SCHEMES[1:]:
        with ChangingOrigin() as origin, Job(2, scheme, origin.port, "--cache-mib", "2") as proxies:
            assert origin.load(proxies, seconds=1.5) > 100
            assert sum(proxy.metric('requests_total{cache="neighbour"}') for proxy in proxies) > 0


def case_job_killed():
    for scheme in ("bcc", "hybcc"):
        with ChangingOrigin() as origin, Job(3, scheme, origin.port, "--cache-mib", "4") as proxies:
            # All but one, one after the other; the first has rank 0.
            last, *victims = proxies[2], proxies[0], proxies[1]

            def kill():
                for victim in victims:
                    asked = len(origin.asked)
                    until(lambda: len(origin.asked) > asked + 10, "there is load")
                    victim.kill()
            killer = threading.Thread(target=kill)
            killer.start()
            # Every byte that comes is right, and from the last one all of them come.
            assert origin.load(proxies, seconds=2, may_end=lambda proxy: proxy is not last) > 100
            killer.join()
            assert all(victim.killed for victim in victims)
            assert last.get("/d0").status == 200


def case_job_stopped():
    """One of them hangs: the others go on, and serve nothing old that lies in its memory."""
    for scheme in ("bcc", "hybcc"):
        with ChangingOrigin() as origin, Job(3, scheme, origin.port, "--cache-mib", "8") as proxies:
            *others, stopped = proxies
            before = origin.load(proxies, seconds=1)
            os.kill(stopped.pid, signal.SIGSTOP)
            try:
                origin.load(others, seconds=4)
                answered = origin.load(others, seconds=1)
                assert answered > before / 5, "%d requests, and %d before" % (answered, before)
            finally:
                os.kill(stopped.pid, signal.SIGCONT)
            # It is one of them again.
            until(lambda: origin.load(others, seconds=0.2) and stopped.get("/d0").status == 200 and
                  stopped.metric("documents") > 0, "it has documents")


def case_job_figures():
    """cariama-top shows what the proxies of a job do, and that one has died."""
    top = os.path.join(os.path.dirname(sys.argv[2]), "../top/cariama-top")
    if not os.path.exists(top):
        skip("cariama-top is not built")
    pages = {"/d%d" % i: response(b"%d " % i * 300, FRESH) for i in range(20)}
    with Origin(pages) as origin, Job(3, "bcc", origin.port, "--cache-mib", "8") as proxies:
        for proxy in proxies:
            for i in range(20):
                assert proxy.get("/d%d" % i).status == 200

        def output(*arguments):
            return subprocess.run([top, *arguments], timeout=PATIENCE, check=True,
                                  capture_output=True, text=True).stdout

        def rows(asked=proxies[0]):
            return json.loads(output("--job", str(asked.pid), "--once", "--json", "--interval",
                                     "100"))

        def shown():
            counters = [row["counters"] for row in rows()]
            return (counters[0]["proxy.miss"], counters[2]["proxy.neighbour"],
                    counters[1]["cache.documents"]) == (20, 20, 20)
        until(shown, "misses, hits and documents")
        # Each of them tells of all, and they are one job.
        assert [row["pid"] for row in rows(proxies[2])] == [proxy.pid for proxy in proxies]
        assert sorted(proxy.pid for proxy in proxies) in [
            sorted(map(int, line.split())) for line in output("--list").splitlines()]
        with open("/dev/full", "w") as full:
            assert subprocess.run([top, "--job", str(proxies[0].pid), "--once"], stdout=full,
                                  stderr=subprocess.DEVNULL, timeout=PATIENCE).returncode == 1
        proxies[1].kill()
        until(lambda: rows()[1]["state"] == "the process has failed or left", "it is gone")
        assert rows()[2]["counters"]["cache.neighbour"] > 0
        # Nobody asks for anything: the proxies, and those who sample and report, do nothing.
        living = [proxies[0], proxies[2]]
        before = sum(proxy.processor_time() for proxy in living)
        time.sleep(2)
        used = sum(proxy.processor_time() for proxy in living) - before
        assert used < 0.2, "%.2f s of processor time in 2 s" % used
        # Who looks at the first one sees the job when that one dies, and so do others.
        watching = subprocess.Popen([top, "--job", str(proxies[0].pid), "--json", "--interval",
                                     "100"], stdout=subprocess.PIPE, text=True)

        def next_rows():
            return json.loads("".join(iter(watching.stdout.readline, "]\n")) + "]")
        try:
            assert next_rows()[0]["state"] == "ok"
            proxies[0].kill()
            until(lambda: next_rows()[0]["state"] != "ok", "it is gone")
            last = next_rows()
            assert [row["state"] for row in last].count("ok") == 1
            assert last[2]["counters"]["proxy.neighbour"] == 20
        finally:
            watching.kill()
            watching.wait(PATIENCE)
        proxies[2].get("/d0")
        until(lambda: rows(proxies[2])[2]["counters"]["proxy.neighbour"] +
              rows(proxies[2])[2]["counters"]["proxy.hit"] +
              rows(proxies[2])[2]["counters"]["proxy.miss"] == 21, "the last one tells of itself")


def case_small_caches():
    """Caches that are smaller than a document."""
    large = b"large " * 400_000
    pages = {"/large": response(large, FRESH), "/small": response(b"small", FRESH)}

    def ask(proxies, origin, copies):
        for proxy in proxies:
            with proxy.link() as link:
                for path, body in (("/small", b"small"), ("/large", large)) * 2:
                    assert link.get(path).body == body, path
            assert proxy.metric("store_bytes") <= 1 << 20
        assert origin.count("/large") == 2 * len(proxies), origin.count("/large")
        assert origin.count("/small") == copies, origin.count("/small")

    with Origin(pages) as origin, Proxy(origin.port, "--cache-mib", "1") as proxy:
        ask([proxy], origin, 1)
    for scheme in SCHEMES:
        with Origin(pages) as origin, Job(2, scheme, origin.port, "--cache-mib", "1") as proxies:
            ask(proxies, origin, 2 if scheme == "ac" else 1)


def case_job_lender():
    pages = {"/d%d" % i: response(b"%d " % i * 10000, FRESH) for i in range(100)}
    for scheme in ("mtacc", "hybcc"):
        with Origin(pages) as origin, \
                Job(2, scheme, origin.port, "--cache-mib", "2", "--lenders", "1") as processes:
            proxy, lender = processes
            assert proxy.port != 0 and lender.port == 0

            def ask_for_all():
                with proxy.link() as link:
                    for i in range(100):
                        assert link.get("/d%d" % i).body == b"%d " % i * 10000
            # More than the proxy has memory for: the lender has a part.
            ask_for_all()
            asked = len(origin.asked)
            ask_for_all()
            assert lender.metric("documents") > 20
            assert proxy.metric('requests_total{cache="neighbour"}') > 20
            assert len(origin.asked) - asked < 60, "most of them are in memory"
            # It takes along what it has.
            lender.kill()
            ask_for_all()
    for arguments, error in [
            (("ccwr", "--lenders", "1"), "the scheme ccwr uses no memory of other tiers"),
            (("local", "--lenders", "1"), "the scheme local uses no memory of other tiers"),
            (("mtacc", "--lenders", "2"), "no process of the job is left to be a proxy")]:
        done = subprocess.run(job_command(2, "--scheme", *arguments), timeout=PATIENCE,
                              capture_output=True, text=True)
        assert done.returncode != 0 and error in done.stderr, done


def case_job_sites():
    page = {"/": response(b"x", FRESH)}
    with Origin(page) as shop, Origin(page) as news:
        sites = "shop=127.0.0.1:%d,news=127.0.0.1:%d" % (shop.port, news.port)
        with Job(5, "hybcc", shop.port, "--cache-mib", "2", "--lenders", "1", "--sites",
                 sites) as processes:
            proxies = processes[:4]

            def of(site):
                return [proxy for proxy in proxies if not proxy.killed and
                        proxy.metric('site{site="%s"}' % site) == 1]

            def until_loaded(clients, met, what):
                """Clients of each site, spread over its proxies, ask until it is met."""
                links = {}

                def ask():
                    for site, count in clients.items():
                        nodes = of(site)
                        for i in range(count):
                            proxy = nodes[i % len(nodes)]
                            key = site, i, proxy.rank
                            if key not in links:
                                links[key] = proxy.link()
                            links[key].send(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % site.encode())
                            assert links[key].read().body == b"x"
                    return met()
                until(ask, what)
                for link in links.values():
                    link.socket.close()

            assert len(of("shop")) == len(of("news")) == 2
            until_loaded({"shop": 12, "news": 1}, lambda: len(of("shop")) == 3, "shop has three")
            assert len(of("news")) == 1, "and no more: news keeps one"
            until_loaded({"shop": 1, "news": 24}, lambda: len(of("news")) >= 2, "news has two")
            # Whatever a proxy is for, it serves both.
            for proxy in proxies:
                for site in ("shop", "news"):
                    with proxy.link() as link:
                        link.send(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % site.encode())
                        assert link.read().body == b"x"
            # A site whose proxies have died gets another one.
            for proxy in of("shop"):
                proxy.kill()
            until_loaded({"news": 4}, lambda: len(of("shop")) == 1, "shop has one again")

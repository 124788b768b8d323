# SPDX-License-Identifier: MIT
# The proxy at work: logs, its end, load, and documents that change and carry their own checksum.
import os
import random
import re
import shutil
import signal
import subprocess
import threading

from changing import ChangingOrigin
from messages import FRESH, PATIENCE, Link, response
from support import Nginx, Origin, Proxy, skip, until


def case_metrics_and_log():
    with Origin({"/": response(b"root", FRESH)}) as origin, Proxy(origin.port) as proxy:
        for _ in range(3):
            assert proxy.get("/", 'User-Agent: "x\\\r\nReferer: r\r\n').status == 200
        assert proxy.metric('requests_total{cache="hit"}') == 2
        assert proxy.metric('requests_total{cache="miss"}') == 1
        assert proxy.metric("origin_requests_total") == 1
        with Link(proxy.metrics_port) as link:
            answer = link.get("/metrics")
            assert answer["content-type"] == "text/plain; version=0.0.4"
            for line in answer.body.decode().splitlines():
                form = r"(# (HELP|TYPE) \w+ .+)|(\w+(\{\w+=\"\w+\"\})? \d+)"
                assert re.fullmatch(form, line), line
            assert link.get("/other").status == 404
        # The port of clients does not know it.
        assert proxy.get("/metrics")["content-type"] != "text/plain; version=0.0.4"

        def lines():
            with open(proxy.log) as file:
                return file.read().splitlines()
        until(lambda: len(lines()) >= 3, "the log is written")
        assert re.fullmatch(r'127\.0\.0\.1 - - \[.+ \+0000\] "GET / HTTP/1\.1" 200 4 "r" '
                            r'"\\x22x\\x5C" hit \d+', lines()[1]), lines()[1]
        # Rotation.
        os.rename(proxy.log, proxy.log + ".1")
        proxy.process.send_signal(signal.SIGHUP)
        until(lambda: os.path.exists(proxy.log), "the log is opened again")
        proxy.get("/")
        until(lambda: len(lines()) == 1, "the new log is written")


def case_graceful_stop():
    gate = threading.Event()

    def slow(_, link):
        link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")
        assert gate.wait(PATIENCE)
        return b"second"[:5]

    with Origin({"/slow": slow, "/": response(b"root", FRESH)}) as origin:
        proxy = Proxy(origin.port)
        idle, busy = proxy.link(), proxy.link()
        assert idle.get("/").body == b"root"
        busy.send(b"GET /slow HTTP/1.1\r\nHost: test\r\n\r\n")
        while b"first" not in busy.rest:
            busy.more()
        proxy.process.send_signal(signal.SIGTERM)
        # Who has nothing on its way is sent home, who has gets it.
        assert idle.ends() and idle.rest == b""
        until(lambda: not accepts(proxy.port), "it takes no more connections")
        gate.set()
        assert busy.read().body == b"firstsecon" and busy.ends()
        assert proxy.process.wait(PATIENCE) == 0
        # Requests that it has not read yet are answered, more than it looks at in one turn.
        proxy = Proxy(origin.port)
        links = [proxy.link() for _ in range(400)]
        assert all(link.get("/").body == b"root" for link in links)
        proxy.process.send_signal(signal.SIGSTOP)
        links += [proxy.link() for _ in range(100)]
        for link in links:
            link.send(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
        proxy.process.send_signal(signal.SIGTERM)
        proxy.process.send_signal(signal.SIGCONT)
        for link in links:
            assert link.answer().body == b"root"
            link.socket.close()
        assert proxy.process.wait(PATIENCE) == 0
        # An end does not wait for ever.
        gate.clear()
        proxy = Proxy(origin.port, "--drain-timeout", "1")
        with proxy.link() as busy:
            busy.send(b"GET /slow HTTP/1.1\r\nHost: test\r\n\r\n")
            while b"first" not in busy.rest:
                busy.more()
            proxy.process.send_signal(signal.SIGTERM)
            assert proxy.process.wait(PATIENCE) == 0
        gate.set()


def accepts(port):
    try:
        Link(port, 1).socket.close()
        return True
    except OSError:
        return False


def case_checked():
    with ChangingOrigin() as origin, Proxy(origin.port, "--cache-mib", "1") as proxy:
        assert origin.load([proxy], seconds=3) > 100
        assert proxy.metric('requests_total{cache="hit"}') > 20
        assert proxy.metric("evictions_total") > 0


WRK = """
local n = 0
request = function()
  n = n + 1
  return wrk.format("GET", "/f" .. (n * 7919) % 50)
end
"""


def case_load():
    if not shutil.which("wrk"):
        skip("wrk is not installed: scripts/setup test")
    with Nginx() as nginx, Proxy(nginx.port, "--cache-mib", "1") as proxy:
        source = random.Random(1)
        for i in range(50):
            nginx.write("f%d" % i, source.randbytes(source.randrange(1000, 64000)))
        script = os.path.join(proxy.folder, "load.lua")
        with open(script, "w") as file:
            file.write(WRK)
        done = subprocess.run(["wrk", "-t", "1", "-c", "50", "-d", "3", "-s", script,
                               "http://127.0.0.1:%d" % proxy.port], check=True, timeout=PATIENCE,
                              capture_output=True, text=True).stdout
        assert "Non-2xx" not in done and "Socket errors" not in done, done
        assert proxy.metric('requests_total{cache="hit"}') > 100
        assert proxy.metric("evictions_total") > 0
        assert proxy.metric("store_bytes") <= 1 << 20

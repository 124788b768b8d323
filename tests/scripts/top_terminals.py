#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# top_terminals.py TOP: what cariama-top shows of a scripted job on terminals of all kinds.
import fcntl
import json
import os
import pty
import re
import select
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

top = sys.argv[1]
PROCESS = b"process 0 %d 0 h\xc3\xb6st.example ok\n" % os.getpid()
UNITS = b"counter a.total.with.a.name.of.many.letters total %d messages\n"
FIGURES = (b"counter b.lev level 999999 B\n"
           b"counter c.\xc2\x9b31m\xff level 7 \xc2\xb5s\n"
           b"counter d.back total %d B\n")


class Reporter:
    """As monitoring::Reporter, for the job of this process."""

    def __init__(self):
        self.asked = 0
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(b"\0cariama-top.%d.%d" % (os.geteuid(), os.getpid()))
        self.listener.listen(16)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            self.asked += 1
            with client:
                client.sendall(b"job 1\n" + PROCESS + UNITS % (self.asked * 999600)
                               + FIGURES % (10**9 - self.asked) + b"end\n")


def command(*more):
    return [top, "--job", str(os.getpid()), "--interval", "100", *more]


def seen(rows, columns, kind, screens=3):
    """What a terminal gets."""
    terminal, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "TERM"}
    if kind is not None:
        environment["TERM"] = kind
    shown = subprocess.Popen(command(), stdout=other, env=environment)
    os.close(other)
    text, end = b"", time.monotonic() + 10
    while max(text.count(b"job of"), text.count(b"\033[H")) <= screens:
        assert time.monotonic() < end, (rows, columns, kind, text)
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 65536)
    assert shown.poll() is None, (rows, columns, kind, "it has ended")
    shown.kill()
    shown.wait()
    os.close(terminal)
    return text


reporter = Reporter()
for rows, columns in ((60, 30), (60, 29), (60, 20), (60, 13), (60, 9), (60, 3), (60, 1), (2, 20),
                      (1, 80), (0, 0), (60, 0), (0, 20)):
    text = seen(rows, columns, "xterm")
    screens = text.split(b"\033[H\033[J")[1:-1]
    assert screens, (rows, columns, text)
    for screen in screens:
        assert re.fullmatch(rb"[ -~\r\n]*", screen), (rows, columns, screen)
        lines = screen.decode().split("\r\n")
        assert lines[-1] == "" and (rows <= 1 or len(lines) <= rows), (rows, columns, screen)
        assert not columns or all(len(line) <= columns for line in lines), (columns, screen)
        if rows in (1, 2):
            continue
        # Numbers are whole, or not there.
        words = [line.strip() for line in lines]
        assert "e+" not in screen.decode(), screen
        if columns == 0 or columns >= 30:
            assert re.search(r"b.lev +1 MB", screen.decode()), screen
        elif columns >= 9:
            assert words[words.index("b.lev") + 1] == "1 MB", screen
        else:
            assert columns < 3 or "#" in screen.decode(), screen
        if columns in (13, 20, 29):
            number = r"\d[.\d]* [kM]messages(/s)?|#+"
            assert any(re.fullmatch(number, word) for word in words), screen
        # What was set back has no rate.
        assert " E" not in screen.decode(), screen

# Terminals that cannot go back, and what is none, get one table after another.
for kind in (None, "", "dumb"):
    text = seen(10, 40, kind)
    assert text.count(b"job of") >= 2 and re.fullmatch(rb"[ -~\r\n]*", text), (kind, text)
    assert text.count(b"b.lev") >= 2, (kind, text)
pipe = subprocess.Popen(command(), stdout=subprocess.PIPE)
text = b""
while text.count(b"job of") < 3:
    text += os.read(pipe.stdout.fileno(), 65536)
assert re.fullmatch(rb"[ -~\n]*", text), text
# Nobody reads any more: it ends, by itself.
pipe.stdout.close()
pipe.wait(10)
whole = subprocess.run(command("--once", "--json"), check=True, capture_output=True).stdout
counters = json.loads(whole)[0]["counters"]
assert counters["b.lev"] == 999999 and len(counters) == 4, counters
# It names itself once, and what is wrong.
full = open("/dev/full", "w")
for more, what in ((("--once", "--job", str(os.getpid())), "output: it cannot be written"),
                   (("--once", "--job", "1"), "process 1: it reports about no job")):
    failed = subprocess.run([top, *more], stdout=full, stderr=subprocess.PIPE, text=True,
                            timeout=60)
    assert failed.returncode == 1 and failed.stderr.count("cariama-top") == 1, failed
    assert failed.stderr.startswith("cariama-top: " + what), failed
print("top_terminals: ok")

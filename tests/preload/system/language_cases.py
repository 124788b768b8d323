# SPDX-License-Identifier: MIT
"""Tests that languages have of their own modules for networks: those pass under preload that pass
without."""
import os
import re
import subprocess
import tempfile
import time

from harness import need, running, skip
from program_cases import has_streams

#: Seconds for one run of them; a machine is slow when others use it.
LIMIT = 400


def result(command, preload):
    """What a program ended with and wrote, and whether it had a stream meanwhile."""
    with tempfile.TemporaryFile("w+") as said:
        with running(command, preload, stdin=subprocess.DEVNULL, stdout=said,
                     stderr=subprocess.STDOUT) as process:
            deadline = time.monotonic() + LIMIT
            carried = False
            while process.poll() is None:
                assert time.monotonic() < deadline, f"{command} does not end"
                carried = carried or has_streams(process)
                time.sleep(0.005)
        said.seek(0)
        return process.returncode, said.read(), carried


def failed(module, patterns, preload):
    """The names of the tests that did not pass, with what was said when the run itself went wrong;
    and whether there was a stream meanwhile."""
    code, text, carried = result(["/usr/bin/python3", "-m", "test", "-v", *[
        a for p in patterns for a in ("-m", p)], module], preload)
    ran = re.search(r"Ran (\d+) tests? in", text)
    print(module, "preload" if preload else "TCP", ran and ran[0], text[-200:])
    names = set(re.findall(r"^(?:FAIL|ERROR): (.*)", text, re.MULTILINE))
    if code != 0 and not names or not ran or ran[1] == "0":
        names.add(f"the run ended with {code}: {text[-2000:]}")
    return names, carried


def passes_as_without(module, patterns):
    try:
        __import__(f"test.{module}")
    except ImportError:
        skip("libpython3-testsuite is not installed")
    names, carried = failed(module, patterns, True)
    assert carried, "no connection went over a stream"
    # Those may fail that fail on this machine without the library.
    assert not names or names <= failed(module, patterns, False)[0], names


def python():
    """Those that use TCP; a machine may have kinds of sockets on which their tests wait for ever."""
    passes_as_without("test_socket", [f"*{name}*" for name in (
        "TCP", "Sendfile", "FileObject", "SocketConnect", "CreateConnection")])


def asyncio():
    """Those of the modules that open connections; the others compute."""
    passes_as_without("test_asyncio", [f"*.test_{name}.*" for name in (
        "base_events", "buffered_proto", "events", "sendfile", "server", "sock_lowlevel", "ssl",
        "streams", "unix_events")])


def prolog():
    """Those of SWI-Prolog's libraries for sockets and HTTP."""
    need("swipl")
    folder = "/usr/lib/swi-prolog/test/packages"
    if not os.path.exists(folder):
        skip("swi-prolog-test is not installed")
    for test in ("clib/test_socket", "http/test_http", "http/test_websocket"):
        command = ["swipl", "-q", "-f", f"{folder}/{test}.pl", "-g", os.path.basename(test),
                   "-t", "halt"]
        code, text, carried = result(command, True)
        print(test, "ended with", code, "with a stream" if carried else "without a stream", text)
        assert code == 0 or result(command, False)[0] != 0, test
        assert carried or test != "clib/test_socket", "no connection went over a stream"

# SPDX-License-Identifier: MIT
"""Runs two programs that talk over TCP, with and without the preload library."""
import contextlib
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../support"))
from system_tests import skip

PATIENCE = 20
LIBRARY = None


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            skip(f"{program} is not installed")


def environment(preload, after=1):
    """Of a program; after so many transfers it asks for a stream. "async": that sends long pieces
    asynchronously."""
    changed = dict(os.environ)
    changed.pop("LD_PRELOAD", None)
    if preload:
        changed["LD_PRELOAD"] = LIBRARY
        if preload == "async":
            changed["LD_PRELOAD"] = LIBRARY.replace(".so", "-async.so")
            changed["CARIAMA_PRELOAD_ASYNC_SENDS"] = "1"
        if after is not None:
            changed["CARIAMA_PRELOAD_AFTER"] = str(after)
    return changed


@contextlib.contextmanager
def running(command, preload, after=1, **options):
    """A process that is killed at the end, if it has not ended."""
    process = subprocess.Popen(command, env=environment(preload, after), text=True,
                               start_new_session=True, **options)
    try:
        yield process
    finally:
        # With the children that it has forked.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)


def run(command, preload, after=1, timeout=PATIENCE, **options):
    """What a program wrote; it has to end well."""
    done = subprocess.run(command, env=environment(preload, after), text=True, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def role(name, *arguments, module="roles.py"):
    """The command of one of the programs in roles.py."""
    return ["/usr/bin/python3", os.path.join(HERE, module), name, *map(str, arguments)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the server ended with {process.returncode}"
        # Not by connecting: some programs serve one client at a time.
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(table, encoding="ascii") as sockets:
                if re.search(f":{port:04X} 0+:0000 0A ", sockets.read()):
                    return
        time.sleep(0.02)
    raise AssertionError("nobody listens")


def sent_over_tcp(connection):
    """Bytes that the kernel says it has sent."""
    information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    sent, again = struct.unpack_from("QQ", information, 200)
    return sent - again

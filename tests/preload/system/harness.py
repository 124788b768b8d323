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
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../support"))
from system_tests import skip

PATIENCE = 20
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
LIBRARY = None
#: See late_answers.cpp.
LATE_ANSWERS = None
#: How programs reach each other as if they were on two hosts; see between_hosts.
HOSTS = {}


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            skip(f"{program} is not installed")


def environment(preload, after=1):
    """Of a program; after so many transfers it asks for a stream. "async": that sends long pieces
    asynchronously. "late": that hears late of what there is to read. "hosts", within between_hosts: that takes this host for another one; "stranger":
    with another secret."""
    changed = {name: text for name, text in os.environ.items()
               if name != "LD_PRELOAD" and not name.startswith("CARIAMA_PRELOAD_")}
    if preload:
        changed["LD_PRELOAD"] = LIBRARY
        if preload == "async":
            changed["LD_PRELOAD"] = LIBRARY.replace(".so", "-async.so")
            changed["CARIAMA_PRELOAD_ASYNC_SENDS"] = "1"
        if preload == "late":
            changed["LD_PRELOAD"] = f"{LIBRARY}:{LATE_ANSWERS}"
        if preload in ("hosts", "stranger"):
            changed.update(HOSTS, CARIAMA_PRELOAD_SECRET_FILE=HOSTS[preload])
            del changed["hosts"], changed["stranger"]
        if after is not None:
            changed["CARIAMA_PRELOAD_AFTER"] = str(after)
    return changed


@contextlib.contextmanager
def between_hosts():
    """Secrets, and a port for a broker, with a function that starts one. CARIAMA_TEST_DEVICE is the
    device."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("hosts", "stranger"):
            HOSTS[name] = os.path.join(folder, name)
            with open(HOSTS[name], "w", encoding="ascii",
                      opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(f"the secret of {name}, of many bytes\n")
        HOSTS["CARIAMA_PRELOAD_DEVICE"] = os.environ.get("CARIAMA_TEST_DEVICE", "shm")
        HOSTS["CARIAMA_PRELOAD_LOCAL"] = "remote"
        HOSTS["CARIAMA_PRELOAD_BROKER_PORT"] = str(free_port())
        brokers = []

        def start_broker(*inside):
            command = [*inside, os.path.join(os.path.dirname(LIBRARY), "cariama-stream-broker"),
                       HOSTS["hosts"], HOSTS["CARIAMA_PRELOAD_BROKER_PORT"]]
            # It returns when the broker is there.
            subprocess.run(command, check=True, timeout=PATIENCE)
            brokers.append(broker_at(int(HOSTS["CARIAMA_PRELOAD_BROKER_PORT"])))
            return brokers[-1]

        try:
            yield start_broker
        finally:
            for broker in brokers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(broker, signal.SIGKILL)


def broker_at(port):
    """The process that began as a broker for this port."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
            if words[0].endswith(b"/cariama-stream-broker") and words[2] == str(port).encode():
                return int(name)
    raise AssertionError("there is no broker")


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


def pair(server, client, *arguments, preloaded, carried, **options):
    """Runs the client's role against the server's; both end well. "carried" among the arguments
    says whether the bytes should go over a stream. A client has limits of its own, so it says what
    it waited for."""
    with running(role(*server), preloaded[0], **PIPES) as process:
        port = process.stdout.readline().strip()
        run(role(client, port, *[int(carried) if a == "carried" else a for a in arguments]),
            preloaded[1], **{"timeout": 2 * PATIENCE, **options})
        assert process.poll() is None


def ending(preload, state, end):
    """What the client sees when the server gets into a state, and is ended there."""
    with running(role("doomed", state), preload, **PIPES) as server:
        port = server.stdout.readline().strip()
        with running(role("bereaved", port, int(bool(preload)), state), preload, **PIPES) as client:
            assert server.stdout.readline().strip() == "accepted"
            assert client.stdout.readline().strip() == "ready"
            assert server.stdout.readline().strip() == "ready"
            end(server)
            seen = client.communicate("killed\n", timeout=PATIENCE)[0].strip()
            assert client.returncode == 0
            return seen


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

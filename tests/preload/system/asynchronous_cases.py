# SPDX-License-Identifier: MIT
"""Asynchronous sends (AZ-SDP) of programs that know nothing of them."""
import ctypes
import hashlib
import os
import subprocess

import asynchronous_roles
import harness
from harness import role, run, running, skip

PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
USERFAULTFD = {"x86_64": 323}.get(os.uname().machine, 282)


def need_userfaultfd():
    fd = ctypes.CDLL(None).syscall(USERFAULTFD, os.O_CLOEXEC)
    if fd >= 0:
        os.close(fd)
    elif not os.access("/dev/userfaultfd", os.R_OK | os.W_OK):
        skip("this user may not use userfaultfd(2), so nothing is sent asynchronously")


def received(deed):
    """What the peer gets of a program that does this to the memory that it has sent."""
    command = role("late_reader", module="asynchronous_roles.py")
    with running(command, "async", **PIPES) as server:
        port = server.stdout.readline().strip()
        command = role("sender", port, deed, module="asynchronous_roles.py")
        with running(command, "async", **PIPES) as client:
            # Before the peer has read: the send did not wait.
            assert client.stdout.readline().strip() == "sent", deed
            server.stdin.write("read\n")
            server.stdin.flush()
            digest = server.communicate(timeout=harness.PATIENCE)[0].strip()
            client.communicate(timeout=harness.PATIENCE)
            assert client.returncode == 0, deed
    return digest


def asynchronous():
    need_userfaultfd()
    once = hashlib.sha256(asynchronous_roles.content(1)).hexdigest()
    for deed in ("change", "kernel", "unmap", "shared", "freed", "moved", "forked", "closed",
                 "half_closed", "exits", "ends"):
        assert received(deed) == once, deed
    all_three = b"".join(asynchronous_roles.content(seed) for seed in (1, 2, 3))
    assert received("again") == hashlib.sha256(all_three).hexdigest()


def asynchronous_programs():
    """What programs do as they always do."""
    need_userfaultfd()
    for server, *clients in (
            ("echo", "random_client", "semantics_client", "two_threads_client", "signals_client"),
            ("echo_fork", "random_client", "forked_client"), ("echo_epoll", "random_client")):
        more = ["edge"] if server == "echo_epoll" else []
        with running(role(server, *more), "async", **PIPES) as process:
            port = process.stdout.readline().strip()
            for client in clients:
                run(role(client, port, 1), "async")

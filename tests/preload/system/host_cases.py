# SPDX-License-Identifier: MIT
"""Programs that take each other for programs of other hosts, and meet through a broker."""
import contextlib
import os
import signal
import subprocess
import tempfile

from harness import (HOSTS, PATIENCE, PIPES, between_hosts, ending, free_port, need, pair, role,
                     run, running, skip)
from program_cases import has_streams, server

BOTH = ("hosts", "hosts")


def hosts():
    """As on one host, but over the device of the test and a broker."""
    with between_hosts() as start_broker:
        start_broker()
        pair(["echo"], "random_client", "carried", preloaded=BOTH, carried=True)
        pair(["echo_epoll", "level"], "crowd_client", 20, preloaded=BOTH, carried=True)
        pair(["echo_prefork"], "random_client", "carried", preloaded=BOTH, carried=True)


def hosts_rdma():
    """The same with less, for an emulated device in an emulated machine; and a death."""
    with between_hosts() as start_broker:
        start_broker()
        pair(["echo"], "random_client", "carried", 8, preloaded=BOTH, carried=True)
        for state in ("idle", "sent", "looks"):
            assert ending("hosts", state, kill) == f"{3000 * (state == 'sent')} end EPIPE"


def hosts_redis():
    need("redis-server", "redis-benchmark", "redis-cli")
    port = free_port()
    with between_hosts() as start_broker, tempfile.TemporaryDirectory() as folder:
        start_broker()
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                   "--dir", folder]
        with server(command, port, "hosts") as process:
            load = ["redis-benchmark", "-p", str(port), "-q", "-d", "100", "-t", "set,get,lpush"]
            with running([*load, "-n", "10000"], "hosts", stdout=subprocess.DEVNULL) as busy:
                carried = False
                while busy.poll() is None:
                    carried = carried or has_streams(process)
                assert busy.returncode == 0 and carried
            run([*load, "-n", "20000", "-P", "16"], "hosts")
            # Programs that end while a stream is made.
            for times in range(20):
                run(["redis-cli", "-p", str(port), "-r", str(1 + times % 5), "ping"], "hosts")
            assert run(["redis-cli", "-p", str(port), "llen", "mylist"], "hosts").strip() == "30000"


def hosts_plain():
    """Whatever is missing, the connection stays TCP, and nobody notices."""
    with between_hosts() as start_broker:
        # No broker; then a client with another secret, and sides without the library.
        pair(["echo"], "random_client", "carried", preloaded=BOTH, carried=False)
        start_broker()
        for preloaded in (("hosts", "stranger"), (False, "hosts"), (True, "hosts"),
                          ("hosts", False)):
            pair(["echo"], "random_client", "carried", preloaded=preloaded, carried=False)


@contextlib.contextmanager
def two_networks():
    """The words before a command that let it run in one of two networks, joined by a cable."""
    names = [f"cariama-{os.getpid()}-{side}" for side in "ab"]
    try:
        for name in names:
            try:
                subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                skip("this process may not make networks (ip netns add)")
        one, other = names
        for command in (f"ip -n {one} link add cable type veth peer name cable netns {other}",
                        f"ip -n {one} address add 10.213.7.1/24 dev cable",
                        f"ip -n {other} address add 10.213.7.2/24 dev cable",
                        f"ip -n {one} link set cable up", f"ip -n {other} link set cable up"):
            try:
                subprocess.run(command.split(), check=True, capture_output=True)
            except subprocess.CalledProcessError:
                skip("networks of this machine cannot be joined (veth)")
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


@contextlib.contextmanager
def two_hosts():
    """As two_networks, with a broker in the first one. They have no names and no addresses in
    common, as two hosts have none, but they share the memory of shm."""
    os.environ["CARIAMA_TEST_DEVICE"] = "shm"
    os.environ["CARIAMA_TEST_HOST"] = "10.213.7.1"
    with two_networks() as (one, other), between_hosts() as start_broker:
        del HOSTS["CARIAMA_PRELOAD_LOCAL"]
        start_broker(*one)
        yield one, other


def hosts_forks():
    """A process forks that will have a stream to another host, or has one."""
    with two_hosts() as (one, other):
        for server, client, *arguments in (
                # The child serves what its parent has accepted.
                ("echo_fork", "random_client", 1, 100), ("echo_child", "random_client", 1, 100),
                ("echo_forking_mixin", "random_client", 1, 100),
                # Parent and child write, or read, in turn.
                ("only_receives", "fork_writes_client", 1), ("only_sends", "fork_reads_client", 1),
                ("echo", "fork_unread_client", 1, "receive", "child"),
                ("echo", "fork_unread_client", 1, "level", "parent"),
                ("echo", "fork_split_client", 1), ("echo_then_forks", "both_fork_client", 1),
                # The process that has the stream ends.
                ("echo", "orphan_client", 1, "unread", "exits"),
                ("echo", "orphan_client", 1, "fresh", "closes"),
                ("echo", "orphan_client", 1, "used", "killed"),
                ("echo", "child_dies_client", 1)):
            with running([*one, *role(server)], "hosts", **PIPES) as process:
                port = process.stdout.readline().strip()
                print(server, client, *arguments, flush=True)
                run([*other, *role(client, port, *arguments)], "hosts")
                if server == "echo":
                    assert process.poll() is None


def hosts_networks():
    with two_hosts() as (one, other):
        for client, carried in (("hosts", True), ("stranger", False), (False, False), (True, False)):
            with running([*one, *role("echo")], "hosts", **PIPES) as process:
                port = process.stdout.readline().strip()
                run([*other, *role("random_client", port, int(carried), 50)], client)
                assert process.poll() is None


def hosts_killed():
    """A broker that is killed takes no stream along; the death of a peer is what TCP makes of it."""
    with between_hosts() as start_broker:
        broker = start_broker()
        with running(role("echo_epoll", "level"), "hosts", **PIPES) as process:
            port = process.stdout.readline().strip()
            with running(role("steady_client", port), "hosts", **PIPES) as client:
                assert client.stdout.readline().strip() == "carried"
                os.kill(broker, signal.SIGKILL)
                assert client.communicate("go\n", timeout=PATIENCE)[0].strip() == "done"
                assert client.returncode == 0
            run(role("random_client", port, 0), "hosts")
        start_broker()
        for state in ("idle", "sent", "half", "looks"):
            plain, carried = (ending(preload, state, kill) for preload in (False, "hosts"))
            print(state, "TCP:", plain, "streams:", carried)
            assert plain == carried


def kill(process):
    process.kill()
    process.wait(PATIENCE)

# SPDX-License-Identifier: MIT
"""Programs that take each other for programs of other hosts, and meet through a broker."""
import os
import signal

from harness import (PATIENCE, PIPES, between_hosts, ending, pair, role, run, running)

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
        for state in ("idle", "sent"):
            assert ending("hosts", state, kill) == f"{3000 * (state == 'sent')} end EPIPE"


def hosts_plain():
    """Whatever is missing, the connection stays TCP, and nobody notices."""
    with between_hosts() as start_broker:
        # No broker; then a client with another secret, and sides without the library.
        pair(["echo"], "random_client", "carried", preloaded=BOTH, carried=False)
        start_broker()
        for preloaded in (("hosts", "stranger"), (False, "hosts"), (True, "hosts"),
                          ("hosts", False)):
            pair(["echo"], "random_client", "carried", preloaded=preloaded, carried=False)


def hosts_killed():
    """A broker that is killed takes no stream along; the death of a peer is what TCP makes of it."""
    with between_hosts() as start_broker:
        broker = start_broker()
        with running(role("echo_epoll", "level"), "hosts", **PIPES) as server:
            port = server.stdout.readline().strip()
            with running(role("steady_client", port), "hosts", **PIPES) as client:
                assert client.stdout.readline().strip() == "carried"
                os.kill(broker, signal.SIGKILL)
                assert client.communicate("go\n", timeout=PATIENCE)[0].strip() == "done"
                assert client.returncode == 0
            run(role("random_client", port, 0), "hosts")
        start_broker()
        for state in ("idle", "sent", "half"):
            plain, carried = (ending(preload, state, kill) for preload in (False, "hosts"))
            print(state, "TCP:", plain, "streams:", carried)
            assert plain == carried


def kill(server):
    server.kill()
    server.wait(PATIENCE)

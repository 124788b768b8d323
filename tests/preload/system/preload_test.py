# SPDX-License-Identifier: MIT
"""System tests of libcariama-preload.so: preload_test.py LIBRARY CASE JUMPER CALLER. Each case runs programs
over plain TCP, under preload, and where it makes a difference with only one side under preload."""
import difflib
import os
import signal
import subprocess
import sys

import asynchronous_cases
import forking_programs
import harness
import host_cases
import language_cases
import program_cases
import service_cases
from harness import PIPES, ending, pair, role, run, running, skip

#: Which of server and client are preloaded.
WAYS = [(False, False), (True, True), (True, False), (False, True)]


def pairs(server, client, *arguments, ways=None, **options):
    """Runs the client's role against the server's, in all ways; both end well."""
    for preloaded in ways or WAYS:
        pair(server, client, *arguments, preloaded=preloaded, carried=all(preloaded), **options)


def blocking():
    pairs(["echo"], "random_client", "carried")


def level():
    pairs(["echo_epoll", "level"], "random_client", "carried", ways=WAYS[:2])
    pairs(["echo_epoll", "level"], "crowd_client", 40, ways=WAYS[:2])


def edge():
    pairs(["echo_epoll", "edge"], "random_client", "carried", ways=WAYS[:2])
    pairs(["echo_epoll", "edge"], "crowd_client", 40, ways=WAYS[:2])


def semantics():
    for client in ("semantics_client", "signals_client", "signaled_client", "shutdown_wakes_client",
                   "two_threads_client", "non_blocking_client", "sends_first_client"):
        pairs(["echo"], client, "carried", ways=WAYS[:2])
    with running(role("echo"), True, **PIPES) as process:
        port = process.stdout.readline().strip()
        for carried in (0, 1):
            run(role("uring_client", port, carried), True)
        run(role("uring_first", port), True)
    with running(role("echo_epoll", "level"), True, **PIPES) as process:
        run(role("uring_between", process.stdout.readline().strip()), True)


def forks():
    pairs(["echo_fork"], "random_client", "carried")
    pairs(["echo_prefork"], "random_client", "carried")
    for server, streams in (("echo_forking_mixin", 1), ("echo_child", 1), ("echo_inetd", 0),
                            ("echo_passed", 0)):
        pairs([server], "random_client", streams and "carried", 100, ways=WAYS[:2])
    pairs(["echo"], "child_of_client", ways=WAYS[:2])
    pairs(["echo_fork"], "forked_client", "carried", ways=WAYS[:2])
    pairs(["echo"], "shared_client", ways=WAYS[:2])
    pairs(["echo_fork"], "unseen_fork_client", "carried", ways=WAYS[:2])
    pairs(["echo_epoll", "level"], "busy_forks_client", "carried", ways=WAYS[:2])


def shared():
    """Processes that share what was a stream when they forked."""
    two = {"ways": WAYS[:2]}
    for way in ("receive", "poll", "select", "level", "edge"):
        for first in ("child", "parent"):
            pairs(["echo"], "fork_unread_client", "carried", way, first, **two)
        # The peer's word on TCP is taken while the child hears of it.
        pairs(["echo"], "fork_polls_client", "carried", way, ways=[*WAYS[:2], (True, "late")])
    for server in (["echo"], ["echo_epoll", "level"], ["echo_epoll", "edge"]):
        pairs(server, "fork_split_client", "carried", **two)
        pairs(server, "child_dies_client", "carried", **two)
    pairs(["echo"], "stopped_owner_client", "carried", **two)
    pairs(["echo_then_forks"], "both_fork_client", "carried", **two)
    for client in ("late_inetd_client", "unread_inetd_client"):
        pairs(["echo_then_execs"], client, "carried", **two)
    for preload in (False, True):
        for server, client in (("only_sends", "fork_reads_client"),
                               ("only_receives", "fork_writes_client")):
            with running(role(server), preload, **PIPES) as process:
                run(role(client, process.stdout.readline().strip(), int(preload)), preload)


def orphans():
    """One of the processes, or the peer, ends or is killed."""
    for state in ("fresh", "unread", "used"):
        for way in ("exits", "killed", "closes"):
            for server in (["echo"], ["echo_epoll", "level"]):
                pairs(server, "orphan_client", "carried", state, way, ways=WAYS[:2])
    # The peer leaves its stream when the process that had the other end is no more.
    for state in ("dozes", "asked"):
        for way in ("exits", "killed", "closes"):
            pairs(["echo_dozes"], "orphan_client", "carried", state, way, ways=WAYS[:2])
    for preload in (False, True):
        for state in ("fresh", "asks", "used"):
            for stops in (False, True):
                with running(role("echo"), preload, **PIPES) as server:
                    port = server.stdout.readline().strip()
                    client = role("widowed_client", port, int(preload), state)
                    with running(client, preload, **PIPES) as process:
                        assert process.stdout.readline().strip() == "ready"
                        if stops:
                            server.send_signal(signal.SIGSTOP)
                        server.kill()
                        process.communicate("killed\n", timeout=harness.PATIENCE)
                        assert process.returncode == 0, f"{state} {stops}"


def survivors():
    """The process that has the stream is killed, and others have the connection."""
    two = {"ways": WAYS[:2]}
    for server in (["echo"], ["echo_epoll", "level"], ["echo_epoll", "edge"]):
        for state in ("sent", "part", "arrived"):
            pairs(server, "killed_client", "carried", state, **two)
        for first in ("idle", "receives"):
            pairs(server, "two_die_client", "carried", first, **two)
    pairs(["echo"], "random_kills_client", "carried", 7, **two)
    for then in ("wakes", "dies"):
        pairs(["echo"], "stopped_client", "carried", then, **two)
    for preload in (False, True):
        for server, client in (("only_sends", "reads_on_client"),
                               ("only_receives", "writes_on_client")):
            with running(role(server), preload, **PIPES) as process:
                run(role(client, process.stdout.readline().strip(), int(preload)), preload)


def programs():
    pairs(["close_all"], "random_client", "carried", ways=WAYS[:2])
    pairs(["echo"], "spawn_client", "carried", ways=WAYS[:2])
    # The connection is given on before anybody asks for a stream.
    for preload in (False, True):
        with running(role("echo"), preload, after=4, **PIPES) as process:
            port = process.stdout.readline().strip()
            run(role("exec_client", port), preload, after=4)
    for preload, sends in ((False, 0), (True, 0), (True, 1)):
        with running(role("echo_then_exec"), preload, **PIPES) as process:
            port = process.stdout.readline().strip()
            run(role("client_of_exec", port, int(preload), sends), preload)


def many():
    pairs(["echo_epoll", "level"], "many_client", 10000, ways=[(True, True)],
          timeout=6 * harness.PATIENCE)


def descriptors():
    """More connections than there are descriptors for, at either side."""
    limit = 200
    for preload in (False, True):
        with running(role("echo_epoll", "level"), preload, **PIPES) as server:
            port = server.stdout.readline().strip()
            print(run(role("greedy_client", port, limit, int(preload)), preload))
        with running(role("greedy_server", limit), preload, **PIPES) as server:
            port = server.stdout.readline().strip()
            with running(role("crowd_at_greedy_server", port, limit), preload, **PIPES) as client:
                told = server.stdout.readline().strip()
                client.communicate(f"{told}\n", timeout=harness.PATIENCE)
                assert told == "EMFILE" and client.returncode == 0
            assert server.poll() is None


def full():
    for preload in (False, True):
        with running(role("never_reads"), preload, **PIPES) as server:
            port = server.stdout.readline().strip()
            with running(role("fills_client", port, int(preload)), preload, **PIPES) as client:
                assert client.stdout.readline().strip() == "full"
                server.stdin.write("go\n")
                server.stdin.flush()
                sent = client.communicate(timeout=harness.PATIENCE)[0].strip()
                assert client.returncode == 0
            assert server.communicate(timeout=harness.PATIENCE)[0].strip() == sent


def killed():
    """As with TCP, but for one thing: bytes that a killed process had not read make no reset."""
    def kill(server):
        server.kill()
        server.wait(harness.PATIENCE)

    for state in ("idle", "sent", "half", "unread"):
        plain, carried = ending(False, state, kill), ending(True, state, kill)
        print(state, "TCP:", plain, "streams:", carried)
        if state == "unread":
            assert plain == "0 ECONNRESET EPIPE" and carried == "0 end EPIPE"
        else:
            assert plain == carried


def closed():
    for state in ("reset", "close_unread"):
        plain = ending(False, state, lambda _: None)
        assert plain == "0 ECONNRESET EPIPE", plain
        carried = ending(True, state, lambda _: None)
        assert plain == carried, f"{state}: {plain}, {carried}"


def stranger():
    """Who has the name of a connection without being its other side is not listened to."""
    if os.geteuid() != 0:
        skip("needs to start a process of another user")
    nobody = {"user": 65534, "cwd": "/"}
    with running(role("echo"), True, **PIPES) as process:
        port = process.stdout.readline().strip()
        run(role("random_client", port, 1), True)
        run(role("random_client", port, 0), True, **nobody)
        # The name of the connection is taken before its sides ask for a stream.
        run(role("squatted_client", port), True, after=50)
    # The name of the port is taken, by somebody who has no library.
    with running(role("echo"), False, **PIPES) as process:
        port = process.stdout.readline().strip()
        with running(role("squatter", f"cariama-preload/0/{port}"), False, **PIPES, **nobody) as one:
            assert one.stdout.readline().strip() == "bound"
            run(role("random_client", port, 0), True)


def stopped():
    """A peer that is stopped while streams are made, and wakes up, takes part as before."""
    with running(role("echo_epoll", "level"), True, after=1, **PIPES) as server:
        port = server.stdout.readline().strip()
        with running(role("random_client", port, 1), True, **PIPES) as client:
            for _ in range(20):
                server.send_signal(signal.SIGSTOP)
                try:
                    client.wait(0.02)
                except subprocess.TimeoutExpired:
                    pass
                server.send_signal(signal.SIGCONT)
                try:
                    client.wait(0.02)
                except subprocess.TimeoutExpired:
                    pass
            assert client.wait(harness.PATIENCE) == 0


def jumps():
    """A handler of a signal may leave each call, at any time, by longjmp."""
    for preload in (False, True):
        with running(role("echo_epoll", "level"), preload, **PIPES) as process:
            port = process.stdout.readline().strip()
            assert run([sys.argv[3], port], preload, timeout=100).strip() == "done"


def answers():
    """Less common calls answer over a stream what they answer over TCP."""
    plain = run([sys.argv[4], "0"], False, timeout=60)
    carried = run([sys.argv[4], "1"], True, timeout=60)
    different = "".join(difflib.unified_diff(*(t.splitlines(True) for t in (plain, carried))))
    assert not different, different


def wakeups():
    """Nobody waits in vain, however many wait for one connection, and in which way."""
    for ways in ("level threads", "edge threads one", "level oneshot threads",
                 "edge oneshot threads", "edge exclusive sets threads", "level sets threads",
                 "poll", "edge mixed sets", "edge copies threads", "split threads", "level inner",
                 "level inner threads", "level inner_poll threads"):
        command = [os.path.join(os.path.dirname(sys.argv[4]), "preload_waiters"), ways, "1000"]
        assert run(command, True, timeout=100).strip() == "done", ways


if __name__ == "__main__":
    harness.LIBRARY = os.path.abspath(sys.argv[1])
    harness.LATE_ANSWERS = os.path.join(os.path.dirname(os.path.abspath(sys.argv[4])),
                                        "libpreload_late_answers.so")
    # The loader would only warn.
    assert os.path.exists(harness.LIBRARY), f"build {harness.LIBRARY} first"
    case = next(getattr(module, sys.argv[2]) for module in (
        program_cases, service_cases, forking_programs, language_cases, asynchronous_cases,
        host_cases, sys.modules["__main__"])
                if hasattr(module, sys.argv[2]))
    case()

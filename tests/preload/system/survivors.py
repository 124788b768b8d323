# SPDX-License-Identifier: MIT
"""Programs of which the process that has the stream is killed, and others go on without it."""
import errno
import mmap
import os
import random
import select
import signal
import socket
import struct
import time

from sharing import PATTERN, let_arrive
from talk import PATIENCE, connected, ping, receive_exactly, warm


def told_by(owner):
    """Runs a process that will be killed, and returns what its children tell."""
    here, there = os.pipe()
    process = os.fork()
    if process == 0:
        owner(lambda word: os.write(there, word))
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(there)
    os.waitpid(process, 0)
    words = b""
    while select.select([here], [], [], PATIENCE)[0]:
        part = os.read(here, 100)
        if not part:
            os.close(here)
            return words.decode()
        words += part
    raise AssertionError("hangs")


def survivor(tell, work):
    """A child that does the work and says how that went."""
    process = os.fork()
    if process:
        return process
    try:
        work()
        tell(b"ok")
    except OSError as error:
        tell(errno.errorcode.get(error.errno, "timeout").encode())
    except AssertionError as error:
        tell(f"failed: {error}".encode())
    os._exit(0)


def await_death_of(process):
    while os.getppid() == process:
        time.sleep(0.0005)


def killed_client(port, carried, state):
    """Between a send and the receive of all that it brings."""
    def owner(tell):
        connection = connected(port)
        warm(connection, carried == "1")
        this = os.getpid()
        begin = 1000 if state == "part" else 0

        def goes_on():
            await_death_of(this)
            assert receive_exactly(connection, 3000 - begin) == PATTERN[begin:3000], "other bytes"
            ping(connection, 100)

        survivor(tell, goes_on)
        connection.sendall(PATTERN[:3000])
        if state == "part":
            assert receive_exactly(connection, 1000) == PATTERN[:1000]
        if state == "arrived":
            let_arrive(connection, 3000)

    told = told_by(owner)
    assert told == "ok", told


def two_die_client(port, carried, first):
    """Of three processes the last one goes on, whatever the second one had done."""
    def owner(tell):
        connection = connected(port)
        warm(connection, carried == "1")
        connection.sendall(PATTERN[:3000])
        let_arrive(connection, 3000)
        this = os.getpid()
        ends, held = os.pipe()
        begin = 1000 if first == "receives" else 0

        def dies():
            await_death_of(this)
            assert receive_exactly(connection, begin) == PATTERN[:begin], "other bytes"
            os.kill(os.getpid(), signal.SIGKILL)

        def goes_on():
            os.close(held)
            # Until nobody holds it.
            os.read(ends, 1)
            assert receive_exactly(connection, 3000 - begin) == PATTERN[begin:3000], "other bytes"
            ping(connection, 100)

        survivor(tell, dies)
        survivor(tell, goes_on)

    told = told_by(owner)
    assert told == "ok", told


def stopped_client(port, carried, then):
    """A process that is stopped has not ended, so nobody goes on in its place. It may wake up."""
    def owner(tell):
        connection = connected(port)
        warm(connection, carried == "1")
        this = os.getpid()
        numbers = Numbers(connection)

        def goes_on():
            os.kill(this, signal.SIGSTOP)
            connection.setblocking(False)
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                # It asks for the stream, and takes nothing.
                try:
                    connection.recv(8, socket.MSG_PEEK)
                except BlockingIOError:
                    time.sleep(0.01)
            connection.settimeout(PATIENCE)
            if then == "wakes":
                os.kill(this, signal.SIGCONT)
            else:
                os.kill(this, signal.SIGKILL)
            await_death_of(this)
            numbers.go_on()

        survivor(tell, goes_on)
        numbers.talk(3000 if then == "wakes" else 10**9)

    told = told_by(owner)
    assert told == "ok", told


class Numbers:
    """Numbers that the owner sends and receives, one after the other, until it is killed."""

    def __init__(self, connection):
        self.connection = connection
        #: The one that was sent last, if it was. All processes see it.
        self.last = mmap.mmap(-1, 8)

    def talk(self, rounds):
        for i in range(1, rounds + 1):
            self.last[:] = struct.pack("<q", i)
            self.connection.sendall(self.last[:])
            assert receive_exactly(self.connection, 8) == self.last[:], "another number"

    def go_on(self):
        """What the owner has sent and not received comes first: one number, or the rest of it."""
        mark = b"\xff" * 8
        self.connection.sendall(mark)
        got = b""
        while not got.endswith(mark):
            part = self.connection.recv(100)
            assert part, "ended"
            got += part
        left = got.removesuffix(mark)
        assert self.last[:].endswith(left), f"{left} after {self.last[:]}"
        ping(self.connection, 50)


def random_kills_client(port, carried, seed):
    """At any moment while it sends and receives. What the peer sends at that moment may go to
    nobody: then both sides are told."""
    generator = random.Random(int(seed))
    told = []
    for _ in range(20):
        pause = generator.uniform(0, 0.01)

        def owner(tell, pause=pause):
            connection = connected(port)
            warm(connection, carried == "1")
            this = os.getpid()
            numbers = Numbers(connection)

            def goes_on():
                time.sleep(pause)
                os.kill(this, signal.SIGKILL)
                await_death_of(this)
                numbers.go_on()

            survivor(tell, goes_on)
            numbers.talk(10**9)

        told.append(told_by(owner))
    print(told)
    assert set(told) <= {"ok", "ECONNRESET"} and "ok" in told, told
    assert carried == "1" or set(told) == {"ok"}


def reads_on_client(port, carried):
    """The child goes on with what a peer sends that is full of bytes."""
    def owner(tell):
        connection = connected(port)
        warm(connection, carried == "1")
        connection.sendall(b"done")
        this = os.getpid()

        def goes_on():
            await_death_of(this)
            rest = receive_exactly(connection, len(PATTERN) - 100000)
            assert rest == PATTERN[100000:], "other bytes"
            assert not connection.recv(1), "more bytes"

        survivor(tell, goes_on)
        assert receive_exactly(connection, 100000) == PATTERN[:100000]
        # The peer has sent as much as goes.
        time.sleep(0.1)

    told = told_by(owner)
    assert told == "ok", told


def writes_on_client(port, carried):
    """The child sends what its parent has not sent."""
    def owner(tell):
        connection = connected(port)
        warm(connection, carried == "1")
        connection.sendall(b"done")
        this = os.getpid()

        def goes_on():
            await_death_of(this)
            connection.sendall(PATTERN[700000:])
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b"y", "other bytes"

        survivor(tell, goes_on)
        connection.sendall(PATTERN[:700000])

    told = told_by(owner)
    assert told == "ok", told

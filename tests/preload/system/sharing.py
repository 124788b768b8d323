# SPDX-License-Identifier: MIT
"""What programs need whose processes share a connection."""
import array
import contextlib
import fcntl
import os
import select
import struct
import sys
import termios
import time

from talk import PATIENCE

#: A word of eight bytes: there is nothing more to read.
END = b"end".ljust(8)
#: Bytes in the order of a counter, so that each one's place is known.
PATTERN = array.array("I", range(1 << 19)).tobytes()


def unread(connection):
    return struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, bytes(4)))[0]


def let_arrive(connection, count):
    deadline = time.monotonic() + PATIENCE
    while unread(connection) < count:
        assert time.monotonic() < deadline, "the bytes did not arrive"
        time.sleep(0.001)


@contextlib.contextmanager
def child(work):
    """A child that does the work, and has to end well when the parent has done its own."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(code)
    try:
        yield process
    finally:
        status = os.waitpid(process, 0)[1]
    assert status == 0, f"the child ended with {status}"


class Turns:
    """One of the two processes at a time."""

    def __init__(self):
        self.ends = [os.pipe(), os.pipe()]

    def wait(self, mine):
        assert select.select([self.ends[mine][0]], [], [], PATIENCE)[0], "never my turn"
        return os.read(self.ends[mine][0], 8)

    def give(self, other, word=b"go"):
        os.write(self.ends[other][1], word.ljust(8))

# SPDX-License-Identifier: MIT
"""Programs that do things to memory right after they have sent it."""
import ctypes
import hashlib
import mmap
import os
import random
import socket
import sys

from talk import connected, heard, listening, receive_exactly, say, warm

#: More than rings hold, less than what may be left to be read, and no whole pages.
SIZE = 3_000_000
LIBC = ctypes.CDLL(None)
LIBC.malloc.restype = LIBC.realloc.restype = ctypes.c_void_p
LIBC.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]
LIBC.send.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.send.restype = ctypes.c_ssize_t


def late_reader():
    """Echoes until it is told to go, then reads nothing before it is told to, and then all."""
    connection, _ = listening(0).accept()
    while (word := receive_exactly(connection, 4)) != b"go!!":
        connection.sendall(word)
    assert heard() == "read"
    digest = hashlib.sha256()
    while part := connection.recv(700_000):
        digest.update(part)
    say(digest.hexdigest())


def content(seed):
    return random.Random(seed).randbytes(SIZE)


def send_all(connection, memory):
    """As a C program does."""
    done = 0
    while done < SIZE:
        sent = LIBC.send(connection.fileno(), memory + done, SIZE - done, 0)
        assert sent > 0
        done += sent


def change(connection):
    buffer = bytearray(content(1))
    connection.sendall(buffer)
    buffer[:] = bytes(SIZE)


def again(connection):
    """Each send waits for the one before."""
    buffer = bytearray(SIZE)
    for seed in range(1, 4):
        buffer[:] = content(seed)
        connection.sendall(buffer)
        say("sent")
    buffer[:] = bytes(SIZE)


def kernel(connection):
    """System calls write into it."""
    buffer = bytearray(content(1))
    connection.sendall(buffer)
    with open("/dev/zero", "rb", buffering=0) as zeros:
        while sum(buffer[:SIZE]) != 0:
            assert zeros.readinto(buffer) > 0


def unmap(connection):
    buffer = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer[:] = content(1)
    connection.sendall(buffer)
    buffer.close()
    other = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    other[:] = bytes(SIZE)


def shared(connection):
    """Memory that a child changes, which nothing can protect: it is copied."""
    buffer = mmap.mmap(-1, SIZE)
    buffer[:] = content(1)
    say("sent")  # Since this one waits.
    connection.sendall(buffer)
    if os.fork() == 0:
        buffer[:] = bytes(SIZE)
        os._exit(0)
    assert os.wait()[1] == 0


def freed(connection):
    memory = LIBC.malloc(SIZE)
    ctypes.memmove(memory, content(1), SIZE)
    send_all(connection, memory)
    LIBC.free(memory)
    memory = LIBC.malloc(SIZE)
    ctypes.memset(memory, 0, SIZE)


def moved(connection):
    memory = LIBC.malloc(SIZE)
    ctypes.memmove(memory, content(1), SIZE)
    send_all(connection, memory)
    memory = LIBC.realloc(memory, 4 * SIZE)
    ctypes.memset(memory, 0, SIZE)


def forked(connection):
    buffer = bytearray(content(1))
    connection.sendall(buffer)
    child = os.fork()
    if child == 0:
        whole = buffer == content(1)
        buffer[:] = bytes(SIZE)
        os._exit(0 if whole else 1)
    assert os.waitpid(child, 0)[1] == 0
    buffer[:] = bytes(SIZE)


def closed(connection):
    buffer = bytearray(content(1))
    connection.sendall(buffer)
    say("sent")
    connection.close()
    buffer[:] = bytes(SIZE)


def half_closed(connection):
    connection.sendall(content(1))
    connection.shutdown(socket.SHUT_WR)


def exits(connection):
    connection.sendall(content(1))
    say("sent")
    sys.exit(0)


def ends(connection):
    connection.sendall(content(1))
    say("sent")
    os._exit(0)


def sender(port, deed):
    connection = connected(port)
    connection.settimeout(None)
    warm(connection, 1)
    connection.sendall(b"go!!")
    globals()[deed](connection)
    say("sent")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])

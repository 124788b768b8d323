# SPDX-License-Identifier: MIT
"""Small programs that know nothing of streams; preload_test.py starts them in pairs."""
import errno
import fcntl
import os
import random
import select
import signal
import socket
import struct
import sys
import termios
import threading
import time

from harness import sent_over_tcp

PATIENCE = 20
#: Where servers are.
HOST = os.environ.get("CARIAMA_TEST_HOST", "127.0.0.1")


def say(word):
    print(word, flush=True)


def heard():
    return sys.stdin.readline().strip()


def receive_exactly(connection, count):
    parts = []
    while count:
        part = connection.recv(count)
        assert part, "the connection ended early"
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def listening(port):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((HOST, port))
    server.listen(512)
    say(server.getsockname()[1])
    return server


def connected(port):
    connection = socket.create_connection((HOST, int(port)), PATIENCE)
    connection.settimeout(PATIENCE)
    return connection


def ping(connection, rounds=200):
    """Talks until the stream is there, when there will be one."""
    for _ in range(rounds):
        connection.sendall(b"ping")
        assert receive_exactly(connection, 4) == b"ping"


def warm(connection, carried):
    """Talks until bytes no longer go over TCP; how many go then must not change."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        before = sent_over_tcp(connection)
        ping(connection, 20)
        if sent_over_tcp(connection) == before:
            assert carried, "went over a stream"
            return
        if not carried and before > 2000:
            return
    raise AssertionError("never went over a stream")


def is_ready(connection, event, seconds=PATIENCE):
    poller = select.poll()
    poller.register(connection, event)
    return bool(poller.poll(seconds * 1000))


def serve_echo(connection):
    while part := connection.recv(65536):
        connection.sendall(part)


def echo():
    """Serves connections one after the other, until the input ends."""
    server = listening(0)
    threading.Thread(target=lambda: (heard(), os._exit(0)), daemon=True).start()
    while True:
        connection, _ = server.accept()
        with connection:
            try:
                serve_echo(connection)
            except OSError:
                pass


def echo_epoll(edge):
    """Serves all connections at a time, by one epoll instance, level- or edge-triggered."""
    server = listening(0)
    server.setblocking(False)
    poller = select.epoll()
    flags = select.EPOLLET if edge == "edge" else 0
    poller.register(server, select.EPOLLIN)
    connections, waiting = {}, {}
    while True:
        for fd, events in poller.poll():
            if fd == server.fileno():
                connection, _ = server.accept()
                connection.setblocking(False)
                connections[connection.fileno()] = connection
                waiting[connection.fileno()] = b""
                poller.register(connection, select.EPOLLIN | select.EPOLLOUT * bool(flags) | flags)
                continue
            connection = connections[fd]
            try:
                while len(waiting[fd]) < 1 << 20:
                    part = connection.recv(4096)
                    if not part:
                        raise EOFError
                    waiting[fd] += part
            except BlockingIOError:
                pass
            except (EOFError, ConnectionError):
                poller.unregister(connection)
                del connections[fd], waiting[fd]
                connection.close()
                continue
            try:
                while waiting[fd]:
                    waiting[fd] = waiting[fd][connection.send(waiting[fd]):]
            except BlockingIOError:
                pass
            if not flags:
                wanted = select.EPOLLIN | (select.EPOLLOUT if waiting[fd] else 0)
                poller.modify(connection, wanted)


def echo_fork():
    """A child for each connection, as PostgreSQL has."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = listening(0)
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            server.close()
            serve_echo(connection)
            os._exit(0)
        connection.close()


def echo_prefork():
    """Two workers that accept at one socket, as nginx has."""
    server = listening(0)
    for _ in range(2):
        if os.fork() == 0:
            while True:
                connection, _ = server.accept()
                with connection:
                    serve_echo(connection)
    signal.pause()


def close_all():
    """Closes all that it did not open, and then serves."""
    os.closerange(3, 1024)
    echo()


def random_client(port, carried, rounds=300):
    """Random bytes in random sizes, while it receives what comes back."""
    connection = connected(port)
    warm(connection, carried == "1")
    before = sent_over_tcp(connection)
    generator = random.Random(7)
    for _ in range(int(rounds)):
        message = generator.randbytes(generator.choice([1, 7, 100, 1000, 20000, 100000]))
        sender = threading.Thread(target=connection.sendall, args=(message,))
        sender.start()
        assert receive_exactly(connection, len(message)) == message
        sender.join(PATIENCE)
    assert carried == "0" or sent_over_tcp(connection) == before
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(1) == b""


def steady_client(port):
    """Goes on over the stream that it has, after it was told to."""
    connection = connected(port)
    warm(connection, True)
    say("carried")
    heard()
    before = sent_over_tcp(connection)
    ping(connection, 500)
    assert sent_over_tcp(connection) == before
    say("done")


def crowd_client(port, count):
    """Many connections at a time, of which each has bytes on its way, through poll."""
    connections = [connected(port) for _ in range(int(count))]
    generator = random.Random(11)
    for _ in range(30):
        messages = [generator.randbytes(generator.choice([1, 30, 3000])) for _ in connections]
        for connection, message in zip(connections, messages):
            connection.sendall(message)
        missing = {c.fileno(): (c, m) for c, m in zip(connections, messages)}
        poller = select.poll()
        for connection in connections:
            poller.register(connection, select.POLLIN)
        while missing:
            ready = poller.poll(PATIENCE * 1000)
            assert ready, "nothing came"
            for fd, _ in ready:
                connection, message = missing[fd]
                part = connection.recv(1000)
                assert part and message.startswith(part)
                missing[fd] = connection, message[len(part):]
                if len(part) == len(message):
                    del missing[fd]
                    poller.unregister(fd)


def semantics_client(port, carried):
    """What receives and sends do with flags, time limits, and the other side's half."""
    connection = connected(port)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    warm(connection, carried == "1")
    addresses = connection.getsockname(), connection.getpeername()
    connection.settimeout(None)
    # MSG_DONTWAIT, MSG_PEEK, FIONREAD, MSG_WAITALL, MSG_TRUNC.
    try:
        connection.recv(1, socket.MSG_DONTWAIT)
        raise AssertionError("something came")
    except BlockingIOError:
        pass
    connection.sendall(b"0123456789")
    assert is_ready(connection, select.POLLIN)
    while connection.recv(100, socket.MSG_PEEK) != b"0123456789":
        pass
    waiting = struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, b"\0" * 4))[0]
    assert waiting == 10
    sender = threading.Timer(0.05, connection.sendall, (b"abcdefghij",))
    sender.start()
    assert connection.recv(20, socket.MSG_WAITALL) == b"0123456789abcdefghij"
    sender.join()
    # Several buffers.
    assert connection.sendmsg([b"ab", b"", b"cde"]) == 5
    first, second = bytearray(2), bytearray(10)
    assert is_ready(connection, select.POLLIN)
    assert connection.recv(5, socket.MSG_PEEK | socket.MSG_WAITALL)
    count, control, flags, _ = connection.recvmsg_into([first, second])
    while count < 5:
        count += connection.recv_into(memoryview(second)[count - 2:])
    assert (bytes(first), bytes(second[:3]), control) == (b"ab", b"cde", [])
    # SO_RCVTIMEO of the socket itself, and a time limit by poll.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50000))
    begun = time.monotonic()
    try:
        connection.recv(1)
        raise AssertionError("something came")
    except BlockingIOError:
        assert time.monotonic() - begun > 0.045
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 0))
    assert select.select([connection], [connection], [], 10) == ([], [connection], [])
    assert not is_ready(connection, select.POLLIN, 0.01)
    # A copy means the same connection; the original may be closed.
    copy = os.dup(connection.fileno())
    os.write(copy, b"copy")
    assert receive_exactly(connection, 4) == b"copy"
    os.close(copy)
    ping(connection, 1)
    assert addresses == (connection.getsockname(), connection.getpeername())
    # The other side's half goes on after ours has ended.
    connection.sendall(b"last words")
    connection.shutdown(socket.SHUT_WR)
    try:
        connection.send(b"more")
        raise AssertionError("sent after shutdown")
    except BrokenPipeError:
        pass
    assert receive_exactly(connection, 10) == b"last words"
    assert connection.recv(1) == b""
    assert connection.recv(1) == b""


def signals_client(port, carried):
    """Handlers run while a receive waits; with SA_RESTART it goes on."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.settimeout(None)
    caught = []
    signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
    for restart in (False, True):
        signal.siginterrupt(signal.SIGALRM, not restart)
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        sender = threading.Timer(0.1, connection.sendall, (b"x",))
        sender.start()
        assert connection.recv(1) == b"x"
        sender.join()
    assert len(caught) == 2


def shutdown_wakes_client(port, carried):
    """A thread that waits in a receive is woken by a shutdown of another one."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.settimeout(None)
    got = []
    reader = threading.Thread(target=lambda: got.append(connection.recv(1)))
    reader.start()
    time.sleep(0.05)
    connection.shutdown(socket.SHUT_RDWR)
    reader.join(PATIENCE)
    assert got == [b""]


def two_threads_client(port, carried):
    """One thread sends much more than fits, another one receives: both sleep at times."""
    connection = connected(port)
    warm(connection, carried == "1")
    message = random.Random(3).randbytes(8 << 20)
    sender = threading.Thread(target=connection.sendall, args=(message,))
    sender.start()
    assert receive_exactly(connection, len(message)) == message
    sender.join(PATIENCE)


def many_client(port, count):
    """Connects and closes; no descriptor is left behind."""
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    before = None
    for number in range(int(count)):
        with connected(port) as connection:
            # Some become streams, some are closed while they do, and some never talk.
            ping(connection, (0, 1, 2, 5)[number % 4] if number % 100 else 40)
        if number == 1000:
            before = descriptors()
    deadline = time.monotonic() + PATIENCE
    while descriptors() > before + 8:
        assert time.monotonic() < deadline, f"{before} descriptors, then {descriptors()}"
        time.sleep(0.05)


def doomed(state):
    """Accepts, echoes until it is told, gets into a state, and is killed there."""
    server = listening(0)
    connection, _ = server.accept()
    say("accepted")
    connection.settimeout(PATIENCE)
    while (part := connection.recv(4)) != b"done":
        connection.sendall(part)
    if state in ("sent", "half"):
        connection.sendall(b"z" * 3000)
    if state == "half":
        connection.shutdown(socket.SHUT_WR)
    if state == "unread":
        connection.recv(1)
    if state == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    if state == "close_unread":
        connection.recv(1)
        connection.close()
    say("ready")
    heard()


def look_until_ready(connection):
    """Without any call that sleeps."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
            return
        except BlockingIOError:
            pass
    raise AssertionError("looked in vain")


def bereaved(port, carried, state):
    """What the peer of `doomed` sees; printed, to be compared with TCP's."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.sendall(b"done")
    if state in ("unread", "close_unread"):
        connection.sendall(b"u" * 2000)
    say("ready")
    assert heard() == "killed"
    if state == "looks":
        look_until_ready(connection)
    assert is_ready(connection, select.POLLIN)
    received, end = 0, None
    while end is None:
        try:
            part = connection.recv(700)
            received += len(part)
            end = None if part else "end"
        except OSError as error:
            end = errno.errorcode[error.errno]
    # A first send may be taken before the reset comes back.
    sent = None
    deadline = time.monotonic() + PATIENCE
    while sent is None and time.monotonic() < deadline:
        try:
            connection.send(b"s")
        except OSError as error:
            sent = errno.errorcode[error.errno]
    print(received, end, "EPIPE" if sent == "ECONNRESET" else sent)


def forked_client(port, carried):
    """The parent's connection goes on while a child lives that does not use it."""
    connection = connected(port)
    warm(connection, carried == "1")
    child = os.fork()
    if child == 0:
        connection.close()
        other = connected(port)
        ping(other, 50)
        os._exit(0)
    ping(connection, 200)
    assert os.waitpid(child, 0)[1] == 0
    ping(connection, 200)


def shared_client(port):
    """Parent and child use one connection that was none's stream before: it stays TCP."""
    connection = connected(port)
    for _ in range(100):
        child = os.fork()
        if child == 0:
            ping(connection, 1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        ping(connection, 1)


def spawn_client(port, carried):
    """Programs started by vfork close and copy descriptors of their own only."""
    connection = connected(port)
    warm(connection, carried == "1")
    os.set_inheritable(connection.fileno(), True)
    import subprocess
    for _ in range(3):
        subprocess.run(["/bin/true"], close_fds=True, check=True, stdin=connection.fileno())
        ping(connection, 20)


def exec_client(port):
    """Another program goes on with a connection that has never been a stream."""
    connection = connected(port)
    connection.sendall(b"before")
    assert receive_exactly(connection, 6) == b"before"
    os.set_inheritable(connection.fileno(), True)
    os.execv(sys.executable, [sys.executable, __file__, "after_exec", str(connection.fileno())])


def after_exec(fd):
    connection = socket.socket(fileno=int(fd))
    connection.settimeout(PATIENCE)
    ping(connection, 200)


def non_blocking_client(port, carried):
    """connect answers EINPROGRESS or is done; SO_ERROR says how it went."""
    connection = socket.socket()
    connection.setblocking(False)
    assert connection.connect_ex(("127.0.0.1", int(port))) in (0, errno.EINPROGRESS)
    assert is_ready(connection, select.POLLOUT)
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    connection.settimeout(PATIENCE)
    warm(connection, carried == "1")
    # Fills what there is, until nothing goes.
    connection.setblocking(False)
    refused = socket.socket()
    refused.setblocking(False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        name = free.getsockname()
    code = refused.connect_ex(name)
    if code == errno.EINPROGRESS:
        assert is_ready(refused, select.POLLOUT)
        code = refused.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    assert code == errno.ECONNREFUSED


def never_reads():
    """Accepts, echoes until it is told, and then reads no more until it is told again."""
    server = listening(0)
    connection, _ = server.accept()
    while (part := connection.recv(4)) != b"done":
        connection.sendall(part)
    heard()
    total = 0
    while part := connection.recv(65536):
        total += len(part)
    print(total)


def fills_client(port, carried):
    """A sender that nobody reads from is told so, and then waits; nothing is lost."""
    connection = connected(port)
    warm(connection, carried == "1")
    connection.sendall(b"done")
    connection.setblocking(False)
    sent = 0
    full = False
    while not full:
        try:
            sent += connection.send(b"f" * 1000)
        except BlockingIOError:
            # TCP's buffers may grow meanwhile.
            full = not is_ready(connection, select.POLLOUT, 0.1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 50000))
    connection.setblocking(True)
    try:
        # TCP may take some more than it had said.
        while True:
            sent += connection.send(b"f" * 1000)
    except BlockingIOError:
        pass
    say("full")
    assert is_ready(connection, select.POLLOUT)
    print(sent)


def squatter(*names):
    """Has names that programs of another user look for, and listens under them."""
    squatted = []
    for name in names or [heard()]:
        kind = socket.SOCK_STREAM if "streams" in name else socket.SOCK_DGRAM
        squatted.append(socket.socket(socket.AF_UNIX, kind))
        squatted[-1].bind("\0" + name)
        if kind == socket.SOCK_STREAM:
            squatted[-1].listen()
    say("bound")
    heard()


def squatted_client(port):
    """Stays on TCP: a stranger has the name of its connection."""
    import subprocess
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    stranger = subprocess.Popen([sys.executable, __file__, "squatter"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, user=65534, cwd="/",
                                env=environment)
    connection = connected(port)
    here, there = ("%s:%04x" % (socket.inet_aton(host).hex(), number)
                   for host, number in (connection.getsockname(), connection.getpeername()))
    stranger.stdin.write(f"cariama-streams/0/p/{here}-{there}\n")
    stranger.stdin.flush()
    assert stranger.stdout.readline().strip() == "bound"
    ping(connection, 2000)
    assert sent_over_tcp(connection) == 8000
    stranger.kill()
    stranger.wait()


def memcached_client(port, carried):
    """Sets and gets over several connections."""
    connections = [connected(port) for _ in range(8)]
    generator = random.Random(5)
    before = sum(map(sent_over_tcp, connections))
    total = 0
    for number in range(2000):
        value = generator.randbytes(generator.choice([1, 100, 4000]))
        connection = connections[number % 8]
        connection.sendall(b"set k 0 0 %d\r\n%s\r\nget k\r\n" % (len(value), value))
        expected = b"STORED\r\nVALUE k 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
        assert receive_exactly(connection, len(expected)) == expected
        total += len(value)
    assert carried == "0" or sum(map(sent_over_tcp, connections)) - before < total / 2


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])

# SPDX-License-Identifier: MIT
# Requests and responses, the connections that they come on, and pages of scripted origins.
import socket
import threading

PATIENCE = 30
FRESH = "Cache-Control: max-age=60\r\n"


class Message:
    """A request or a response, read from a socket."""

    def __init__(self, head, body=b""):
        self.head = head
        lines = head.decode("latin-1").split("\r\n")
        self.first = lines[0]
        self.fields = {}
        for line in filter(None, lines[1:]):
            name, value = line.split(":", 1)
            name = name.lower()
            before = self.fields[name] + ", " if name in self.fields else ""
            self.fields[name] = before + value.strip()
        self.body = body

    @property
    def status(self):
        return int(self.first.split()[1])

    @property
    def path(self):
        return self.first.split()[1]

    def __getitem__(self, name):
        return self.fields.get(name.lower())


class Link:
    """A connection, with what has come on it and is not used."""

    def __init__(self, port, timeout=PATIENCE):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        piece = self.socket.recv(1 << 16)
        self.rest += piece
        return piece

    def take(self, size):
        while len(self.rest) < size:
            if not self.more():
                raise EOFError("the connection ended within a message")
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def take_line(self):
        while b"\r\n" not in self.rest:
            if not self.more():
                raise EOFError("the connection ended within a message")
        return self.take(self.rest.index(b"\r\n") + 2)

    def read(self, to_head=False):
        """The next message; None at the end."""
        while b"\r\n\r\n" not in self.rest:
            if not self.more():
                if self.rest:
                    raise EOFError("the connection ended within a head")
                return None
        message = Message(self.take(self.rest.index(b"\r\n\r\n") + 4)[:-2])
        is_response = message.first.startswith("HTTP/")
        if is_response and (to_head or message.status in (204, 304) or message.status < 200):
            return message
        if message["transfer-encoding"] == "chunked":
            while size := int(self.take_line(), 16):
                message.body += self.take(size)
                assert self.take(2) == b"\r\n"
            assert self.take(2) == b"\r\n"
        elif message["content-length"] is not None:
            message.body = self.take(int(message["content-length"]))
        elif is_response:
            while self.more():
                pass
            message.body, self.rest = self.rest, b""
        return message

    def get(self, path, fields="", method="GET"):
        self.send(("%s %s HTTP/1.1\r\nHost: test\r\n%s\r\n" % (method, path, fields)).encode())
        return self.answer(to_head=method == "HEAD")

    def answer(self, to_head=False):
        """The next response; there has to be one."""
        message = self.read(to_head)
        if message is None:
            raise EOFError("the connection ended without a response")
        return message

    def ends(self):
        """Reads to the end; True when it is no reset."""
        try:
            while self.more():
                pass
            return True
        except ConnectionResetError:
            return False


def response(body=b"", fields="", status="200 OK", length=None):
    length = len(body) if length is None else length
    head = "HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n" % (status, length, fields)
    return head.encode() + body


def counter(fields, status="200 OK"):
    """A page whose body is how often it was asked for."""
    numbers = iter(range(1, 1000000))
    lock = threading.Lock()

    def page(*_):
        with lock:
            return response(b"%d" % next(numbers), fields, status)
    return page

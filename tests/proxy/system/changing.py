# SPDX-License-Identifier: MIT
# An origin whose documents change and carry their checksum, and clients that look at every byte.
import hashlib
import random
import threading
import time

from messages import PATIENCE, response
from support import Origin

LIVES = ("max-age=60", "max-age=0", "max-age=0, stale-while-revalidate=60", "no-store")


def document(name, version):
    """Bytes that say what they are, and whether they are whole."""
    source = random.Random("%s %d" % (name, version))
    body = b"%s %d " % (name.encode(), version) + source.randbytes(source.randrange(100, 60000))
    return body + hashlib.sha256(body).digest()


def check(name, body, oldest):
    """The version."""
    assert hashlib.sha256(body[:-32]).digest() == body[-32:], "torn bytes of " + name
    words = body.split(b" ", 2)
    assert words[0].decode() == name, "%s in the place of %s" % (words[0], name)
    assert int(words[1]) >= oldest, "version %s, older than %d, of %s" % (words[1], oldest, name)
    return int(words[1])


class ChangingOrigin(Origin):
    def __init__(self, documents=60):
        self.versions = {"/d%d" % i: 0 for i in range(documents)}
        # Those whose change has been answered to who asked for it: older ones are wrong then.
        self.answered = dict(self.versions)
        self.guard = threading.Lock()
        super().__init__({name: self.page for name in self.versions})

    def page(self, request, _):
        name = request.path
        with self.guard:
            if request.first.startswith("POST"):
                self.versions[name] += 1
            version = self.versions[name]
        tag = '"%s-%d"' % (name, version)
        fields = "ETag: %s\r\nCache-Control: %s\r\n" % (tag, LIVES[int(name[2:]) % len(LIVES)])
        if request["if-none-match"] == tag:
            return ("HTTP/1.1 304 Not Modified\r\n%s\r\n" % fields).encode()
        body = document(name, version)
        if version % 3 == 1:
            head = "HTTP/1.1 200 OK\r\n%sTransfer-Encoding: chunked\r\n\r\n" % fields
            return head.encode() + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
        return response(body, fields)

    def load(self, proxies, seconds, clients=8, may_end=lambda proxy: False):
        """Requests of all kinds to all proxies; how many were answered. Looks at every byte."""
        failures, done = [], [0]
        end = time.monotonic() + seconds

        def client(seed):
            source = random.Random(seed)
            proxy = proxies[seed % len(proxies)]
            try:
                with proxy.link() as link:
                    while time.monotonic() < end and not failures:
                        self.ask(link, source)
                        done[0] += 1
            except (OSError, EOFError) as error:
                if not may_end(proxy):
                    failures.append(error)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=client, args=(seed,)) for seed in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE + seconds)
            assert not thread.is_alive(), "a client hangs"
        assert not failures, repr(failures[0])
        return done[0]

    def ask(self, link, source):
        name = source.choice(list(self.versions))
        kind = source.random()
        if kind < 0.05:
            version = check(name, link.get(name, method="POST").body, 0)
            with self.guard:
                self.answered[name] = max(self.answered[name], version)
        elif kind < 0.2:
            whole = link.get(name)
            first = source.randrange(len(whole.body))
            part = link.get(name, "Range: bytes=%d-\r\nIf-Range: %s\r\n" % (first, whole["etag"]))
            if part.status == 206 and part["etag"] == whole["etag"]:
                assert part.body == whole.body[first:], "a wrong part of " + name
        elif kind < 0.3:
            names = [name, source.choice(list(self.versions))] * 3
            line = "GET %s HTTP/1.1\r\nHost: test\r\n\r\n"
            link.send("".join(line % each for each in names).encode())
            for each in names:
                check(each, link.answer().body, 0)
        else:
            with self.guard:
                oldest = self.answered[name]
            answer = link.get(name)
            # A document that may be used while it is refreshed may be behind.
            behind = "stale-while-revalidate" in answer["cache-control"]
            check(name, answer.body, 0 if behind else oldest)

# SPDX-License-Identifier: MIT
# A proxy, scripted origins, and nginx, for tests.
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from system_tests import skip, until_within

from messages import PATIENCE, Link

until = until_within(PATIENCE)


class Origin:
    """A web server whose answers are bytes or functions by path. Functions get the request and the
    link, and return bytes; None ends the connection."""

    def __init__(self, pages, port=0):
        self.pages = pages
        self.asked, self.connections = [], []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", port), backlog=256,
                                             reuse_port=port != 0)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def die(self):
        """Takes no more connections, and ends those that there are."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def count(self, path):
        with self.lock:
            return sum(request.path == path for request in self.asked)

    def last(self, path):
        with self.lock:
            return [request for request in self.asked if request.path == path][-1]

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        link = Link.__new__(Link)
        link.socket, link.rest = connection, b""
        try:
            while request := link.read():
                with self.lock:
                    self.asked.append(request)
                page = self.pages.get(request.path.split("?")[0])
                answer = page(request, link) if callable(page) else page
                if answer is None:
                    break
                link.send(answer)
        except (OSError, EOFError, ValueError):
            pass
        connection.close()


def arguments_for(origin_port):
    return ["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--origin",
            "127.0.0.1:%d" % origin_port]


class Clients:
    """The ports of a proxy, from the line that it writes, and what is done with them. A lender has
    port 0."""

    def __init__(self, line):
        found = re.search(r"(?:proxy|lender) (\d+) \(process (\d+)\) (?:listens on port (\d+)|"
                          r"lends \d+ MiB), metrics on port (\d+)$", line)
        assert found, line
        self.rank, self.pid, self.port, self.metrics_port = (
            int(word) for word in found.groups("0"))
        self.killed = False

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.killed = True

    def link(self, timeout=PATIENCE):
        return Link(self.port, timeout)

    def get(self, path, fields="", method="GET"):
        with self.link() as link:
            return link.get(path, fields, method)

    def metric(self, name):
        with Link(self.metrics_port) as link:
            text = link.get("/metrics").body.decode()
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return int(lines["cariama_proxy_" + name])

    def processor_time(self):
        """Seconds that it has taken."""
        with open("/proc/%d/stat" % self.pid) as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """KiB of it that are in memory."""
        with open("/proc/%d/status" % self.pid) as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


class Proxy(Clients):
    """A proxy by itself. Ends with the test, and has to end well."""

    def __init__(self, origin_port, *arguments):
        self.folder = tempfile.mkdtemp(prefix="cariama-proxy-")
        self.log = os.path.join(self.folder, "access.log")
        self.process = subprocess.Popen(
            [sys.argv[2], *arguments_for(origin_port), "--access-log", self.log, *arguments],
            stdout=subprocess.PIPE, text=True)
        super().__init__(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        alive = self.process.poll() is None
        self.process.send_signal(signal.SIGKILL if kind else signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)
        assert kind or (alive and status == 0), "the proxy ended with %s" % status


def job_command(count, *arguments):
    return [sys.argv[1], "-n", str(count), "-t", "1", "--keep-going", sys.argv[2],
            "--cariama-device=shm", *arguments]


class Job:
    """Several proxies that share their memory. End with the test, and have to end well."""

    def __init__(self, count, scheme, origin_port, *arguments):
        self.process = subprocess.Popen(
            job_command(count, "--scheme", scheme, *arguments_for(origin_port), *arguments),
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            proxies = [Clients(self.process.stdout.readline()) for _ in range(count)]
        except BaseException as error:
            self.__exit__(type(error))
            raise
        self.proxies = sorted(proxies, key=lambda proxy: proxy.rank)

    def __enter__(self):
        return self.proxies

    def __exit__(self, kind, *_):
        if kind:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE)
            return
        # Not through the launcher, which would answer with the signal instead of how they end.
        for proxy in self.proxies:
            if not proxy.killed:
                os.kill(proxy.pid, signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        assert status == 0 or any(proxy.killed for proxy in self.proxies), status


NGINX = """
worker_processes 1; daemon off; pid {0}/pid; error_log {0}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; keepalive_requests 1000000;
  client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3;
  uwsgi_temp_path {0}/t4; scgi_temp_path {0}/t5;
  server {{ listen 127.0.0.1:{1}; root {0}/www; expires 60s; }}
}}
"""


class Nginx:
    """nginx with a folder of files, which are fresh for a minute."""

    def __init__(self):
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        if not os.path.exists(program):
            skip("nginx is not installed: scripts/setup test")
        self.folder = tempfile.mkdtemp(prefix="cariama-nginx-")
        os.chmod(self.folder, 0o755)
        self.www = os.path.join(self.folder, "www")
        os.mkdir(self.www)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        with open(os.path.join(self.folder, "conf"), "w") as file:
            file.write(NGINX.format(self.folder, self.port))
        self.process = subprocess.Popen([program, "-c", os.path.join(self.folder, "conf"), "-e",
                                         os.path.join(self.folder, "error.log")])
        try:
            until(self.answers, "nginx listens")
        except BaseException:
            self.__exit__()
            raise

    def answers(self):
        assert self.process.poll() is None, "nginx has ended"
        try:
            Link(self.port, 1).socket.close()
            return True
        except OSError:
            return False

    def write(self, name, content):
        with open(os.path.join(self.www, name), "wb") as file:
            file.write(content)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

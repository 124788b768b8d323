# SPDX-License-Identifier: MIT
# The programs of a web tier: nginx as origin, proxies, nginx as a cache to compare with.
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BUILD = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                     "build", "release")
PATIENCE = 30

COMMON = """
worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nodelay on; keepalive_requests 1000000000;
  open_file_cache max=20000 inactive=600s; open_file_cache_valid 600s;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
"""
ORIGIN = COMMON + """
  {limit}
  server {{ listen 127.0.0.1:{port} backlog=4096; root {folder}/www; expires 1h; }}
}}
"""
# Requests wait for their turn.
LIMIT = """limit_req_zone $server_port zone=all:1m rate={rate}r/s;
  limit_req zone=all burst=1000000;"""
CACHE = COMMON + """
  proxy_cache_path {folder}/cache levels=1:2 keys_zone=one:20m max_size=1g use_temp_path=off;
  upstream origin {{ server 127.0.0.1:{origin}; keepalive 32; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache one;
    }}
  }}
}}
"""


def fail(text):
    sys.exit("%s: %s" % (os.path.basename(sys.argv[0]), text))


def need(*programs):
    """Their paths; a visible skip where one is missing."""
    paths = []
    for program in programs:
        path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
        if not path:
            print("SKIPPED: %s is not installed: scripts/setup bench" % program)
            sys.exit(77)
        paths.append(path)
    return paths


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def wait_for(port, process, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
    fail("%s does not listen on port %d" % (what, port))


def get(port, path):
    """The body of a response with a length."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as link:
        link.sendall(b"GET %s HTTP/1.1\r\nHost: webtier\r\n" % path.encode())
        link.sendall(b"Connection: close\r\n\r\n")
        text = b""
        while piece := link.recv(1 << 16):
            text += piece
    head, _, body = text.partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        fail("GET %s: %s" % (path, head.split(b"\r\n")[0].decode()))
    return body


class Program:
    """A process with a folder in memory; both end with it."""

    def __init__(self):
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="cariama-webtier-", dir=memory)
        os.chmod(self.folder, 0o755)
        self.process = None

    def start(self, command, core=None, **settings):
        if core is not None and os.cpu_count() > 1:
            command = ["taskset", "-c", str(core)] + command
        self.process = subprocess.Popen(command, start_new_session=True, **settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Nginx(Program):
    """nginx with one worker: the origin, which answers `rate` requests a second at most (0: any
    number), or with `origin` a cache in front of that port."""

    def __init__(self, origin=None, core=None, rate=0):
        super().__init__()
        self.port = free_port()
        program, = need("nginx")
        os.mkdir(os.path.join(self.folder, "www"))
        conf = os.path.join(self.folder, "conf")
        with open(conf, "w") as file:
            file.write((CACHE if origin else ORIGIN).format(
                folder=self.folder, port=self.port, origin=origin,
                limit=LIMIT.format(rate=rate) if rate else ""))
        # The worker may be another user.
        os.chmod(self.folder, 0o777)
        self.start([program, "-c", conf, "-e", os.path.join(self.folder, "error.log")], core)
        wait_for(self.port, self.process, "nginx")

    def write(self, name, content):
        with open(os.path.join(self.folder, "www", name), "wb") as file:
            file.write(content)

    def working_process(self):
        """The process that serves."""
        listing = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)],
                                 capture_output=True, text=True, check=True).stdout
        return next(int(line.split()[0]) for line in listing.splitlines() if "worker" in line)


class Proxy:
    """What is known of one proxy of a job."""

    def __init__(self, line):
        found = re.search(r"proxy (\d+) \(process (\d+)\) listens on port (\d+), "
                          r"metrics on port (\d+)$", line)
        if not found:
            fail("a proxy has not started: " + (line or "it said nothing"))
        self.rank, self.pid, self.port, self.metrics_port = (int(word) for word in found.groups())
        self.alive = True

    def metrics(self):
        text = get(self.metrics_port, "/metrics").decode()
        pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return {name.removeprefix("cariama_proxy_"): int(value) for name, value in pairs}


class Proxies(Program):
    """`count` proxies with a scheme; one without a job where the scheme is local. Where the scheme
    uses memory of other tiers, so many lenders too."""

    def __init__(self, build, count, scheme, origin, cache_mib, core=None, lenders=0,
                 more=()):
        super().__init__()
        apps = os.path.join(build, "apps")
        program = os.path.join(apps, "proxy", "cariama-proxy")
        if not os.path.exists(program):
            fail("there is no %s: cmake --preset release && cmake --build --preset release "
                 "--target run proxy_server" % program)
        arguments = ["--scheme", scheme, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                     "--origin", "127.0.0.1:%d" % origin, "--cache-mib", str(cache_mib), *more]
        lenders = lenders if scheme in ("mtacc", "hybcc") else 0
        if lenders:
            arguments += ["--lenders", str(lenders)]
        launcher = [os.path.join(apps, "run", "cariama-run"), "-n", str(count + lenders), "-t", "1",
                    "--keep-going"]
        jobless = scheme == "local" and count == 1
        self.start(([] if jobless else launcher) + [program] + arguments, core,
                   stdout=subprocess.PIPE, text=True)
        try:
            lines = [self.process.stdout.readline() for _ in range(count + lenders)]
            found = [Proxy(line) for line in lines if " lends " not in line]
        except BaseException:
            self.__exit__()
            raise
        self.all = sorted(found, key=lambda proxy: proxy.pid)


def write_documents(origin, count, sizes, seed=1):
    """Documents /d0 to /d<count - 1> of these sizes in turn; the bytes of all."""
    source = random.Random(seed)
    total = 0
    for i in range(count):
        size = sizes[i % len(sizes)]
        origin.write("d%d" % i, source.randbytes(size))
        total += size
    return total


def accuracy(build, seconds):
    """What cariama-accuracy has found in so many seconds."""
    apps = os.path.join(build, "apps")
    program = os.path.join(apps, "accuracy", "cariama-accuracy")
    if not os.path.exists(program):
        fail("there is no %s: cmake --build --preset release --target accuracy" % program)
    with tempfile.TemporaryDirectory() as folder:
        found = os.path.join(folder, "accuracy.json")
        subprocess.run([os.path.join(apps, "run", "cariama-run"), "-n", "2", "-t", "1", program,
                        "--seconds", str(seconds), "--json", found], check=True,
                       timeout=PATIENCE + seconds, stdout=subprocess.DEVNULL)
        with open(found) as file:
            return json.load(file)

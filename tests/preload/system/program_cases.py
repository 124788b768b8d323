# SPDX-License-Identifier: MIT
"""Real programs of Debian against each other, over plain TCP and under preload."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness
from harness import free_port, need, run, running, wait_for_port

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextlib.contextmanager
def server(command, port, preload, **options):
    with running(command, preload, **QUIET, **options) as process:
        wait_for_port(port, process)
        yield process


def has_streams(process):
    """Whether the process has memory that streams use."""
    folder = f"/proc/{process.pid}/fd"
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            if "memfd:cariama" in os.readlink(os.path.join(folder, name)):
                return True
    return False


def both(case):
    for preload in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            case(preload, folder, free_port())


def redis():
    need("redis-server", "redis-benchmark", "redis-cli")

    def case(preload, folder, port):
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                   "--dir", folder]
        with server(command, port, preload) as process:
            client = ["redis-cli", "-p", str(port)]
            load = ["redis-benchmark", "-p", str(port), "-q", "-d", "100", "-t", "set,get,lpush"]
            run([*load, "-n", "5000", "-P", "1"], preload)
            run([*load, "-n", "20000", "-P", "16"], preload)
            # The connections go on while a child saves.
            with running([*load, "-n", "40000"], preload, **QUIET) as busy:
                assert run([*client, "bgsave"], preload).startswith("Background saving")
                carried = False
                while busy.poll() is None:
                    carried = carried or has_streams(process)
                assert busy.returncode == 0 and carried == preload
            assert run([*client, "ping"], preload).strip() == "PONG"
            assert run([*client, "llen", "mylist"], preload).strip() == "65000"
            # And one that is under preload, and one that is not, at a time.
            assert run([*client, "ping"], not preload).strip() == "PONG"

    both(case)


NGINX = """
worker_processes 2; pid {folder}/pid; error_log {folder}/log; daemon off; {user}
events {{ worker_connections 256; }}
http {{ access_log off; sendfile on; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2;
fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
server {{ listen 127.0.0.1:{port}{reuse}; root {folder}; }} {more} }}
"""
PROXY = """
upstream behind {{ server 127.0.0.1:{port}; keepalive 8; }}
server {{ listen 127.0.0.1:{front}{reuse}; keepalive_requests 1000000; location / {{
proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ""; }} }}
"""


@contextlib.contextmanager
def nginx_server(preload, folder, port, reuse="", more=""):
    user = "user root;" if os.geteuid() == 0 else ""
    with open(os.path.join(folder, "conf"), "w", encoding="ascii") as conf:
        conf.write(NGINX.format(folder=folder, port=port, user=user, reuse=reuse, more=more))
    with server(["nginx", "-c", f"{folder}/conf", "-p", folder], port, preload) as process:
        yield process


def write_random(folder, sizes):
    """Files of these sizes, and under that names; what is in them."""
    content = {size: os.urandom(size) for size in sizes}
    for size, random_bytes in content.items():
        with open(os.path.join(folder, str(size)), "wb") as file:
            file.write(random_bytes)
    return content


def wrk(address, preload, *options, seconds=1):
    said = run(["wrk", "-t1", "-c8", f"-d{seconds}", *options, address], preload)
    assert "Non-2xx" not in said and "Requests/sec" in said, said
    return said


def nginx():
    need("nginx", "wrk", "curl")

    def case(preload, folder, port):
        content = write_random(folder, (1024, 65536, 3 << 20))
        with nginx_server(preload, folder, port):
            for size, expected in content.items():
                address = f"http://127.0.0.1:{port}/{size}"
                saved = os.path.join(folder, "saved")
                # Ten times over one connection.
                run(["curl", "-s", *[a for _ in range(10) for a in ("-o", saved, address)]], preload)
                with open(saved, "rb") as file:
                    assert file.read() == expected
                if not preload or size > 65536:
                    continue
                for header in ("Connection: keep-alive", "Connection: close"):
                    said = wrk(address, preload, "-H", header)
                    # Without keep-alive the ports may run out, which is an error of connect.
                    errors = re.search(r"Socket errors: connect \d+, (.*)", said)
                    assert not errors or errors[1] == "read 0, write 0, timeout 0", said

    both(case)


def nginx_proxy():
    """It registers sockets and then connects them. Its workers, of which each has a listener of its
    own, are replaced under load."""
    need("nginx", "wrk", "curl")

    def case(preload, folder, port):
        content = write_random(folder, (1000, 20 << 20))
        front = free_port()
        more = PROXY.format(port=port, front=front, reuse=" reuseport")
        with nginx_server(preload, folder, port, " reuseport", more) as process:
            address = f"http://127.0.0.1:{front}"
            for _ in range(5):
                saved = os.path.join(folder, "saved")
                run(["curl", "-s", "-o", saved, f"{address}/{20 << 20}"], preload)
                with open(saved, "rb") as file:
                    assert file.read() == content[20 << 20]
            rate = float(re.search(r"Requests/sec: *([0-9.]+)", wrk(f"{address}/1000", preload))[1])
            # It was 90 while streams of such connections were not looked at, and thousands else.
            assert rate > 200, rate
            command = ["wrk", "-t1", "-c8", "-d2", f"{address}/1000"]
            with running(command, preload, stdout=subprocess.PIPE) as load:
                for _ in range(3):
                    time.sleep(0.5)
                    process.send_signal(signal.SIGHUP)
                said = load.communicate(timeout=harness.PATIENCE)[0]
            # Old workers end their connections, which wrk counts as errors of read.
            assert load.returncode == 0 and "Non-2xx" not in said, said
            assert "Socket errors" not in said or "timeout 0" in said, said

    both(case)


def iperf3():
    need("iperf3")

    def case(preload, _, port):
        for extra in ([], ["-R", "-P", "3"], ["-l", "700"]):
            # One for each client: between two of them a server listens anew.
            with running(["iperf3", "-s", "-1", "-p", str(port)], preload, **QUIET) as process:
                wait_for_port(port, process)
                run(["iperf3", "-c", "127.0.0.1", "-p", str(port), "-n", "20M", *extra], preload)
        # Its handler of SIGTERM leaves by longjmp, sends what the other side waits for, and ends.
        for number in range(10):
            with running(["iperf3", "-s", "-1", "-p", str(port)], preload, **QUIET) as process:
                wait_for_port(port, process)
                command = ["iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", "60"]
                with running(command, preload, **QUIET) as client:
                    deadline = time.monotonic() + harness.PATIENCE
                    while preload and not has_streams(client):
                        assert time.monotonic() < deadline, "there is no stream"
                        time.sleep(0.01)
                    time.sleep(0.05 + 0.01 * number)
                    ended = (client, process)[number % 2]
                    ended.terminate()
                    for each in (client, process):
                        each.wait(harness.PATIENCE)

    both(case)


def memcached():
    need("memcached")

    def case(preload, _, port):
        command = ["memcached", "-p", str(port), "-l", "127.0.0.1", "-U", "0", "-u", "root"]
        with server(command, port, preload):
            run(harness.role("memcached_client", port, int(preload)), preload)

    both(case)


def openssl():
    need("openssl")

    def case(preload, folder, port):
        key, certificate = f"{folder}/key", f"{folder}/certificate"
        run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
             certificate, "-days", "1", "-subj", "/CN=localhost"], False)
        with open(os.path.join(folder, "page"), "wb") as page:
            page.write(os.urandom(200000))
        command = ["openssl", "s_server", "-accept", str(port), "-key", key, "-cert", certificate,
                   "-WWW", "-quiet"]
        with server(command, port, preload, cwd=folder):
            for _ in range(3):
                done = subprocess.run(
                    ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-quiet", "-CAfile",
                     certificate], input=b"GET /page HTTP/1.0\r\n\r\n", timeout=harness.PATIENCE,
                    env=harness.environment(preload), capture_output=True, check=False)
                with open(os.path.join(folder, "page"), "rb") as page:
                    assert done.stdout.endswith(page.read()), done.stderr

    both(case)


def postgres():
    programs = "/usr/lib/postgresql/15/bin"
    if not os.path.exists(f"{programs}/postgres") or not shutil.which("setpriv"):
        harness.skip("postgresql is not installed")
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    user = user if os.geteuid() == 0 else []

    def case(preload, folder, port):
        os.chmod(folder, 0o777)
        data = f"{folder}/data"
        run([*user, f"{programs}/initdb", "-D", data, "-A", "trust", "-U", "me", "-N"], False,
            cwd=folder)
        command = [*user, f"{programs}/postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1",
                   "-k", folder]
        with server(command, port, preload, cwd=folder):
            deadline = time.monotonic() + harness.PATIENCE
            asked = [f"{programs}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
            while subprocess.run(asked, check=False).returncode != 0:
                assert time.monotonic() < deadline, "the database does not start"
                time.sleep(0.05)
            bench = [*user, f"{programs}/pgbench", "-h", "127.0.0.1", "-p", str(port), "-U", "me"]
            run([*bench, "-i", "-q", "postgres"], preload, cwd=folder)
            said = run([*bench, "-S", "-c", "4", "-t", "300", "postgres"], preload, cwd=folder)
            assert "number of failed transactions: 0" in said, said
            assert "1200/1200" in said, said

    both(case)

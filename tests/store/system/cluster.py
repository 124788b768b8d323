# SPDX-License-Identifier: MIT
# Members of a store as processes, and what the cases need of them.
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

try:
    import redis
except ImportError:
    redis = None

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from system_tests import skip, until_within

PATIENCE = 40
until = until_within(PATIENCE)


def has_ended(pid):
    """Nobody may have asked how."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def free_ports(count):
    """A first port with `count` free ones from there on."""
    for _ in range(1000):
        first = random.randint(20000, 30000)
        taken = []
        try:
            for i in range(count):
                taken.append(socket.socket())
                taken[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                taken[-1].bind(("127.0.0.1", first + i))
            return first
        except OSError:
            continue
        finally:
            for each in taken:
                each.close()
    raise AssertionError("no free ports")


class Store:
    """A job of members. Ends with the test."""

    def __init__(self, members=3, data=None, arguments=(), launcher=("--keep-going",)):
        self.members, self.pids = members, []
        self.port = free_ports(members)
        command = [sys.argv[1], "-n", str(members), "-t", "1", *launcher, sys.argv[2],
                   "--cariama-device=shm", "--port", str(self.port), *arguments]
        if data:
            command += ["--data", data]
        self.output = tempfile.TemporaryFile(mode="w+")
        self.job = subprocess.Popen(command, stdout=self.output, stderr=subprocess.STDOUT,
                                    start_new_session=True)
        try:
            for i in range(members):
                until(lambda: self.job.poll() is not None or self.listens(i), "member %d listens" % i)
                assert self.job.poll() is None, "the job has ended:\n" + self.text()
            self.pids = [int(self.status(i)["pid"]) for i in range(members)]
        except BaseException:
            print(self.text())
            self.stop(signal.SIGKILL)
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop(signal.SIGKILL if kind else signal.SIGINT)
        if kind:
            print(self.text())

    def text(self):
        self.output.seek(0)
        return self.output.read()

    def listens(self, i):
        try:
            socket.create_connection(("127.0.0.1", self.port + i), 1).close()
            return True
        except OSError:
            return False

    def client(self, i, timeout=10):
        return redis.Redis(port=self.port + i, socket_timeout=timeout)

    def status(self, i):
        text = self.client(i).execute_command("STATUS").decode()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def stop(self, number=signal.SIGINT):
        if self.job.poll() is None:
            if number == signal.SIGKILL:
                os.killpg(self.job.pid, number)
            else:
                self.job.send_signal(number)
        try:
            self.job.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.job.pid, signal.SIGKILL)
            raise
        # The launcher was killed with its members, which hold their folders until they have ended.
        for pid in self.pids:
            until(lambda: has_ended(pid), "all members have ended")

    def kill(self, i):
        os.kill(self.pids[i], signal.SIGKILL)

    def replaced(self, i):
        """Another process has taken the place of a member that was killed."""
        def is_new():
            try:
                return int(self.status(i)["pid"]) != self.pids[i]
            except redis.RedisError:
                return False

        until(is_new, "member %d is replaced" % i)
        self.pids[i] = int(self.status(i)["pid"])

    def settled(self, i, members):
        """The member is in a view with so many members."""
        until(lambda: len(self.status(i)["members"].split(",")) == members, "the next view")


def cli(store, i, *words):
    return subprocess.run(["redis-cli", "-p", str(store.port + i), *words], check=True, timeout=PATIENCE,
                          capture_output=True, text=True).stdout.strip()


def connect(store, i):
    link = socket.create_connection(("127.0.0.1", store.port + i), PATIENCE)
    link.settimeout(PATIENCE)
    return link


def with_folder(case):
    def run():
        folder = tempfile.mkdtemp(prefix="cariama-store-")
        try:
            case(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return run

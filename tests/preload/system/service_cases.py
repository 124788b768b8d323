# SPDX-License-Identifier: MIT
"""Services of Debian that fork, execute or pass on what they accept: over TCP and under preload."""
import filecmp
import os
import subprocess
import time

from harness import PATIENCE, environment, free_port, need, run
from program_cases import both, server, wrk, write_random


def wait_until(holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def redis_replication():
    """A replica gets what its server had, by a child of that, and then what comes in."""
    need("redis-server", "redis-benchmark", "redis-cli")

    def case(preload, folder, port):
        other = free_port()

        def command(number):
            return ["redis-server", "--port", str(number), "--bind", "127.0.0.1", "--save", "",
                    "--dir", folder, "--enable-debug-command", "yes", "--repl-diskless-sync-delay",
                    "0"]

        def ask(number, *words):
            return run(["redis-cli", "-p", str(number), *words], preload)

        load = ["redis-benchmark", "-p", str(port), "-q", "-t", "set", "-r", "10000", "-n", "20000",
                "-P", "16", "-d", "100"]
        with server(command(port), port, preload), server(command(other), other, preload):
            run(load, preload)
            ask(other, "replicaof", "127.0.0.1", str(port))
            wait_until(lambda: "master_link_status:up" in ask(other, "info", "replication"))
            run(load, preload)
            wait_until(lambda: ask(port, "debug", "digest") == ask(other, "debug", "digest"))
            assert ask(port, "dbsize") == ask(other, "dbsize") != "0\n"

    both(case)


def scp():
    """sshd executes itself for each connection, so that stays TCP."""
    need("ssh", "scp", "ssh-keygen", "sshd")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)

    def case(preload, folder, port):
        os.chmod(folder, 0o700)
        for key in ("host", "user"):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}"], False)
        write_random(folder, (8 << 20,))
        settings = ("StrictModes=no", f"AuthorizedKeysFile={folder}/user.pub", "UsePAM=no",
                    "PermitRootLogin=yes", "PidFile=none", "ListenAddress=127.0.0.1",
                    "Subsystem=sftp internal-sftp")
        command = ["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-h", f"{folder}/host", "-p",
                   str(port), *[word for each in settings for word in ("-o", each)]]
        client = ["-i", f"{folder}/user", "-o", "StrictHostKeyChecking=no", "-o",
                  "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
        with server(command, port, preload):
            there = f"{folder}/there"
            for source, to in ((f"{folder}/{8 << 20}", f"127.0.0.1:{there}"),
                               (f"127.0.0.1:{there}", f"{folder}/back")):
                assert run(["scp", "-q", "-P", str(port), *client, source, to], preload) == ""
            assert filecmp.cmp(f"{folder}/{8 << 20}", f"{folder}/back", shallow=False)

    both(case)


def git_daemon():
    """It starts a program for each connection, which has it as its input and output."""
    need("git")

    def case(preload, folder, port):
        repository = f"{folder}/all"
        git = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b"]
        run(["git", "init", "-q", repository], False)
        write_random(repository, (1000, 2 << 20))
        run([*git, "add", "."], False)
        run([*git, "commit", "-q", "-m", "all"], False)
        command = ["git", "daemon", "--export-all", f"--base-path={folder}",
                   "--listen=127.0.0.1", f"--port={port}", folder]
        with server(command, port, preload):
            for number in range(2):
                copy = f"{folder}/copy{number}"
                address = f"git://127.0.0.1:{port}/all"
                assert run(["git", "clone", "-q", address, copy], preload) == ""
                for size in (1000, 2 << 20):
                    assert filecmp.cmp(f"{repository}/{size}", f"{copy}/{size}", shallow=False)

    both(case)


NODE = """
const cluster = require('cluster');
if (cluster.isPrimary && process.argv[3] > 0) {
  for (let i = 0; i < process.argv[3]; ++i) cluster.fork();
}
else require('http').createServer((request, response) => request.pipe(response)).listen(
    Number(process.argv[2]), '127.0.0.1');
"""


def node():
    """Node alone, and its cluster, which passes connections on to other processes."""
    need("node", "wrk", "curl")

    def case(preload, folder, port):
        with open(f"{folder}/server.js", "w", encoding="ascii") as file:
            file.write(NODE)
        write_random(folder, (3 << 20,))
        for workers in (0, 2):
            command = ["node", f"{folder}/server.js", str(port), str(workers)]
            with server(command, port, preload):
                address = f"http://127.0.0.1:{port}/"
                for number in range(3):
                    sent = f"{folder}/{3 << 20}"
                    subprocess.run(["curl", "-sS", "-o", f"{folder}/back", "-T", sent, address],
                                   env=environment(preload), check=True, timeout=PATIENCE)
                    assert filecmp.cmp(sent, f"{folder}/back", shallow=False), number
                wrk(address, preload)
            port = free_port()

    both(case)

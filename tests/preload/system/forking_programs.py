# SPDX-License-Identifier: MIT
"""Programs of Debian that fork while they use a connection, over plain TCP and under preload."""
import contextlib
import filecmp
import ftplib
import io
import os
import random
import sys

from harness import HERE, need, run, skip
from program_cases import both, server

RSYNC = """
use chroot = no
address = 127.0.0.1
{owner}
[it]
path = {folder}/there
read only = no
"""
VSFTPD = """
listen=YES
background=NO
listen_address=127.0.0.1
listen_port={port}
anonymous_enable=YES
no_anon_password=YES
anon_root={folder}/root
secure_chroot_dir={folder}/empty
seccomp_sandbox=NO
"""
SESSIONS = 3


def make_tree(folder):
    """A few megabytes, in files of all sizes."""
    generator = random.Random(3)
    for i in range(60):
        os.makedirs(f"{folder}/{i % 7}", exist_ok=True)
        with open(f"{folder}/{i % 7}/{i}", "wb") as file:
            file.write(generator.randbytes(generator.choice([0, 1, 5000, 100000, 400000])))


def is_same_tree(one, other):
    """Whether two folders have the same files with the same bytes."""
    compared = filecmp.dircmp(one, other)
    if compared.left_only or compared.right_only or compared.funny_files:
        return False
    _, different, unread = filecmp.cmpfiles(one, other, compared.common_files, shallow=False)
    return not different and not unread and all(
        is_same_tree(f"{one}/{name}", f"{other}/{name}") for name in compared.common_dirs)


def rsync():
    """The receiver of a transfer forks, and its processes share the connection."""
    need("rsync")

    def case(preload, folder, port):
        make_tree(f"{folder}/here")
        owner = "uid = root\ngid = root" if os.geteuid() == 0 else ""
        with open(f"{folder}/settings", "w", encoding="ascii") as file:
            file.write(RSYNC.format(folder=folder, owner=owner))
        os.mkdir(f"{folder}/there")
        command = ["rsync", "--daemon", "--no-detach", f"--config={folder}/settings",
                   f"--port={port}", f"--log-file={folder}/log"]
        with server(command, port, preload):
            there = f"rsync://127.0.0.1:{port}/it/"
            # The daemon receives, the client does, and neither has anything to send.
            for arguments in ([f"{folder}/here/", there], [there, f"{folder}/back"],
                              [f"{folder}/here/", there]):
                run(["rsync", "-a", "--checksum", *arguments], preload)
        assert is_same_tree(f"{folder}/here", f"{folder}/there")
        assert is_same_tree(f"{folder}/here", f"{folder}/back")

    both(case)


def vsftpd():
    """A session goes from one process to the next when the user has said who it is."""
    need("vsftpd")
    if os.geteuid() != 0:
        skip("vsftpd needs to be started by root")

    def case(preload, folder, port):
        os.makedirs(f"{folder}/root")
        os.mkdir(f"{folder}/empty")
        with open(f"{folder}/root/file", "wb") as file:
            file.write(random.Random(4).randbytes(3_000_000))
        os.chmod(f"{folder}/root", 0o555)
        with open(f"{folder}/settings", "w", encoding="ascii") as file:
            file.write(VSFTPD.format(folder=folder, port=port))
        with server(["/usr/sbin/vsftpd", f"{folder}/settings"], port, preload):
            for _ in range(SESSIONS):
                run([sys.executable, os.path.join(HERE, "forking_programs.py"), str(port),
                     f"{folder}/root/file"], preload)

    both(case)


def ftp_session(port, path):
    """Fetches a file some times in one session, as a program that knows nothing of streams."""
    with open(path, "rb") as file:
        expected = file.read()
    with contextlib.closing(ftplib.FTP()) as session:
        session.connect("127.0.0.1", int(port), 10)
        session.login()
        for _ in range(4):
            received = io.BytesIO()
            session.retrbinary("RETR file", received.write)
            assert received.getvalue() == expected
        names = []
        session.retrlines("NLST", names.append)
        assert names == ["file"]
        session.quit()


if __name__ == "__main__":
    ftp_session(*sys.argv[1:])

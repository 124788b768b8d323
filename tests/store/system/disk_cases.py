# SPDX-License-Identifier: MIT
# Cases of folders: restarts, lost folders, full disks.
import os
import resource
import shutil
import signal
import threading

from cluster import redis, Store, until, with_folder


def fill(client, first, count):
    with client.pipeline(transaction=False) as pipe:
        for i in range(first, first + count):
            pipe.set("k%d" % i, b"v%d" % i * 20)
        pipe.execute()


def check(client, count):
    assert client.dbsize() == count, client.dbsize()
    for i in range(0, count, max(1, count // 500)):
        assert client.get("k%d" % i) == b"v%d" % i * 20, i


def persisted(store, members=(0, 1, 2)):
    for i in members:
        until(lambda: store.status(i)["log_lag"] == "0", "all is on the disk")


@with_folder
def case_restart(folder):
    views = []
    for round_ in range(4):
        # Small checkpoints, so that there are some.
        with Store(data=folder, arguments=("--checkpoint-mib", "1")) as store:
            check(store.client(round_ % 3), 10000 * round_)
            views.append(int(store.status(0)["view"]))
            fill(store.client((round_ + 1) % 3), 10000 * round_, 10000)
            persisted(store)
            if round_ == 2:
                until(lambda: int(store.status(1)["checkpoint"]) > 0, "a checkpoint")
    assert views == sorted(set(views)), views
    # The data belong to this store only.
    try:
        Store(data=folder, arguments=("--name", "another"))
        raise AssertionError("the log of another store was accepted")
    except AssertionError as error:
        assert "it is the log of group" in str(error), error
    # A flipped byte is named.
    log = sorted(f for f in os.listdir(folder + "/1") if f.endswith(".log"))[-1]
    with open(folder + "/1/" + log, "r+b") as file:
        file.seek(200)
        byte = file.read(1)
        file.seek(200)
        file.write(bytes([byte[0] ^ 1]))
    try:
        Store(data=folder)
        raise AssertionError("a damaged log was accepted")
    except AssertionError as error:
        assert folder + "/1/" + log in str(error) and "byte" in str(error), error
    with Store(data=folder, arguments=("--cut-damage",)) as store:
        check(store.client(1), 40000)


@with_folder
def case_lost_folder(folder):
    with Store(data=folder) as store:
        fill(store.client(0), 0, 5000)
        persisted(store)
    shutil.rmtree(folder + "/1")
    with Store(data=folder) as store:
        check(store.client(1), 5000)
        fill(store.client(1), 5000, 1000)
        persisted(store)
    # A majority has nothing: what they had is not known, so nothing is made up.
    for i in (0, 2):
        shutil.rmtree("%s/%d" % (folder, i))
    try:
        Store(data=folder)
        raise AssertionError("it started without a majority of the logs")
    except AssertionError as error:
        assert "only 1 of 3 members have a log" in str(error), error


@with_folder
def case_all_killed(folder):
    """Members die at different times, and in the end all at once, in the middle of their work."""
    count = 0
    for victim in (0, 1, 2):
        with Store(data=folder) as store:
            fill(store.client((victim + 1) % 3), count, 3000)
            store.kill(victim)
            store.settled((victim + 1) % 3, 2)
            fill(store.client((victim + 2) % 3), count + 3000, 3000)
            count += 6000
            persisted(store, {0, 1, 2} - {victim})
            store.stop(signal.SIGKILL)
        with Store(data=folder) as store:
            for i in range(3):
                check(store.client(i), count)
            store.stop(signal.SIGKILL)


@with_folder
def case_sync(folder):
    """With --sync, what was acknowledged is there although all die at once in the middle of their work."""
    acknowledged = []
    for round_ in range(4):
        with Store(data=folder, arguments=("--sync", "--checkpoint-mib", "1")) as store:
            for i in range(3):
                for at in range(0, len(acknowledged), 500):
                    assert None not in store.client(i).mget(acknowledged[at:at + 500])

            def work(which):
                client, number = store.client(which % 3), 0
                try:
                    while True:
                        keys = ["%d:%d:%d" % (round_, which, number + i) for i in range(16)]
                        number += 16
                        with client.pipeline(transaction=False) as pipe:
                            for key in keys:
                                pipe.set(key, "x" * 200)
                            pipe.execute()
                        acknowledged.extend(keys)
                except redis.RedisError:
                    pass

            threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
            before = len(acknowledged)
            for thread in threads:
                thread.start()
            until(lambda: len(acknowledged) > before + 3000, "writes")
            store.stop(signal.SIGKILL)
            for thread in threads:
                thread.join()


@with_folder
def case_full_disk_sync(folder):
    with Store(data=folder, arguments=("--sync",)) as store:
        resource.prlimit(store.pids[0], resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))
        done = 0
        # The others wait for its disk only until it leaves.
        while done < 20000:
            fill(store.client(1), done, 2000)
            done += 2000
        store.settled(1, 2)
        for command in (("SET", "k0", "x"), ("GET", "k0")):
            try:
                store.client(0).execute_command(*command)
                raise AssertionError("it was done by a member that has left")
            except redis.ResponseError as error:
                assert "MISCONF" in str(error), error
        check(store.client(2), done)
        store.stop(signal.SIGKILL)
    with Store(data=folder) as store:
        check(store.client(0), done)


@with_folder
def case_full_disk(folder):
    with Store(data=folder) as store:
        # A limit of the size of files stands for a full disk: writing fails in the same way.
        resource.prlimit(store.pids[0], resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        writer = store.client(1)
        done = 0
        while store.status(0)["log_error"] == "":
            fill(writer, done, 2000)
            done += 2000
            assert done < 200000, "the limit has no effect"
        assert "make room" in store.status(0)["log_error"]
        try:
            until(lambda: not store.client(0).set("x", 1), "refused")
        except redis.ResponseError as error:
            assert "MISCONF" in str(error), error
        # It still reads, and the others go on.
        assert store.client(0).get("k1") == b"v1" * 20
        fill(writer, done, 2000)
        persisted(store, (1, 2))
        store.stop(signal.SIGKILL)
    # What it could not write comes from the others.
    with Store(data=folder) as store:
        check(store.client(0), done + 2000)

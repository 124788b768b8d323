# SPDX-License-Identifier: MIT
# Cases of members that die or are stopped, and the histories of registers.
import os
import random
import signal
import threading
import time

from cluster import connect, redis, Store, until, with_folder
from linearizable import INFINITE, linearizable


# For the launcher: another process takes the place of a member that was killed.
REPLACED = ("--elastic", "32", "--replace", "0.2")


class Failover:
    """A client that goes to the next member when its own does not answer."""

    def __init__(self, store, first):
        self.store, self.at = store, first
        self.link = store.client(first, timeout=20)

    def move(self):
        self.at = (self.at + 1) % self.store.members
        self.link = self.store.client(self.at, timeout=20)


class Writers:
    """Clients that write keys, each one again and again until it is acknowledged."""

    def __init__(self, store, count=2):
        self.store, self.stop, self.took = store, threading.Event(), []
        self.acknowledged = [[] for _ in range(count)]
        self.threads = [threading.Thread(target=self.write, args=(i,)) for i in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def write(self, which):
        client, i = Failover(self.store, which), 0
        while not self.stop.is_set():
            key = "w%d:%d" % (which, i)
            begin = time.monotonic()
            while True:
                try:
                    client.link.set(key, i)
                    break
                except redis.RedisError:
                    client.move()
            self.took.append(time.monotonic() - begin)
            self.acknowledged[which].append(key)
            i += 1

    def go_on(self, count=300):
        before = [len(a) for a in self.acknowledged]
        until(lambda: all(len(a) > n + count for a, n in zip(self.acknowledged, before)), "writes")

    def check(self, members):
        """All that was acknowledged is at these members, and nothing else."""
        for i in members:
            for keys in self.acknowledged:
                for at in range(0, len(keys), 500):
                    assert None not in self.store.client(i).mget(keys[at:at + 500])
            assert self.store.client(i).dbsize() == sum(map(len, self.acknowledged))


def case_kill():
    with Store() as store:
        with Writers(store) as writers:
            writers.go_on()
            store.kill(0)
            writers.go_on()
        store.settled(1, 2)
        writers.check((1, 2))
        print("longest write %.0f ms" % (1000 * max(writers.took)))


@with_folder
def case_replaced(folder):
    """Members are killed under load and replaced, in turn; then all are stopped and started."""
    for sync, victims in ((False, (1, 0)), (True, (2, 1))):
        data = "%s/%d" % (folder, sync)
        with Store(3, data, ("--sync",) if sync else (), REPLACED) as store:
            with Writers(store) as writers:
                for victim in victims:
                    writers.go_on(60)
                    store.kill(victim)
                    store.replaced(victim)
                    store.settled(victim, 3)
                writers.go_on(60)
            writers.check(range(3))
            print("longest write %.0f ms" % (1000 * max(writers.took)))
        with Store(3, data) as store:
            writers.store = store
            writers.check(range(3))


def case_removed():
    """A member that is stopped for too long ends when it goes on, and is replaced."""
    with Store(3, None, ("--patience", "2000"), REPLACED) as store:
        store.client(0).set("k", 1)
        os.kill(store.pids[2], signal.SIGSTOP)
        store.settled(0, 2)
        store.settled(1, 2)
        assert store.client(1).set("k", 2)
        os.kill(store.pids[2], signal.SIGCONT)
        store.replaced(2)
        assert store.client(2).get("k") == b"2"


def case_majority_lost():
    with Store() as store:
        store.client(2).set("k", "old")
        for i in (0, 1):
            store.kill(i)
        client = store.client(2)
        until(lambda: store.status(2)["state"] == "majority lost", "it is known")
        for command in (("SET", "k", "new"), ("GET", "k")):
            try:
                client.execute_command(*command)
                raise AssertionError("it was done without a majority")
            except redis.ResponseError as error:
                assert "CLUSTERDOWN" in str(error), error
        assert client.execute_command("READONLY") and client.get("k") == b"old"


def case_paused():
    """A member that is stopped is removed, and learns of it; what it answers afterwards is true."""
    with Store(arguments=("--patience", "1000")) as store:
        store.client(0).set("k", 1)
        os.kill(store.pids[2], signal.SIGSTOP)
        waiting = connect(store, 2)
        waiting.sendall(b"GET k\r\n")
        store.settled(0, 2)
        assert store.client(1).set("k", 2)
        os.kill(store.pids[2], signal.SIGCONT)
        answer = waiting.recv(1000)
        assert answer.startswith(b"-CLUSTERDOWN"), answer
        until(lambda: store.status(2)["state"] in ("removed", "majority lost"), "it knows")
        stale = store.client(2)
        assert stale.execute_command("READONLY") and stale.get("k") == b"1"
        assert store.client(0).get("k") == b"2"


@with_folder
def case_linearizable(folder):
    source = random.Random()
    seed = int(os.environ.get("CARIAMA_SEED", source.randrange(1 << 30)))
    print("CARIAMA_SEED=%d" % seed)
    source = random.Random(seed)
    operations = 0
    for round_ in range(6):
        members = 3 if round_ % 2 else 5
        # Without a disk, and answered only when it is on the disks of all.
        data = "%s/%d" % (folder, round_) if round_ > 2 else None
        arguments = ("--patience", "3000") + (("--sync",) if data else ())
        launcher = REPLACED if round_ % 3 == 1 else ("--keep-going",)
        with Store(members, data, arguments, launcher) as store:
            operations += histories(store, source)
    print("%d operations on registers are linearizable" % operations)


def histories(store, source):
    """Clients read and write while members are killed and paused; then each key's history is searched."""
    stop = threading.Event()
    logs = [[] for _ in range(6)]

    def work(which, choice):
        log, client, number = logs[which], Failover(store, which % store.members), 0
        while not stop.is_set():
            key = choice.randrange(4)
            number += 1
            write = choice.random() < 0.5
            value = "%d.%d" % (which, number)
            begin = time.monotonic()
            try:
                if write:
                    client.link.set("r%d" % key, value)
                else:
                    answer = client.link.get("r%d" % key)
                    value = answer and answer.decode()
                log.append((begin, time.monotonic(), "w" if write else "r", value, key))
            except redis.RedisError:
                if write:
                    log.append((begin, INFINITE, "w", value, key))
                client.move()

    threads = [threading.Thread(target=work, args=(i, random.Random(source.random())))
               for i in range(len(logs))]
    for thread in threads:
        thread.start()
    count = lambda: sum(map(len, logs))
    until(lambda: count() > 1000, "operations")
    alive = list(range(store.members))
    for victim in source.sample(alive, (store.members - 1) // 2):
        # One that is only slow, for less than the patience of the others.
        paused = source.choice([i for i in alive if i != victim])
        os.kill(store.pids[paused], signal.SIGSTOP)
        time.sleep(source.random() * 0.2)
        store.kill(victim)
        alive.remove(victim)
        os.kill(store.pids[paused], signal.SIGCONT)
        before = count()
        until(lambda: count() > before + 1000, "operations after a death")
    stop.set()
    for thread in threads:
        thread.join()
    for key in range(4):
        history = [op[:4] for log in logs for op in log if op[4] == key]
        if not linearizable(history):
            print("key %d: not linearizable" % key)
            for op in sorted(history, key=lambda op: op[:2]):
                print(*op)
            raise AssertionError("a history is not linearizable")
    return count()

# SPDX-License-Identifier: MIT
# The store under its clients: store_test.py <cariama-run> <store_server> <case>.
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from linearizable import INFINITE, linearizable

try:
    import redis
except ImportError:
    redis = None

PATIENCE = 40


def skip(why):
    print("SKIPPED: " + why)
    sys.exit(77)


def until(done, what, patience=PATIENCE):
    """Asks again and again, for a limited time."""
    end = time.monotonic() + patience
    while True:
        answer = done()
        if answer:
            return answer
        assert time.monotonic() < end, "not in time: " + what
        time.sleep(0.01)


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

    def __init__(self, members=3, data=None, arguments=()):
        self.members = members
        self.port = free_ports(members)
        command = [sys.argv[1], "-n", str(members), "-t", "1", "--keep-going", sys.argv[2],
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

    def kill(self, i):
        os.kill(self.pids[i], signal.SIGKILL)

    def settled(self, i, members):
        """The member is in a view with so many members."""
        until(lambda: len(self.status(i)["members"].split(",")) == members, "the next view")


def cli(store, i, *words):
    return subprocess.run(["redis-cli", "-p", str(store.port + i), *words], check=True, timeout=PATIENCE,
                          capture_output=True, text=True).stdout.strip()


def case_cli():
    with Store() as store:
        assert cli(store, 0, "SET", "a", "1") == "OK"
        assert cli(store, 1, "INCR", "a") == "2"
        assert cli(store, 2, "GET", "a") == "2"
        assert "not an integer" in cli(store, 2, "INCRBY", "a", "x")
        assert "unknown command" in cli(store, 0, "NOSUCH")
        assert "view:1" in cli(store, 1, "STATUS")
        done = subprocess.run(["redis-benchmark", "-p", str(store.port + 1), "-t",
                               "ping,set,get,incr,mset", "-n", "2000", "-P", "16", "-c", "20", "--csv"],
                              check=True, timeout=PATIENCE, capture_output=True, text=True).stdout
        assert len(done.splitlines()) == 7, done
        assert int(cli(store, 2, "DBSIZE")) > 2
        # The same at all members.
        mset = [cli(store, i, "GET", "counter:__rand_int__") for i in range(3)]
        assert mset == ["2000"] * 3, mset


def case_library():
    with Store() as store:
        one, other = store.client(0), store.client(1)
        assert one.set("k", b"\x00\r\n\xff") and other.get("k") == b"\x00\r\n\xff"
        assert one.set("k", "x", nx=True) is None
        assert other.mset({"a": 1, "b": 2}) and one.mget("a", "none", "b") == [b"1", None, b"2"]
        with one.pipeline(transaction=False) as pipe:
            for i in range(1000):
                pipe.set("p%d" % i, i).incr("n").get("p%d" % i)
            answers = pipe.execute()
        assert answers == [x for i in range(1000) for x in (True, i + 1, str(i).encode())]
        with one.pipeline(transaction=True) as pipe:
            assert pipe.set("t", 1).incrby("t", 5).get("t").execute() == [True, 6, b"6"]
        assert len(set(other.scan_iter("p*", count=50))) == 1000
        assert sorted(other.keys("[ab]")) == [b"a", b"b"]
        assert other.delete("a", "b", "c") == 2 and one.exists("a") == 0
        assert one.set("e", 1, px=300) and 0 < other.pttl("e") <= 300
        until(lambda: other.get("e") is None, "the key ends", 5)
        assert one.get("e") is None
        one.set("e", 1, ex=100)
        assert one.persist("e") and other.ttl("e") == -1
        assert one.expire("e", 50) and 48 <= other.ttl("e") <= 50
        assert one.append("e", "23") == 3 and other.strlen("e") == 3
        assert other.flushall() and one.dbsize() == 0
        # 60 000 bytes fit into a message, 70 000 do not, and the connection goes on.
        assert one.set("large", b"x" * 60000) and len(other.get("large")) == 60000
        try:
            one.set("large", b"x" * 70000)
            raise AssertionError("it was accepted")
        except redis.ResponseError as error:
            assert "larger than" in str(error)
        assert one.ping()


def case_pubsub():
    with Store() as store:
        listeners = [store.client(i).pubsub(ignore_subscribe_messages=True) for i in range(3)]
        for listener in listeners:
            listener.subscribe("news", "other")
            listener.get_message(timeout=PATIENCE)
        until(lambda: all(store.client(i).publish("news", "ready") == 1 for i in range(3)), "subscribed")
        senders = [store.client(i) for i in range(3)]
        for i in range(90):
            senders[i % 3].publish("news", i)
        heard = []
        for listener in listeners:
            texts = []
            until(lambda: (message := listener.get_message(timeout=1)) and
                  texts.append(message["data"]) or texts[-1:] == [b"89"], "the last message")
            heard.append([text for text in texts if text != b"ready"])
        assert heard[0] == heard[1] == heard[2] == [str(i).encode() for i in range(90)]


def connect(store, i):
    link = socket.create_connection(("127.0.0.1", store.port + i), PATIENCE)
    link.settimeout(PATIENCE)
    return link


def read_all(link):
    text = b""
    try:
        while piece := link.recv(65536):
            text += piece
    except ConnectionResetError:
        pass
    return text


def memory_of(pid):
    with open("/proc/%d/status" % pid) as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def case_garbage():
    with Store() as store:
        good = store.client(0)
        for bad in (b"*x\r\n", b"*1\r\n$-5\r\n", b"*2\r\n:1\r\n", b"*1\r\n$9999999999\r\n", b"a" * 70000,
                    b"*1\r\n$4\r\nPINGxx"):
            link = connect(store, 0)
            link.sendall(b"PING\r\n" + bad)
            answer = read_all(link)
            assert answer.startswith(b"+PONG\r\n-ERR Protocol error"), (bad[:20], answer)
            assert good.ping()
        source = random.Random(3)
        for _ in range(200):
            link = connect(store, source.randrange(3))
            try:
                link.sendall(bytes(source.randrange(256) for _ in range(source.randrange(500))))
            except OSError:
                pass
            link.close()
        # 512 MB, the most that the protocol allows, at two connections; then the next command.
        before = memory_of(store.pids[0])
        links = [connect(store, 0) for _ in range(2)]
        block = b"x" * (1 << 20)
        for link in links:
            link.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\n")
        for _ in range(512):
            for link in links:
                link.sendall(block)
        grown = memory_of(store.pids[0]) - before
        for link in links:
            link.sendall(b"\r\nPING\r\n")
            link.shutdown(socket.SHUT_WR)
            answer = read_all(link)
            assert answer.startswith(b"-ERR the command is larger") and answer.endswith(b"+PONG\r\n"), answer
        assert grown < 20000, "%d KiB more memory" % grown
        assert good.get("k") is None
        # A client that takes no replies stops being read, and stops nobody else.
        link = connect(store, 0)
        good.set("k", b"v" * 50000)
        link.setblocking(False)
        try:
            while True:
                link.send(b"GET k\r\n" * 1000)
        except BlockingIOError:
            pass
        assert good.ping() and good.set("x", 1)


def case_connections():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < 10500:
        skip("a process may open only %d files" % most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with Store() as store:
        links = [connect(store, 0) for _ in range(10000)]
        until(lambda: int(store.status(0)["clients"]) >= 10000, "all are accepted")
        for i, link in enumerate(links):
            link.sendall(b"INCR n\r\nPING\r\n")
        total = 0
        for link in links:
            answer = b""
            while not answer.endswith(b"+PONG\r\n"):
                answer += link.recv(100)
            total += int(answer[1:answer.index(b"\r")])
        assert total == 10000 * 10001 // 2, total
        for link in links:
            link.close()
        until(lambda: int(store.status(0)["clients"]) < 10, "all are gone")


class Failover:
    """A client that goes to the next member when its own does not answer."""

    def __init__(self, store, first):
        self.store, self.at = store, first
        self.link = store.client(first, timeout=20)

    def move(self):
        self.at = (self.at + 1) % self.store.members
        self.link = self.store.client(self.at, timeout=20)


def case_kill():
    with Store() as store:
        stop, took = threading.Event(), []
        acknowledged = [[], []]

        def write(which):
            client, i = Failover(store, which), 0
            while not stop.is_set():
                key = "w%d:%d" % (which, i)
                begin = time.monotonic()
                while True:
                    try:
                        client.link.set(key, i)
                        break
                    except redis.RedisError:
                        client.move()
                took.append(time.monotonic() - begin)
                acknowledged[which].append(key)
                i += 1

        threads = [threading.Thread(target=write, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        until(lambda: all(len(a) > 300 for a in acknowledged), "writes before")
        store.kill(0)
        before = [len(a) for a in acknowledged]
        until(lambda: all(len(a) > n + 300 for a, n in zip(acknowledged, before)), "writes after")
        stop.set()
        for thread in threads:
            thread.join()
        store.settled(1, 2)
        for i in (1, 2):
            for keys in acknowledged:
                for at in range(0, len(keys), 500):
                    assert None not in store.client(i).mget(keys[at:at + 500])
        print("longest write %.0f ms" % (1000 * max(took)))
        assert store.client(1).dbsize() == sum(map(len, acknowledged))


def fill(client, first, count):
    with client.pipeline(transaction=False) as pipe:
        for i in range(first, first + count):
            pipe.set("k%d" % i, b"v%d" % i * 20)
        pipe.execute()


def check(client, count):
    assert client.dbsize() == count, client.dbsize()
    for i in range(0, count, max(1, count // 500)):
        assert client.get("k%d" % i) == b"v%d" % i * 20, i


def with_folder(case):
    def run():
        folder = tempfile.mkdtemp(prefix="cariama-store-")
        try:
            case(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return run


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
        with Store(members, data, arguments) as store:
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


if __name__ == "__main__":
    if redis is None:
        skip("python3-redis is not installed: scripts/setup test")
    for tool in ("redis-cli", "redis-benchmark"):
        if not shutil.which(tool):
            skip(tool + " is not installed: scripts/setup test")
    globals()["case_" + sys.argv[3]]()

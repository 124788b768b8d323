# SPDX-License-Identifier: MIT
# Cases of clients: commands, transactions, channels, garbage, many connections.
import random
import resource
import socket
import subprocess
import threading

from cluster import cli, connect, PATIENCE, redis, skip, Store, until


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
        # More than a message of the group holds, alone and in a transaction.
        large = random.Random(1).randbytes(5 << 20)
        assert one.set("large", large) and other.get("large") == large
        with other.pipeline(transaction=True) as pipe:
            for i in range(4):
                pipe.append("large", b"x" * (1 << 20))
            assert pipe.execute()[-1] == 9 << 20
        assert one.strlen("large") == 9 << 20
        try:
            one.set("large", b"x" * (65 << 20))
            raise AssertionError("it was accepted")
        except redis.ResponseError as error:
            assert "larger than 67108864 bytes" in str(error), error
        assert one.ping()


def case_watch():
    """Clients of different members add to one number, each by reading it and writing it back."""
    with Store() as store:
        retries = [0] * 3

        def work(which):
            client = store.client(which)
            for _ in range(100):
                while True:
                    with client.pipeline() as pipe:
                        try:
                            pipe.watch("n")
                            before = int(pipe.get("n") or 0)
                            pipe.multi()
                            pipe.set("n", before + 1)
                            pipe.execute()
                            break
                        except redis.WatchError:
                            retries[which] += 1

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.client(0).get("n") == b"300", store.client(0).get("n")
        print("%d transactions were tried again" % sum(retries))
        assert sum(retries) > 0
        # All in one write: the WATCH sees the SET before it.
        link = connect(store, 1)
        link.sendall(b"SET n 7\r\nWATCH n\r\nMULTI\r\nINCR n\r\nEXEC\r\nQUIT\r\n")
        assert read_all(link) == b"+OK\r\n+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n:8\r\n+OK\r\n"


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

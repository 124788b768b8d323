# SPDX-License-Identifier: MIT
# The page of scripts/webtier, in a browser: it says what the figures say that it is made from.
import json
import os
import subprocess
import tempfile

import browser
from messages import PATIENCE

WEBTIER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts/webtier")
SECONDS, KILLED_AT = 20, 10
SCHEMES = {"ac": 1000, "bcc": 1500, "ccwr": 1700, "mtacc": 1800, "hybcc": 2000}


def slices_of(rate):
    """A scheme that answers so much, and half of it after a death. Its other figures are from the
    rate too: the more it answers, the more it has found at neighbours."""
    slices = []
    for second in range(1, SECONDS + 1):
        now = rate if second <= KILLED_AT else rate // 2
        neighbour = (now - 500) * 2 // 5
        kinds = {"hit": now // 2, "neighbour": neighbour, "stale": 0, "revalidated": 0,
                 "miss": now - now // 2 - neighbour, "collapsed": 0, "pass": 0}
        slices.append({"at": second, "requests": now, "seconds": 1.0, "kinds": kinds,
                       "p50": 2000 / now, "p99": 9000 / now, "errors": 0,
                       "client_bytes": now * 30_000, "neighbour_bytes": neighbour * 30_000,
                       "origin_bytes": kinds["miss"] * 30_000})
    return slices


def scheme_of(untrue):
    return {"reads": 400, "untrue": untrue, "took_median_us": 1 + 30 * untrue,
            "took_p99_us": 10 + 100 * untrue, "threads_mean": untrue / 100,
            "threads_most": untrue // 50, "connections_mean": untrue / 25,
            "connections_most": untrue // 5,
            "slices": [{"at": 0.25 * (i + 1), "connections": untrue / (20 + i % 7)}
                       for i in range(40)]}


def figures():
    runs = {name: slices_of(rate) for name, rate in SCHEMES.items()}
    moves = [{"at": 0.5 * (i + 1), "requests": {"shop": 800, "news": 700 if i < 13 else 2500},
              "nodes": {"shop": 2, "news": 1} if i < 15 else {"shop": 1, "news": 2}}
             for i in range(40)]
    return {"command": "scripts/webtier --zipf 0.9 --out '<a & b>.html'",
            "setting": {"proxies": 3, "cache of each": "32 MiB"},
            "sections": [{"title": "Zipf 0.90", "runs": runs, "killed_at": KILLED_AT}],
            "sites": {"slices": moves, "grows_at": 6.6, "errors": 0},
            "accuracy": {"cores": 2, "seconds": 10, "changes": 12345, "sample_ms": 50, "schemes": {
                "socket-async": scheme_of(250), "socket-sync": scheme_of(3),
                "rdma-async": scheme_of(350), "rdma-sync": scheme_of(0)}}}


def case_page():
    browser.program()
    with tempfile.TemporaryDirectory(prefix="cariama-page-") as folder:
        source, page = os.path.join(folder, "figures.json"), os.path.join(folder, "page.html")
        with open(source, "w") as file:
            json.dump(figures(), file)
        subprocess.run([WEBTIER, "--figures", source, "--out", page], check=True, timeout=PATIENCE)
        shown = browser.check(page)
    text = shown["text"].replace("\u00a0", " ")
    assert shown["title"] == "Cariama web tier"
    for words in (
            # Who won, by how much, and what it is made of.
            "HYBCC\nwon at Zipf 0.90, with 2 k requests/s", "2.00 times\nas many requests/s as AC",
            "HYBCC won with 2 k requests/s, 2.00 times AC, 1.33 times BCC, 1.18 times CCWR, "
            "1.11 times MTACC.",
            "80.0 %\nof its requests found a document in the tier; 70.0 % of those of AC",
            "1.00 ms\nits median latency; 2.00 ms that of AC",
            "0 errors\nseen by clients of HYBCC when a proxy was killed at 10 s",
            "1.4 s\nuntil the first proxy moved", "it had 1, and 2 at the end",
            "0.0 % untrue\nof what RDMA-sync said", "62.5 % by socket-async",
            "12345 changes in 10 s", "scripts/webtier --zipf 0.9 --out '<a & b>.html'"):
        assert words in text, "%r is not in:\n%s" % (words, text)
    schemes, killed, sites, watched, setting = [
        [[cell.replace("\u00a0", " ") for cell in row] for row in table["rows"]]
        for table in shown["tables"]]
    assert [row[0] for row in schemes] == ["scheme", *(name.upper() for name in SCHEMES)]
    assert schemes[5] == ["HYBCC", "2 k", "1.00", "4.50", "50.0 %", "30.0 %", "20.0 %", "60 MB",
                          "18 MB", "12 MB", "0"], schemes[5]
    assert killed[5] == ["HYBCC", "2 k", "1 k", "80.0 %", "70.0 %", "0"], killed[5]
    assert sites[1:] == [["shop", "2", "800", "1", "800"], ["news", "1", "700", "2", "2.5 k"]], sites
    assert watched[4] == ["rdma-sync", "400", "1.0", "10.0", "0.00", "0", "0.00", "0", "0.0 %"]
    assert setting == [["proxies", "3"], ["cache of each", "32 MiB"]]
    # A line or bar for each scheme, the better ones longer.
    pictures = {picture["title"]: picture for picture in shown["pictures"]}
    assert len(pictures) == 17, list(pictures)
    for title in ("Throughput", "Latency, median", "Latency, 99th percentile", "Found in the tier",
                  "Found in the proxy's own cache", "Found at a neighbour",
                  "From the origin, over time", "From neighbours, over time"):
        assert len(pictures[title]["lines"]) == len(SCHEMES), title
        assert any("one proxy is killed" == each["text"] for each in pictures[title]["texts"])
    tops = [each["box"][1] for each in pictures["Throughput"]["lines"]]
    assert tops == sorted(tops, reverse=True) and tops[0] > tops[-1] + 50, tops
    long = [each["box"][2] - each["box"][0]
            for each in pictures["Link from proxies to clients"]["bars"]]
    assert long == sorted(long) and abs(long[-1] - 2 * long[0]) <= 2, long
    assert len(pictures["Where documents were found"]["bars"]) == 3 * len(SCHEMES)

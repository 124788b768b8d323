# SPDX-License-Identifier: MIT
# Two sites whose loads change, and proxies that follow them.
import signal
import subprocess
import time

from load import Load, figures_of
from tier import Proxies

SITES = ("shop", "news")
SLICE = 0.5


class Balancer:
    """Keeps the connections of each site at the proxies that are for it, by wrk."""

    def __init__(self, wrk, proxies, seconds, documents, alpha):
        self.proxies, self.seconds = proxies.all, seconds
        self.loads = {site: Load(wrk, proxies.folder, 1, documents, alpha, host=site)
                      for site in SITES}
        self.running = {}
        self.errors = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _, process in self.running.values():
            process.kill()
            process.communicate()

    def follow(self, connections):
        """Makes it so many of each site. Returns what the proxies have counted and what they are
        for: {site: requests}, {site: proxies}."""
        metrics = [proxy.metrics() for proxy in self.proxies]
        requests, nodes, wanted = {}, {}, {}
        for site in SITES:
            requests[site] = sum(each['site_requests_total{site="%s"}' % site] for each in metrics)
            its = [proxy for proxy, each in zip(self.proxies, metrics)
                   if each['site{site="%s"}' % site] == 1]
            nodes[site] = len(its)
            for i, proxy in enumerate(its):
                first, end = (connections[site] * at // len(its) for at in (i, i + 1))
                if end > first:
                    wanted[site, proxy] = end - first
        self.end([key for key, (count, _) in self.running.items() if wanted.get(key) != count])
        for (site, proxy), count in wanted.items():
            if (site, proxy) not in self.running:
                process = self.loads[site].start(proxy.port, self.seconds, connections=count)
                self.running[site, proxy] = count, process
        return requests, nodes

    def end(self, keys):
        ended = [self.running.pop(key)[1] for key in keys]
        for process in ended:
            process.send_signal(signal.SIGINT)
        for process in ended:
            try:
                self.errors += figures_of(process)["errors"]
            except (ValueError, subprocess.TimeoutExpired):
                # It had not begun yet.
                process.kill()
                process.communicate()


def run(options, count, alpha, origin, wrk):
    """A run of so many proxies in which the load of the second site grows fivefold after a third:
    its slices, when that was, and the errors that wrk has seen."""
    sites = ",".join("%s=127.0.0.1:%d" % (site, origin.port) for site in SITES)
    calm = {site: options.connections for site in SITES}
    loaded = dict(calm, news=5 * options.connections)
    seconds = max(options.seconds, 6)
    slices = []
    with Proxies(options.build, count, "hybcc", origin.port, options.cache_mib,
                 more=["--sites", sites]) as proxies, \
            Balancer(wrk, proxies, seconds + 60, options.documents, alpha) as balancer:
        began = time.monotonic()
        last, counted = began, None
        while last < began + seconds:
            time.sleep(0.1)
            now = time.monotonic()
            step = now >= began + seconds / 3
            requests, nodes = balancer.follow(loaded if step else calm)
            if counted is None:
                counted, last = requests, now
            elif now - last >= SLICE:
                rates = {site: (requests[site] - counted[site]) / (now - last) for site in SITES}
                slices.append({"at": now - began, "requests": rates, "nodes": nodes})
                counted, last = requests, now
        balancer.end(list(balancer.running))
    return {"slices": slices, "grows_at": seconds / 3, "errors": balancer.errors}

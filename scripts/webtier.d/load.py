# SPDX-License-Identifier: MIT
# wrk as load, with Zipf's law, and its figures.
import itertools
import json
import os
import subprocess

# Document r is asked for in proportion to 1 / (r + 1)^alpha. At its end wrk writes a line of JSON.
SCRIPT = """
local documents, alpha, seed, host = %d, %f, %d, "%s"
local sums, sum = {}, 0
for i = 1, documents do
  sum = sum + 1 / i ^ alpha
  sums[i] = sum
end
local requests = {}
-- All proxies stand for one host, else they would have no document in common.
wrk.headers["Host"] = host

function init()
  math.randomseed(seed)
  for i = 1, documents do requests[i] = wrk.format("GET", "/d" .. (i - 1)) end
end

function request()
  local want, low, high = math.random() * sum, 1, documents
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sums[middle] < want then low = middle + 1 else high = middle end
  end
  return requests[low]
end

function done(summary, latency)
  local errors = 0
  for _, count in pairs(summary.errors) do errors = errors + count end
  local form = '{"requests": %%d, "seconds": %%f, "p50": %%f, "p99": %%f, "errors": %%d}'
  print(string.format(form, summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, errors))
end
"""


class Load:
    """wrk with one thread, to be started again and again."""
    # Each run of each has a seed, and so a script, of its own: others are being read meanwhile.
    seeds = itertools.count(1)

    def __init__(self, wrk, folder, connections, documents=1, alpha=0.0, core=None,
                 host="webtier"):
        self.wrk, self.connections, self.core, self.folder = wrk, connections, core, folder
        self.documents, self.alpha, self.host = documents, alpha, host

    def start(self, port, seconds, path=None, connections=None):
        """A run; figures_of() waits for it. With `path` only that is asked for."""
        seed = next(Load.seeds)
        script = os.path.join(self.folder, "load-%d.lua" % seed)
        text = SCRIPT % (self.documents, self.alpha, seed, self.host)
        if path:
            text += '\nlocal fixed\nfunction init() fixed = wrk.format("GET", "%s") end\n' % path
            text += "function request() return fixed end\n"
        with open(script, "w") as file:
            file.write(text)
        # A pause of the whole machine is no error of a proxy.
        command = [self.wrk, "-t", "1", "-c", str(connections or self.connections),
                   "-d", "%ds" % seconds, "--timeout", "10s", "-s", script,
                   "http://127.0.0.1:%d" % port]
        if self.core is not None and os.cpu_count() > 1:
            command = ["taskset", "-c", str(self.core)] + command
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)


def figures_of(process):
    """requests, seconds, p50 and p99 in ms, errors."""
    text, _ = process.communicate(timeout=120)
    if "{" not in text:
        raise ValueError("wrk has measured nothing: " + (text or "it said nothing"))
    return json.loads(text[text.rindex("{"):])

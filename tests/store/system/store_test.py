# SPDX-License-Identifier: MIT
# The store under its clients: store_test.py <cariama-run> <store_server> <case>.
import shutil
import sys

import client_cases
import disk_cases
import failure_cases
from cluster import redis, skip


if __name__ == "__main__":
    if redis is None:
        skip("python3-redis is not installed: scripts/setup test")
    for tool in ("redis-cli", "redis-benchmark"):
        if not shutil.which(tool):
            skip(tool + " is not installed: scripts/setup test")
    name = "case_" + sys.argv[3]
    for module in (client_cases, failure_cases, disk_cases):
        if hasattr(module, name):
            getattr(module, name)()
            break
    else:
        sys.exit("there is no case " + sys.argv[3])

# SPDX-License-Identifier: MIT
"""Starts one of the small programs that know nothing of streams: roles.py NAME ARGUMENT..."""
import sys

import clients
import descriptor_limits
import orphans
import processes
import semantics
import servers
import shared_streams
import survivors
import urings

if __name__ == "__main__":
    role = next(getattr(module, sys.argv[1]) for module in (
        servers, clients, semantics, processes, descriptor_limits, shared_streams, orphans, survivors,
        urings)
                if hasattr(module, sys.argv[1]))
    role(*sys.argv[2:])

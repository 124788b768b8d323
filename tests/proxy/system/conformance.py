# SPDX-License-Identifier: MIT
# The public suite of https://cache-tests.fyi, where it is installed: CARIAMA_CACHE_TESTS names the
# folder of the npm package http-cache-tests.
import json
import os
import shutil
import signal
import socket
import subprocess

from messages import Link
from support import Proxy, skip, until

# Tests that the proxy fails on purpose, or whose expectation is another one than RFC 9111's.
KNOWN = {
    # Two ages in one field are garbage here, and make the response old.
    "age-parse-prefix",
    # The suite takes the 502 of the proxy, which has no fields of its server, for a stored one.
    "stale-close-must-revalidate", "stale-close-no-cache", "stale-close-proxy-revalidate",
    "stale-close-s-maxage=2",
    # A tenth of some seconds is less than the suite waits.
    "heuristic-delta-5", "heuristic-delta-10", "heuristic-delta-30",
    # Its server closes the connection within the body, or answers with status 999.
    "304-etag-update-response-Content-Length", "304-etag-update-response-Content-Range",
    "304-etag-update-response-ETag", "304-etag-update-response-Set-Cookie",
    # It compares with a type that its server has not sent.
    "304-etag-update-response-Content-Type",
    # Not stored on purpose: Set-Cookie, Content-Range outside of 206, lengths that are not true.
    "headers-store-Content-Length", "headers-store-Content-Range", "headers-store-Set-Cookie",
    "headers-store-Transfer-Encoding", "other-set-cookie",
    # What would be allowed, and is not done: parts are not stored, POST is never answered from the
    # store, values of Vary are compared byte by byte, Date is no validator.
    "conditional-lm-fresh-no-lm", "method-POST",
}
NOT_DONE = ("surrogate-", "partial-store-", "vary-normalise-")


def case_conformance():
    folder = os.environ.get("CARIAMA_CACHE_TESTS", "")
    node = shutil.which("node")
    if not node or not os.path.exists(os.path.join(folder, "cli.mjs")):
        skip("CARIAMA_CACHE_TESTS names no folder of npm's http-cache-tests, or node is missing")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    setting = dict(os.environ, npm_config_port=str(port), npm_config_protocol="http",
                   npm_package_config_id="", npm_config_pidfile=os.devnull)
    server = subprocess.Popen([node, "server/server.mjs"], cwd=folder, env=setting,
                              stdout=subprocess.DEVNULL)
    try:
        until(lambda: listens(port), "the server of the suite listens")
        with Proxy(port) as proxy:
            setting["npm_config_base"] = "http://127.0.0.1:%d" % proxy.port
            done = subprocess.run([node, "--no-warnings", "cli.mjs"], cwd=folder, env=setting,
                                  check=True, timeout=100, capture_output=True, text=True).stdout
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
    results = json.loads(done[done.index("{"):])
    assert len(results) > 300, len(results)
    failed = {name: result for name, result in results.items()
              if result is not True and result[1] is not None and not allowed(name, folder)}
    assert not failed, failed


def allowed(name, folder):
    """Known, or a question of the suite that has no right answer."""
    return name in KNOWN or name.startswith(NOT_DONE) or kind_of(name, folder) == "check"


def kind_of(name, folder):
    for file in os.listdir(os.path.join(folder, "tests")):
        with open(os.path.join(folder, "tests", file)) as source:
            text = source.read()
        at = text.find("id: '%s'" % name)
        if at >= 0:
            rest = text[at + 4:]
            rest = rest[:max(rest.find("id: '"), 0) or None]
            return "check" if "kind: 'check'" in rest else "test"
    return "test"


def listens(port):
    try:
        Link(port, 1).socket.close()
        return True
    except OSError:
        return False

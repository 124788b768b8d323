# SPDX-License-Identifier: MIT
# One case of the tests of the proxy: proxy_test.py <cariama-run> <cariama-proxy> <case>.
import sys

import bad_cases
import conformance
import freshness_cases
import http_cases
import job_cases
import limit_cases
import load_cases
import origin_cases
import page_cases
import transfer_cases

for module in (http_cases, freshness_cases, transfer_cases, bad_cases, origin_cases, load_cases,
               job_cases, limit_cases, page_cases, conformance):
    if hasattr(module, "case_" + sys.argv[3]):
        getattr(module, "case_" + sys.argv[3])()
        break
else:
    sys.exit("there is no case " + sys.argv[3])

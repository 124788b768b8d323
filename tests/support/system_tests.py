# SPDX-License-Identifier: MIT
# What tests of whole programs have in common.
import sys
import time


def skip(why):
    print("SKIPPED: " + why)
    sys.exit(77)


def until_within(patience):
    """A function that asks again and again, for so many seconds unless it is told otherwise."""
    def until(done, what, patience=patience):
        end = time.monotonic() + patience
        while True:
            answer = done()
            if answer:
                return answer
            assert time.monotonic() < end, "not in time: " + what
            time.sleep(0.01)
    return until

# SPDX-License-Identifier: MIT
# What the slices of a run of scripts/webtier say together.
HERE = ("hit", "stale", "revalidated")
NEIGHBOUR = ("neighbour",)
ORIGIN = ("miss", "collapsed", "pass")
LINKS = (("clients", "client_bytes"), ("neighbours", "neighbour_bytes"), ("origin", "origin_bytes"))


def steady(slices, killed_at=None):
    """Where caches are full and all live: the second half, up to the death of a proxy."""
    if killed_at is not None:
        slices = [each for each in slices if each["at"] <= killed_at]
    return slices[len(slices) // 2:]


def after(slices, killed_at):
    """The second half of what follows the death of a proxy."""
    slices = [each for each in slices if each["at"] > killed_at]
    return slices[len(slices) // 2:]


def seconds(slices):
    return sum(each["seconds"] for each in slices) or 1


def rate(slices, name="requests"):
    """How much of it in a second."""
    return sum(each[name] for each in slices) / seconds(slices)


def share(slices, kinds):
    """The part of the requests that was answered so."""
    total = sum(sum(each["kinds"].values()) for each in slices) or 1
    return sum(each["kinds"][kind] for each in slices for kind in kinds) / total


def median_latency(slices):
    """The mean of the medians, by requests, in ms."""
    total = sum(each["requests"] for each in slices) or 1
    return sum(each["p50"] * each["requests"] for each in slices) / total


def worst_latency(slices):
    """The p99 of the worst slice, in ms."""
    return max((each["p99"] for each in slices), default=0)


def calm(sites):
    """The slices before the load grew; the first one of all where the machine was too slow."""
    slices = sites["slices"]
    return [each for each in slices if each["at"] < sites["grows_at"]] or slices[:1]


def moved(sites):
    """Of a run of two sites: proxies of the site that got more clients, before and at the end, and
    the seconds until the first one came; None where none did."""
    slices, grows_at = sites["slices"], sites["grows_at"]
    before = calm(sites)[-1]["nodes"]["news"]
    later = [each["at"] - grows_at for each in slices
             if each["at"] >= grows_at and each["nodes"]["news"] > before]
    return before, slices[-1]["nodes"]["news"], later[0] if later else None

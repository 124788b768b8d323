# SPDX-License-Identifier: MIT
# The page that scripts/webtier writes: one file, without scripts or anything from elsewhere.
import html

import figures as of
from style import STYLE
from svg import amount, bars, lines, nice

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>Cariama web tier</title>
<style>
%s</style></head><body>
<h1>Cooperative caches in a web tier</h1>
"""
PLACES = [("in the proxy's own cache", "here"), ("at a neighbour", "neighbour"),
          ("at the origin", "origin")]


def percent(value):
    return "%.1f\u00a0%%" % (100 * value)


def times(value, base):
    return "%.2f times" % (value / base) if base else "none of"


def table(heads, rows, kind=""):
    parts = ['<div class="table"><table%s>' % (' class="%s"' % kind if kind else "")]
    if heads:
        parts.append("<tr>%s</tr>" % "".join("<th>%s</th>" % html.escape(h) for h in heads))
    for row in rows:
        cells = "".join("<td>%s</td>" % html.escape(str(cell)) for cell in row)
        parts.append("<tr>%s</tr>" % cells)
    return "\n".join(parts) + "</table></div>\n"


def paragraph(words, kind=""):
    return "<p%s>%s</p>\n" % (' class="%s"' % kind if kind else "", html.escape(words))


def cards(items):
    """`items`: [(number, what it is)]."""
    return '<div class="cards">\n%s</div>\n' % "".join(
        "<div><b>%s</b><span>%s</span></div>\n" % (html.escape(number), html.escape(words))
        for number, words in items)


def windows(section):
    """What each scheme did while its caches were full and all proxies lived."""
    return {name: of.steady(slices, section["killed_at"])
            for name, slices in section["runs"].items()}


def won(section):
    """Which scheme answered the most, and by how much, in a sentence."""
    rates = {name: of.rate(part) for name, part in windows(section).items()}
    best = max(rates, key=rates.get)
    others = ["%s %s" % (times(rates[best], rates[name]), name.upper())
              for name in sorted(rates, key=rates.get) if name != best]
    words = "%s: %s won with %s requests/s" % (section["title"], best.upper(), nice(rates[best]))
    return words + (", %s." % ", ".join(others) if others else ".")


def summary(figures):
    section = figures["sections"][0]
    parts = windows(section)
    rates = {name: of.rate(part) for name, part in parts.items()}
    best = max(rates, key=rates.get)
    base = "ac" if "ac" in rates else min(rates, key=rates.get)
    items = [
        (best.upper(), "won at %s, with %s requests/s" % (section["title"], nice(rates[best]))),
        (times(rates[best], rates[base]), "as many requests/s as %s" % base.upper()),
        (percent(of.share(parts[best], of.HERE + of.NEIGHBOUR)),
         "of its requests found a document in the tier; %s of those of %s" % (
             percent(of.share(parts[base], of.HERE + of.NEIGHBOUR)), base.upper())),
        ("%.2f\u00a0ms" % of.median_latency(parts[best]),
         "its median latency; %.2f\u00a0ms that of %s" % (of.median_latency(parts[base]),
                                                     base.upper()))]
    if section["killed_at"] is not None:
        errors = sum(each["errors"] for each in section["runs"][best])
        items.append(("%d errors" % errors,
                      "seen by clients of %s when a proxy was killed at %s\u00a0s" % (
                          best.upper(), nice(section["killed_at"]))))
    if figures.get("sites"):
        before, now, took = of.moved(figures["sites"])
        items.append(("%.1f s" % took if took is not None else "no move",
                      "until the first proxy moved to the site that had five times the clients; it "
                      "had %d, and %d at the end" % (before, now)))
    if figures.get("accuracy"):
        schemes = figures["accuracy"]["schemes"]
        items.append((
            "%s untrue" % percent(untrue(schemes["rdma-sync"])),
            "of what RDMA-sync said of a busy process, at the instant of the read; %s by "
            "socket-async" % percent(untrue(schemes["socket-async"]))))
    sentences = "".join(paragraph(won(each)) for each in figures["sections"])
    return cards(items) + sentences


def scheme_table(section):
    rows = []
    for name, part in windows(section).items():
        rows.append([
            name.upper(), nice(of.rate(part)), "%.2f" % of.median_latency(part),
            "%.2f" % of.worst_latency(part), percent(of.share(part, of.HERE)),
            percent(of.share(part, of.NEIGHBOUR)), percent(of.share(part, of.ORIGIN)),
            *(amount(of.rate(part, counter), "B") for _, counter in of.LINKS),
            sum(each["errors"] for each in section["runs"][name])])
    return table(["scheme", "requests/s", "p50 ms", "p99 ms", "own cache", "neighbour", "origin",
                  "to clients /s", "from neighbours /s", "from origin /s", "errors"], rows)


def scheme_pictures(section):
    runs, parts = section["runs"], windows(section)
    killed_at = section["killed_at"]
    marks = [] if killed_at is None else [(killed_at, "one proxy is killed")]

    def over_time(title, unit, value):
        return lines(title, unit, {name.upper(): [(each["at"], value(each)) for each in slices]
                                   for name, slices in runs.items()}, marks)

    def link(title, counter):
        rows = [(name.upper(), of.rate(part, counter)) for name, part in parts.items()]
        return bars(title, "B/s", [(name, [(name.lower(), value)], amount(value, "B"))
                                   for name, value in rows])
    shares = [(name.upper(), [("here", of.share(part, of.HERE)),
                              ("neighbour", of.share(part, of.NEIGHBOUR)),
                              ("origin", of.share(part, of.ORIGIN))],
               percent(of.share(part, of.HERE + of.NEIGHBOUR))) for name, part in parts.items()]
    return '<div class="pictures">\n%s</div>\n' % "".join([
        over_time("Throughput", "requests/s", lambda e: e["requests"] / e["seconds"]),
        over_time("Latency, median", "ms", lambda e: e["p50"]),
        over_time("Latency, 99th percentile", "ms", lambda e: e["p99"]),
        bars("Where documents were found", "share of requests; in the tier", shares, PLACES),
        over_time("Found in the tier", "% of requests",
                  lambda e: 100 * of.share([e], of.HERE + of.NEIGHBOUR)),
        over_time("Found in the proxy's own cache", "% of requests",
                  lambda e: 100 * of.share([e], of.HERE)),
        over_time("Found at a neighbour", "% of requests",
                  lambda e: 100 * of.share([e], of.NEIGHBOUR)),
        *(link("Link %s" % title, counter) for title, counter in (
            ("from proxies to clients", "client_bytes"),
            ("from neighbours to proxies", "neighbour_bytes"),
            ("from the origin to proxies", "origin_bytes"))),
        over_time("From the origin, over time", "B/s", lambda e: e["origin_bytes"] / e["seconds"]),
        over_time("From neighbours, over time", "B/s",
                  lambda e: e["neighbour_bytes"] / e["seconds"])])


def death(section):
    """What the death of a proxy changed."""
    rows = []
    for name, slices in section["runs"].items():
        before = of.steady(slices, section["killed_at"])
        later = of.after(slices, section["killed_at"])
        rows.append([name.upper(), nice(of.rate(before)), nice(of.rate(later)),
                     percent(of.share(before, of.HERE + of.NEIGHBOUR)),
                     percent(of.share(later, of.HERE + of.NEIGHBOUR)),
                     sum(each["errors"] for each in slices if each["at"] > section["killed_at"])])
    return "<h3>One proxy is killed</h3>\n" + paragraph(
        "At %s s the last proxy got SIGKILL, and its clients went to the others. It took along its "
        "documents, and nothing else." % nice(section["killed_at"])) + table(
        ["scheme", "requests/s before", "after", "found in the tier before", "after",
         "errors after"], rows)


def sites(figures):
    slices, grows_at = figures["slices"], figures["grows_at"]
    before = of.calm(figures)
    after = slices[-len(before):]
    rows = []
    for site in slices[0]["nodes"]:
        rows.append([site] + [cell for part in (before, after) for cell in (
            part[-1]["nodes"][site],
            nice(sum(each["requests"][site] for each in part) / len(part)))])

    def over_time(key):
        return {site: [(each["at"], each[key][site]) for each in slices]
                for site in slices[0]["nodes"]}
    marks = [(grows_at, "news has five times the clients")]
    _, _, took = of.moved(figures)
    words = "No proxy moved." if took is None else (
        "The first proxy moved to news %.1f s after its clients had become five times as many; "
        "clients saw %d errors." % (took, figures["errors"]))
    return "<h2>One proxy is moved: proxies follow the loads of two sites</h2>\n" + \
        paragraph(words) + table(["site", "proxies", "requests/s", "proxies at the end",
                                  "requests/s"], rows) + \
        '<div class="pictures">\n%s%s</div>\n' % (
            lines("Proxies of each site", "proxies", over_time("nodes"), marks, whole=True),
            lines("Throughput of each site", "requests/s", over_time("requests"), marks))


def untrue(scheme):
    """The part of its reads that said what was true at no moment of them."""
    return scheme["untrue"] / max(scheme["reads"], 1)


def accuracy(figures):
    """What cariama-accuracy has found."""
    schemes = {name: figures["schemes"][name]
               for name in ("socket-async", "socket-sync", "rdma-async", "rdma-sync")}
    rows = [[name, each["reads"], "%.1f" % each["took_median_us"], "%.1f" % each["took_p99_us"],
             "%.2f" % each["connections_mean"], each["connections_most"],
             "%.2f" % each["threads_mean"], each["threads_most"], percent(untrue(each))]
            for name, each in schemes.items()]

    def pictured(title, unit, value):
        return bars(title, unit, [(name, [(name, value(each))], nice(value(each)))
                                  for name, each in schemes.items()])
    return "<h2>How true monitoring is under load</h2>\n" + paragraph(
        "One process watched another one that was busy on all of %d cores, while its threads and "
        "connections came and went: %d changes in %d s. What a read said is set beside what was "
        "true when it was asked for. The async schemes read copies, made every %d ms. The socket "
        "schemes ask a thread there, by a call of DSfabric; RDMA asks nobody." % (
            figures["cores"], figures["changes"], figures["seconds"], figures["sample_ms"])) + \
        table(["scheme", "reads", "a read takes, us: median", "p99", "connections off by: mean",
               "most", "threads off by: mean", "most", "true at no moment of the read"], rows) + \
        '<div class="pictures">\n%s</div>\n' % "".join([
            pictured("Connections off by", "mean", lambda e: e["connections_mean"]),
            pictured("A read takes", "us, median", lambda e: e["took_median_us"]),
            lines("Connections off by, over time", "mean of 250 ms",
                  {name: [(s["at"], s["connections"]) for s in each["slices"]]
                   for name, each in schemes.items()})])


def write(path, figures):
    """`figures`: "command", "setting" {name: value}, "sections" [{"title", "runs" {scheme: slices},
    "killed_at"}], "sites" {"slices", "grows_at", "errors"} or None, "accuracy" or None: what
    cariama-accuracy writes."""
    parts = [HEAD % STYLE, summary(figures)]
    for section in figures["sections"]:
        parts.append("<h2>%s</h2>\n" % html.escape(section["title"]))
        until = "up to the death" if section["killed_at"] is not None else "of the run"
        parts.append(paragraph("Means of the second half %s, where caches are full; p99 is that of "
                               "the worst second." % until, "soft"))
        parts += [scheme_table(section), scheme_pictures(section)]
        if section["killed_at"] is not None:
            parts.append(death(section))
    if figures.get("sites"):
        parts.append(sites(figures["sites"]))
    if figures.get("accuracy"):
        parts.append(accuracy(figures["accuracy"]))
    parts.append("<h2>How it was measured</h2>\n")
    parts.append(paragraph(
        "nginx is the origin, wrk asks by Zipf's law, and the proxies share their memory by each "
        "scheme in turn: AC each for itself, BCC with copies of what neighbours have, CCWR without "
        "copies, MTACC with memory of other tiers too, HYBCC by size and use. All run on one "
        "machine, so the origin is given a rate. The page was made by:"))
    parts.append("<pre>%s</pre>\n" % html.escape(figures["command"]))
    parts.append(table([], figures["setting"].items(), "words"))
    parts.append("</body></html>\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(parts))

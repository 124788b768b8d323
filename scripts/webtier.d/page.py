# SPDX-License-Identifier: MIT
# The page that scripts/webtier writes: tables and charts, without anything from elsewhere.
import html

COLOURS = {"local": "#666666", "ac": "#c0392b", "bcc": "#e67e22", "ccwr": "#2980b9",
           "mtacc": "#8e44ad", "hybcc": "#27ae60", "shop": "#2980b9", "news": "#c0392b"}
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 240, 60, 30, 10

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/><title>Cariama web tier</title>
<style>
body { font: 15px sans-serif; margin: 2em auto; max-width: 1180px; color: #222; }
table { border-collapse: collapse; margin: 1em 0; }
td, th { border: 1px solid #ccc; padding: 3px 10px; text-align: right; }
td:first-child, th:first-child { text-align: left; }
figure { display: inline-block; margin: 0 6px 12px 0; }
figcaption { font-weight: bold; margin: 4px 0; }
svg { background: #fafafa; } text { font-size: 11px; fill: #444; }
</style></head><body>
<h1>Cooperative caches in a web tier</h1>
"""


def nice(value):
    if value >= 1e6:
        return "%.3g M" % (value / 1e6)
    return "%.3g k" % (value / 1e3) if value >= 1e3 else "%.3g" % value


def chart(title, unit, series, marks=()):
    """`series`: {name: [(x, y)]}; `marks`: [(x, text)]."""
    points = [point for line in series.values() for point in line]
    right = max((x for x, _ in points), default=1) or 1
    top = max((y for _, y in points), default=1) * 1.08 or 1

    def at(x, y):
        return (LEFT + x / right * (WIDTH - LEFT - 90),
                HEIGHT - BOTTOM - y / top * (HEIGHT - BOTTOM - TOP))
    parts = ['<figure><figcaption>%s</figcaption><svg width="%d" height="%d" role="img">' % (
        html.escape(title), WIDTH, HEIGHT)]
    for i in range(5):
        _, y = at(0, top * i / 4)
        parts.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (
            LEFT, y, WIDTH - 90, y))
        parts.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (
            LEFT - 5, y + 4, nice(top * i / 4)))
        x, _ = at(right * i / 4, 0)
        parts.append('<text x="%.1f" y="%d" text-anchor="middle">%s s</text>' % (
            x, HEIGHT - BOTTOM + 16, nice(right * i / 4)))
    parts.append('<text x="2" y="10">%s</text>' % html.escape(unit))
    for x, text in marks:
        left, _ = at(x, 0)
        parts.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#000"/>' % (
            left, TOP, left, HEIGHT - BOTTOM))
        parts.append('<text x="%.1f" y="%d">%s</text>' % (left + 3, TOP + 10, html.escape(text)))
    for i, (name, line) in enumerate(series.items()):
        colour = COLOURS.get(name.split()[0], "#000")
        path = " ".join("%.1f,%.1f" % at(x, y) for x, y in line)
        parts.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>' % (
            colour, path))
        parts.append('<text x="%d" y="%d" style="fill:%s">%s</text>' % (
            WIDTH - 84, TOP + 12 + 15 * i, colour, html.escape(name)))
    return "\n".join(parts) + "\n</svg></figure>\n"


def table(heads, rows):
    parts = ["<table><tr>%s</tr>" % "".join("<th>%s</th>" % html.escape(head) for head in heads)]
    for row in rows:
        cells = "".join("<td>%s</td>" % html.escape(str(cell)) for cell in row)
        parts.append("<tr>%s</tr>" % cells)
    return "\n".join(parts) + "</table>\n"


def steady(slices):
    """The second half, where caches are full."""
    return slices[len(slices) // 2:]


def share(slices, *kinds):
    total = sum(each["requests"] for each in slices) or 1
    return sum(each["kinds"].get(kind, 0) for each in slices for kind in kinds) / total


def summary(runs):
    rows = []
    for scheme, slices in runs.items():
        part = steady(slices)
        seconds = sum(each["seconds"] for each in part) or 1
        rows.append([
            scheme, nice(sum(each["requests"] for each in part) / seconds),
            "%.2f" % (sum(each["p50"] for each in part) / len(part)),
            "%.2f" % max(each["p99"] for each in part),
            "%.1f %%" % (100 * share(part, "hit", "stale", "revalidated")),
            "%.1f %%" % (100 * share(part, "neighbour")),
            "%.1f %%" % (100 * share(part, "miss", "collapsed", "pass")),
            nice(sum(each["origin_bytes"] for each in part) / seconds),
            nice(sum(each["neighbour_bytes"] for each in part) / seconds),
            sum(each["errors"] for each in slices)])
    return table(["scheme", "requests/s", "p50 ms", "p99 ms", "here", "neighbour", "origin",
                  "B/s from origin", "B/s from neighbours", "errors"], rows)


def charts(runs, marks):
    def line(of):
        return {scheme: [(each["at"], of(each)) for each in slices]
                for scheme, slices in runs.items()}
    return "".join([
        chart("Throughput", "requests/s", line(lambda e: e["requests"] / e["seconds"]), marks),
        chart("Latency, median", "ms", line(lambda e: e["p50"]), marks),
        chart("Latency, 99 %", "ms", line(lambda e: e["p99"]), marks),
        chart("Found in a cache of the tier", "share",
              line(lambda e: share([e], "hit", "stale", "revalidated", "neighbour")), marks),
        chart("Found at a neighbour", "share", line(lambda e: share([e], "neighbour")), marks),
        chart("From the origin", "B/s", line(lambda e: e["origin_bytes"] / e["seconds"]), marks)])


def sites(slices, grows_at):
    """What sites.run() has measured."""
    before = [each for each in slices if each["at"] < grows_at]
    after = slices[-len(before):]
    rows = []
    for site in slices[0]["nodes"]:
        rows.append([site] + [cell for part in (before, after) for cell in (
            part[-1]["nodes"][site],
            nice(sum(each["requests"][site] for each in part) / len(part)))])

    def lines(of):
        return {site: [(each["at"], each[of][site]) for each in slices]
                for site in slices[0]["nodes"]}
    marks = [(grows_at, "news has five times the clients")]
    return table(["site", "proxies", "requests/s", "proxies at the end", "requests/s"], rows) + \
        chart("Proxies of each site", "proxies", lines("nodes"), marks) + \
        chart("Throughput of each site", "requests/s", lines("requests"), marks)


def write(path, setting, sections, adapted=None):
    """`setting`: {name: value}; `sections`: [(title, runs, marks)], runs: {scheme: slices};
    `adapted`: what sites.run() has measured, and when the load grew."""
    with open(path, "w") as file:
        file.write(HEAD)
        file.write(table(["setting", ""], setting.items()))
        for title, runs, marks in sections:
            file.write("<h2>%s</h2>\n" % html.escape(title))
            file.write("<p>Means of the second half; p99 is the worst second of it.</p>\n")
            file.write(summary(runs))
            file.write(charts(runs, marks))
        if adapted:
            file.write("<h2>Proxies follow the loads of two sites</h2>\n")
            file.write(sites(*adapted))
        file.write("</body></html>\n")

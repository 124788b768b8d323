# SPDX-License-Identifier: MIT
# Pictures for the page of scripts/webtier: lines over time and bars, in colours of its style sheet.
import html
import math

WIDTH, HEIGHT = 460, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 24, 22, 28


def nice(value):
    """A number with three digits, for people."""
    for factor, suffix in ((1e9, "\u00a0G"), (1e6, "\u00a0M"), (1e3, "\u00a0k")):
        if abs(value) >= 0.9995 * factor:
            return "%.3g%s" % (value / factor, suffix)
    return "%.3g" % value


def amount(value, unit):
    """"240 MB", "7 B"."""
    number = nice(value)
    return number + unit if number[-1].isalpha() else "%s\u00a0%s" % (number, unit)


def step_of(top, count):
    """The distance of so many lines or fewer up to `top`: 1, 2 or 5 times a power of ten."""
    if top <= 0:
        return 1
    power = 10 ** math.floor(math.log10(top / count))
    return next(factor * power for factor in (1, 2, 5, 10) if top / count <= factor * power)


def text(x, y, words, anchor="start", kind=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (
        x, y, anchor, ' class="%s"' % kind if kind else "", html.escape(words))


def line(kind, x1, y1, x2, y2):
    return '<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>' % (kind, x1, y1, x2, y2)


def figure(title, height, parts, names=()):
    """A picture with a title and a legend."""
    legend = "".join('<span><i class="%s"></i>%s</span>' % (kind, html.escape(name))
                     for name, kind in names)
    return ('<figure><figcaption>%s</figcaption>\n<svg viewBox="0 0 %d %d" role="img" '
            'aria-label="%s">\n%s\n</svg>\n%s</figure>\n') % (
        html.escape(title), WIDTH, height, html.escape(title), "\n".join(parts),
        '<div class="legend">%s</div>' % legend if legend else "")


def lines(title, unit, series, marks=(), whole=False):
    """`series`: {name: [(seconds, value)]}; `marks`: [(seconds, words)]. `whole`: values have no
    fractions."""
    points = [point for each in series.values() for point in each]
    right = max((x for x, _ in points), default=1) or 1
    highest = max((y for _, y in points), default=1)
    step = max(step_of(highest, 5), 1 if whole else 0)
    rows = max(1, math.ceil(highest / step - 1e-9))
    top = rows * step

    def at(x, y):
        return (LEFT + x / right * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - y / top * (HEIGHT - BOTTOM - TOP))
    parts = [text(4, 12, unit)]
    for i in range(rows + 1):
        _, y = at(0, i * step)
        parts.append(line("grid", LEFT, y, WIDTH - RIGHT, y))
        parts.append(text(LEFT - 6, y + 4, nice(i * step), "end"))
    across = step_of(right, 6)
    for i in range(int(right / across + 1e-9) + 1):
        x, _ = at(i * across, 0)
        parts.append(text(x, HEIGHT - 10, nice(i * across) + " s", "middle"))
    for x, words in marks:
        left, _ = at(x, 0)
        parts.append(line("mark", left, TOP - 6, left, HEIGHT - BOTTOM))
        late = left > WIDTH / 2
        parts.append(text(left + (-4 if late else 4), TOP - 8, words, "end" if late else "start",
                          "mark"))
    for name, each in series.items():
        parts.append('<polyline class="line %s" points="%s"/>' % (
            name.lower(), " ".join("%.1f,%.1f" % at(x, y) for x, y in each)))
    return figure(title, HEIGHT, parts, [(name, name.lower()) for name in series])


def bars(title, unit, rows, names=()):
    """Lying bars. `rows`: [(name, [(class, value)], words at its end)]; a bar has one part or more,
    whose meanings are `names`: [(meaning, class)]."""
    left, right, high = 84, 74, 26
    top = max((sum(value for _, value in each) for _, each, _ in rows), default=1) or 1
    parts = [text(left, 12, unit)]
    for i, (name, each, words) in enumerate(rows):
        y = 20 + i * high
        parts.append(text(left - 6, y + 14, name, "end"))
        x = left
        for kind, value in each:
            wide = value / top * (WIDTH - left - right)
            parts.append('<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>' % (
                kind, x, y, wide, high - 8))
            x += wide
        parts.append(text(x + 5, y + 14, words))
    return figure(title, 24 + len(rows) * high, parts, names)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A page in a real browser (headless Chromium): what it shows, in one theme and at one width.
# browser.py PAGE looks at a page on a phone.
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from system_tests import skip

PATIENCE = 50
PHONE, WIDE = 500, 1400

# Runs at the end of the page, when all is laid out, and leaves what it finds as JSON.
PROBE = """
<script>
const box = element => {
  const at = element.getBoundingClientRect();
  return [at.left, at.top + scrollY, at.right, at.bottom + scrollY].map(n => Math.round(n));
};
const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => numbers(colour).slice(0, 3).map(n => n / 255)
  .map(n => n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4)
  .reduce((sum, n, i) => sum + n * [0.2126, 0.7152, 0.0722][i], 0);
const behind = element => {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!(at instanceof SVGElement) && numbers(colour)[3] !== 0) return colour;
  }
  return "rgb(255, 255, 255)";
};
const contrast = (element, colour) => {
  const [dark, bright] = [light(colour), light(behind(element))].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
};
const words = [...document.body.querySelectorAll("*")].filter(element =>
  !["SCRIPT", "STYLE"].includes(element.tagName) &&
  [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()));
const found = {
  title: document.title, text: document.body.innerText,
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  paper: light(behind(document.body)), width: innerWidth, needs: document.documentElement.scrollWidth,
  others: performance.getEntriesByType("resource").map(each => each.name),
  scripts: document.scripts.length - 1,
  words: words.map(element => ({text: element.textContent.trim(), box: box(element),
    contrast: contrast(element, getComputedStyle(element)[
      element instanceof SVGElement ? "fill" : "color"])})),
  cards: box(document.querySelector(".cards")), section: box(document.querySelector("h2")),
  tables: [...document.querySelectorAll(".table")].map(each => ({box: box(each),
    rows: [...each.querySelectorAll("tr")].map(row => [...row.cells].map(c => c.innerText))})),
  pictures: [...document.querySelectorAll("svg")].map(svg => ({box: box(svg),
    title: svg.parentElement.querySelector("figcaption").innerText,
    texts: [...svg.querySelectorAll("text")].map(each => ({text: each.textContent, box: box(each)})),
    lines: [...svg.querySelectorAll("polyline")].map(each => ({box: box(each),
      contrast: contrast(each, getComputedStyle(each).stroke)})),
    bars: [...svg.querySelectorAll("rect")].map(each => ({box: box(each),
      colour: getComputedStyle(each).fill}))})),
};
const result = document.createElement("pre");
result.id = "probe";
result.textContent = JSON.stringify(found);
document.body.append(result);
</script>
"""


def program():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    skip("Chromium is not installed: scripts/setup browser")


def document_of(browser, address, home, width, dark):
    """The document at this address as the browser has it when all is loaded, and what it says."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               "--disable-background-networking", "--no-first-run", "--disable-breakpad",
               "--hide-scrollbars", "--user-data-dir=" + home, "--window-size=%d,900" % width,
               "--blink-settings=preferredColorScheme=%d" % (0 if dark else 1), "--dump-dom",
               address]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True,
                               env=dict(os.environ, HOME=home))
    try:
        return process.communicate(timeout=PATIENCE)
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def look(page, width, dark):
    """What the browser shows of this file."""
    browser = program()
    with tempfile.TemporaryDirectory(prefix="cariama-browser-", ignore_cleanup_errors=True) as home:
        probed = os.path.join(home, "page.html")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        assert text.count("</body>") == 1
        with open(probed, "w", encoding="utf-8") as file:
            file.write(text.replace("</body>", PROBE + "</body>"))
        shown, said = document_of(browser, "file://" + probed, home, width, dark)
        probe = re.search(r'<pre id="probe">(.*?)</pre>', shown, re.DOTALL)
        if not probe and "<body" not in document_of(browser, "about:blank", home, width, dark)[0]:
            skip("Chromium does not start here: " + said)
    assert probe, "the browser has shown no page: %s" % said
    return json.loads(html.unescape(probe[1]))


def inside(box, outer):
    """Within a pixel, which is what rounding may add."""
    return all(a >= b - 1 for a, b in zip(box[:2], outer[:2])) and \
        all(a <= b + 1 for a, b in zip(box[2:], outer[2:]))


def apart(a, b):
    return a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1


def check_layout(shown, width, dark):
    """All of it fits, can be read in this theme, and comes from this file."""
    assert shown["width"] == width and shown["dark"] == dark, (shown["width"], shown["dark"])
    assert shown["paper"] < 0.1 if dark else shown["paper"] > 0.9, shown["paper"]
    assert shown["needs"] <= width, "it is %d pixels wide" % shown["needs"]
    assert shown["others"] == [] and shown["scripts"] == 0, shown["others"]
    assert shown["cards"][3] <= shown["section"][1], "the summary is not first"
    assert len(shown["words"]) > 50
    for each in shown["words"]:
        assert each["contrast"] >= 4.5, "%.1f: %s" % (each["contrast"], each["text"])
    for table in shown["tables"]:
        assert 0 <= table["box"][0] and table["box"][2] <= width, table["box"]
    for picture in shown["pictures"]:
        box, title = picture["box"], picture["title"]
        assert title and box[2] - box[0] >= 300 and 0 <= box[0] and box[2] <= width, (title, box)
        assert picture["lines"] or picture["bars"], title
        for i, each in enumerate(picture["texts"]):
            assert inside(each["box"], box), "%s is cut off in %s" % (each["text"], title)
            for other in picture["texts"][:i]:
                assert apart(each["box"], other["box"]), "%s covers %s in %s" % (
                    each["text"], other["text"], title)
        for each in picture["lines"]:
            assert inside(each["box"], box) and each["contrast"] >= 3, (title, each)
        for each in picture["bars"]:
            assert inside(each["box"], box), (title, each)
            assert each["colour"] not in ("none", "rgb(0, 0, 0)"), title


def check(page):
    """Both themes, a phone and a wide screen; what the phone shows."""
    for width, dark in ((WIDE, True), (PHONE, False)):
        shown = look(page, width, dark)
        check_layout(shown, width, dark)
    return shown


if __name__ == "__main__":
    check_layout(look(sys.argv[1], PHONE, False), PHONE, False)

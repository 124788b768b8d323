# SPDX-License-Identifier: MIT
# The style of the page of scripts/webtier, in light and dark, on a phone and on a wide screen.
STYLE = """
:root {
  --paper: #ffffff; --card: #f6f7f9; --ink: #1c2128; --soft: #57606a; --rule: #d4d9df;
  --local: #6e7781; --ac: #d1495b; --bcc: #c77700; --ccwr: #2f7fc1; --mtacc: #9b51b5;
  --hybcc: #0a8a5f; --here: #0a8a5f; --near: #5aa9e6; --far: #d98e73;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171c; --card: #1e232a; --ink: #e6e9ed; --soft: #a0a9b4; --rule: #3a424d;
    --local: #9aa4af; --ac: #f07a89; --bcc: #f0b04f; --ccwr: #6fb7f2; --mtacc: #cf93e3;
    --hybcc: #3fcf9b; --here: #2fa97c; --near: #3f8ccb; --far: #b86f55;
  }
}
* { box-sizing: border-box; }
html { color-scheme: light dark; }
body {
  font: 16px/1.5 system-ui, "DejaVu Sans", "Liberation Sans", sans-serif; margin: 0 auto;
  max-width: 1500px; padding: 20px 16px 48px; background: var(--paper); color: var(--ink);
}
h1 { font-size: 1.7em; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 1.3em; margin: 40px 0 4px; border-top: 1px solid var(--rule); padding-top: 20px; }
p { max-width: 75ch; margin: 8px 0; }
p.soft, td.soft { color: var(--soft); }
.cards, .pictures { display: grid; gap: 14px; margin: 16px 0; }
.cards { grid-template-columns: repeat(auto-fit, minmax(min(180px, 100%), 1fr)); }
.pictures { grid-template-columns: repeat(auto-fill, minmax(min(420px, 100%), 1fr)); }
.cards > div, figure { background: var(--card); border-radius: 8px; padding: 12px; margin: 0; }
.cards b { display: block; font-size: 1.45em; line-height: 1.3; }
.cards span { color: var(--soft); font-size: 0.92em; }
figcaption { font-weight: 600; margin-bottom: 6px; }
svg { display: block; width: 100%; height: auto; }
svg text { font-size: 12px; fill: var(--soft); }
svg text.mark { fill: var(--ink); }
.grid { stroke: var(--rule); }
.mark { stroke: var(--ink); stroke-dasharray: 4 3; }
text.mark { stroke: none; }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 0.85em; margin-top: 6px; }
.legend i {
  display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 5px;
  vertical-align: -1px;
}
.table { overflow-x: auto; margin: 16px 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92em; }
td, th {
  border-bottom: 1px solid var(--rule); padding: 5px 10px; text-align: right;
  white-space: nowrap;
}
th { color: var(--soft); font-weight: 600; vertical-align: bottom; white-space: normal; }
td:first-child, th:first-child { text-align: left; padding-left: 0; }
h3 { font-size: 1.1em; margin: 28px 0 4px; }
table.words td { text-align: left; white-space: normal; }
pre {
  background: var(--card); border-radius: 8px; padding: 12px; white-space: pre-wrap;
  overflow-wrap: anywhere; font-size: 0.9em;
}
/* A colour for each name: lines, bars and legends. */
.local { stroke: var(--local); fill: var(--local); background: var(--local); }
.ac { stroke: var(--ac); fill: var(--ac); background: var(--ac); }
.bcc { stroke: var(--bcc); fill: var(--bcc); background: var(--bcc); }
.ccwr { stroke: var(--ccwr); fill: var(--ccwr); background: var(--ccwr); }
.mtacc { stroke: var(--mtacc); fill: var(--mtacc); background: var(--mtacc); }
.hybcc { stroke: var(--hybcc); fill: var(--hybcc); background: var(--hybcc); }
.shop { stroke: var(--ccwr); fill: var(--ccwr); background: var(--ccwr); }
.news { stroke: var(--ac); fill: var(--ac); background: var(--ac); }
.here { stroke: var(--here); fill: var(--here); background: var(--here); }
.neighbour { stroke: var(--near); fill: var(--near); background: var(--near); }
.origin { stroke: var(--far); fill: var(--far); background: var(--far); }
.socket-async { stroke: var(--ac); fill: var(--ac); background: var(--ac); }
.socket-sync { stroke: var(--bcc); fill: var(--bcc); background: var(--bcc); }
.rdma-async { stroke: var(--ccwr); fill: var(--ccwr); background: var(--ccwr); }
.rdma-sync { stroke: var(--hybcc); fill: var(--hybcc); background: var(--hybcc); }
rect { stroke: none; }
polyline.line { fill: none; }
"""

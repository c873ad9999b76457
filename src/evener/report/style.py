"""How the page looks: one column, two colour schemes, nothing from the network."""

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2329; --paper: #fcfcfa; --soft: #5c6670;
  --rule: #dcdfe0; --accent: #1f5f8b; --fill: #a9b4bd; --good: #1e6b3c; --bad: #a3301f;
  --panel: #f2f3f1; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ea; --paper: #15191d; --soft: #9aa5ae; --rule: #343b42; --accent: #6fb1de;
    --fill: #59656f; --good: #6cc48c; --bad: #ef8a78; --panel: #1d2227; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  font-variant-numeric: tabular-nums; }
main { max-width: 44rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; padding-top: .75rem;
  border-top: 1px solid var(--rule); }
p { margin: .5rem 0; }
.lead, .note, figcaption { color: var(--soft); }
.note, figcaption { font-size: .9rem; }
.verdict { font-size: 1.15rem; font-weight: 600; margin: 1.25rem 0 .5rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: baseline; }
th { font-weight: 600; color: var(--soft); }
td.number, th.number { text-align: right; white-space: nowrap; }
td small { display: block; color: var(--soft); }
tr.plan td { font-weight: 600; }
figure { margin: 1rem 0; }
svg { display: block; width: 100%; max-width: 36rem; height: auto; }
svg text { font-size: 12px; fill: var(--ink); }
svg .muted { fill: var(--soft); } svg .strong { font-weight: 600; }
.halo { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.grid { stroke: var(--rule); }
.baseline { stroke: var(--soft); stroke-dasharray: 3 3; }
.front { fill: none; stroke: var(--accent); stroke-width: 1.5; opacity: .6; }
.point { fill: var(--paper); stroke: var(--soft); stroke-width: 1.5; }
.front-point { fill: var(--paper); stroke: var(--accent); stroke-width: 2; }
.chosen { fill: var(--accent); stroke: var(--paper); stroke-width: 2; }
.bar { fill: var(--fill); } .bar-plan { fill: var(--accent); }
.spread { stroke: var(--ink); stroke-width: 1.5; }
.predicted { fill: var(--paper); stroke: var(--ink); stroke-width: 1.5; }
.box { fill: var(--panel); stroke: var(--rule); }
.outline { fill: none; stroke: var(--ink); }
.arrow { stroke: var(--soft); stroke-width: 1.5; } .arrow-tip { fill: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; font-size: .95rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .9rem; }
pre { background: var(--panel); border: 1px solid var(--rule); border-radius: 6px;
  padding: .6rem .8rem; white-space: pre-wrap; margin: .4rem 0 1rem; }
summary { cursor: pointer; color: var(--soft); }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin: 0 0 .5rem; } }
@media print { body { background: none; } }
"""

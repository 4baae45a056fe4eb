"""The page's look, on light and dark ground and on paper."""

from __future__ import annotations

from mrdsl.reporting.charts.theme import FONT, GROUNDS, Ground

_RULES = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:0 1.25rem 3rem;background:var(--paper);color:var(--ink);line-height:1.5}
h1{font-size:1.7rem;margin:1.5rem 0 .5rem}
h2{font-size:1.2rem;margin:2.25rem 0 .5rem;border-bottom:1px solid var(--grid);padding-bottom:.2rem}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.5rem}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;margin:0;padding:0;font-size:.9rem}
.decision{font-size:1.25rem;font-weight:600;margin:.5rem 0;border-left:.35rem solid var(--link);padding-left:.9rem}
.scroll{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.25rem 0}
th,td{padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top}
thead th{color:var(--soft);font-weight:600}
tbody th{font-weight:400}
.number{text-align:right}
figure{margin:1rem 0 1.5rem}
figcaption{font-weight:600}
summary{cursor:pointer;font-size:.9rem;color:var(--soft)}
.still{background:#fff;max-width:100%;height:auto}
.drawn .still{display:none}
pre{margin:0;font-size:.85rem;line-height:1.45}
mark{background:var(--mark);color:var(--ink)}
.said{color:var(--soft);font-style:italic;padding-left:6ch}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem}
#vg-tooltip-element{max-width:24rem}
.vega-embed details:not([open])>:not(summary){display:none}
@media print{
body{max-width:none;font-size:10pt}
nav,.skip,figure .live,footer,details:not([open]){display:none}
figure.drawn .still{display:block}
.scroll{overflow:visible}
pre{white-space:pre-wrap}
figure,tr{break-inside:avoid}
h2{break-after:avoid}
}
"""


def _colours(ground: Ground) -> str:
    return (
        f"--paper:{ground.paper};--ink:{ground.ink};--soft:{ground.soft};--grid:{ground.grid};"
        f"--link:{ground.link};--mark:{ground.mark}"
    )


STYLE = (
    f":root{{color-scheme:light dark;font-family:{FONT};{_colours(GROUNDS['light'])}}}\n"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_colours(GROUNDS['dark'])}}}}}" + _RULES
)

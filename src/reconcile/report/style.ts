/**
 * CSS of the report page. Readers with red-green color blindness can distinguish the chart's colors. Print uses light
 * colors on white.
 */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --ink: #17202e; --soft: #586374; --faint: #8a94a3; --paper: #ffffff; --ground: #f3f5f8; --line: #dfe4ea; --code: #f2f4f7;
  --good: #18794e; --good-paper: #e9f7ef; --repaired: #1d5fbf; --repaired-paper: #eaf2fd;
  --left: #9a5b00; --left-paper: #fdf3e1; --bad: #b42318; --bad-paper: #fdecea;
  --w0: #2f6fd6; --w1: #e69f00; --w2: #b4bdc9; --w3: #c2418a; --w4: #6b7280;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaf0; --soft: #a3aebd; --faint: #76828f; --paper: #171c24; --ground: #0f1319; --line: #2b333f; --code: #212834;
    --good: #5bd69a; --good-paper: #10291d; --repaired: #82b4ff; --repaired-paper: #12233d;
    --left: #f3bb62; --left-paper: #2e2210; --bad: #ff9085; --bad-paper: #341512;
    --w0: #5b95f5; --w1: #f0b429; --w2: #566273; --w3: #e36cb0; --w4: #9aa4b2;
  }
}
* { box-sizing: border-box; }
html { background: var(--ground); }
body {
  margin: 0 auto; max-width: 60rem; padding: 2.5rem 1.25rem 4rem; color: var(--ink);
  font: 400 15px/1.55 ui-sans-serif, system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
}
main { background: var(--paper); border: 1px solid var(--line); border-radius: 14px; padding: 2.25rem 2.5rem; overflow: hidden; }
header { display: flex; justify-content: space-between; align-items: baseline; gap: 1rem; flex-wrap: wrap; margin-bottom: 1.4rem; }
h1 { font-size: 1.65rem; line-height: 1.2; letter-spacing: -0.015em; margin: 0; }
.subtitle { color: var(--soft); margin: 0; }
h2 { font-size: 1.12rem; margin: 2.4rem 0 0.7rem; padding-top: 1.3rem; border-top: 1px solid var(--line); letter-spacing: -0.005em; }
h3 { font-size: 0.97rem; margin: 1.6rem 0 0.5rem; }
p { margin: 0 0 0.7rem; max-width: 72ch; }
code, .code { font: 0.86em/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; background: var(--code); border-radius: 4px; padding: 0.08em 0.32em; overflow-wrap: anywhere; }
.verdict { display: flex; gap: 1rem; align-items: flex-start; border-radius: 12px; padding: 1.1rem 1.3rem; margin-bottom: 1.1rem; }
.verdict svg { flex: none; width: 2rem; height: 2rem; margin-top: 0.1rem; }
.verdict h2 { border: 0; margin: 0 0 0.15rem; padding: 0; font-size: 1.2rem; }
.verdict p { margin: 0; color: var(--ink); }
.verdict.good { background: var(--good-paper); } .verdict.good h2, .verdict.good svg { color: var(--good); }
.verdict.repaired { background: var(--repaired-paper); } .verdict.repaired h2, .verdict.repaired svg { color: var(--repaired); }
.verdict.left { background: var(--left-paper); } .verdict.left h2, .verdict.left svg { color: var(--left); }
.verdict.bad { background: var(--bad-paper); } .verdict.bad h2, .verdict.bad svg { color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(6, minmax(0, 1fr)); gap: 0.6rem; margin: 0; padding: 0; list-style: none; }
.tiles li { border: 1px solid var(--line); border-radius: 10px; padding: 0.7rem 0.8rem; }
.tiles b { display: block; font-size: 1.28rem; line-height: 1.25; font-weight: 650; font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.tiles span { color: var(--soft); font-size: 0.8rem; line-height: 1.3; display: block; }
.tiles .good b { color: var(--good); } .tiles .repaired b { color: var(--repaired); } .tiles .left b { color: var(--left); } .tiles .bad b { color: var(--bad); }
ul.said { margin: 0; padding: 0; list-style: none; }
ul.said li { position: relative; padding-left: 1.15rem; margin-bottom: 0.65rem; max-width: 74ch; }
ul.said li::before { content: ""; position: absolute; left: 0.1rem; top: 0.62em; width: 0.38rem; height: 0.38rem; border-radius: 50%; background: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 0.3rem 0 0.9rem; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.42rem 0.7rem 0.42rem 0; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
thead th { color: var(--soft); font-weight: 550; font-size: 0.8rem; }
th:last-child, td:last-child { padding-right: 0; }
code.word { white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.facts td { white-space: pre-wrap; } table.facts th { width: 9rem; color: var(--soft); font-weight: 450; }
.differences th[scope="rowgroup"] { font-weight: 450; padding-top: 0.95rem; border-bottom: 0; color: var(--soft); }
.differences td { width: 37%; overflow-wrap: anywhere; } .differences td:first-child { width: 26%; }
.differences .was { color: var(--left); } .differences .is { color: var(--good); }
figure { margin: 0.4rem 0 1rem; } figcaption { color: var(--soft); font-size: 0.85rem; margin-bottom: 0.5rem; }
figure svg { display: block; width: 100%; height: auto; }
.tick { fill: var(--soft); font-size: 10.5px; font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; } .base { stroke: var(--faint); stroke-width: 1; }
rect.w0 { fill: var(--w0); } rect.w1 { fill: var(--w1); } rect.w2 { fill: var(--w2); } rect.w3 { fill: var(--w3); } rect.w4 { fill: var(--w4); }
.swatch { display: inline-block; width: 0.72rem; height: 0.72rem; border-radius: 3px; margin-right: 0.4rem; vertical-align: -0.06rem; }
.swatch.w0 { background: var(--w0); } .swatch.w1 { background: var(--w1); } .swatch.w2 { background: var(--w2); } .swatch.w3 { background: var(--w3); } .swatch.w4 { background: var(--w4); }
.legend { display: flex; flex-wrap: wrap; gap: 0.3rem 1.4rem; margin: 0.55rem 0 0; padding: 0; list-style: none; font-size: 0.86rem; color: var(--soft); }
.legend b { color: var(--ink); font-weight: 600; font-variant-numeric: tabular-nums; }
footer { color: var(--soft); font-size: 0.82rem; padding: 1.1rem 2.5rem 0; } footer p { margin: 0 0 0.2rem; max-width: none; }
@media (max-width: 46rem) {
  main { padding: 1.4rem 1.15rem; border-radius: 10px; } .tiles { grid-template-columns: repeat(2, 1fr); } footer { padding: 1rem 0 0; }
  table.facts th { width: 6.5rem; }
}
/* Every column of a row stays visible on a phone: the cells follow each other with their headings. */
@media screen and (max-width: 46rem) {
  table.rows, table.rows tbody, table.rows tr { display: block; }
  table.rows thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table.rows tr { padding: 0.42rem 0; border-bottom: 1px solid var(--line); }
  table.rows td { display: flex; justify-content: space-between; gap: 1rem; padding: 0.1rem 0; border: 0; text-align: right; white-space: normal; overflow-wrap: anywhere; }
  table.rows td::before { content: attr(data-head); color: var(--soft); text-align: left; }
  table.rows td:empty { display: none; }
}
@page { size: A4; margin: 16mm 15mm 18mm; @bottom-center { content: "Page " counter(page) " of " counter(pages); font: 8pt sans-serif; } }
@media print {
  html, main { background: #fff; } body { max-width: none; padding: 0; font-size: 10pt; } main { border: 0; border-radius: 0; padding: 0; overflow: visible; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2, h3 { break-after: avoid; } tr, figure, .verdict, .tiles, ul.said li { break-inside: avoid; } thead { display: table-header-group; }
  .scroll { overflow: visible; } footer { padding: 4mm 0 0; border-top: 1px solid var(--line); margin-top: 6mm; }
  table { font-size: 8.6pt; } .tiles b { font-size: 13pt; } .tiles span { font-size: 8pt; }
}
`

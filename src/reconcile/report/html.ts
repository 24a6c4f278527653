import { chartMarkup, legendMarkup } from './chart.ts'
import { documentOf } from './compose.ts'
import type { Block, Cell, Column, Divergence, ReportDocument, Section } from './document.ts'
import { html, Markup } from './markup.ts'
import type { ReportData } from './report-data.ts'
import { pageStyle } from './style.ts'
import type { Tone } from './verdict.ts'
import { number } from './words.ts'

/**
 * @returns the report as one self-contained HTML file, for screens (light and dark) and A4 paper. Its
 * Content-Security-Policy forbids scripts and external content.
 */
export function renderHtml(data: ReportData): string {
  const document = documentOf(data)
  const title = `${document.title} · ${data.run.account} · ${(data.run.started_at ?? data.run.requested_at).slice(0, 10)}`
  return pageAround(title, html`${head(document)}\n${document.sections.map(sectionMarkup)}`, document.footer)
}

/** @returns a complete HTML page in the style of the reports. */
export function pageAround(title: string, content: Markup, footer: readonly string[]): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Markup(pageStyle)}</style>
</head>
<body>
<main>
${content}
</main>
<footer>${footer.map((text) => html`<p>${withCode(text)}</p>`)}</footer>
</body>
</html>
`.text
}

function head({ title, subtitle, verdict, tiles }: ReportDocument): Markup {
  return html`<header><h1>${title}</h1><p class="subtitle">${subtitle}</p></header>
<section class="verdict ${verdict.tone}">${icons[verdict.tone]}<div><h2>${verdict.title}</h2><p>${withCode(verdict.text)}</p></div></section>
<ul class="tiles">${tiles.map(({ value, label, tone }) => html`<li class="${tone}"><b>${value}</b><span>${label}</span></li>`)}</ul>`
}

export function sectionMarkup({ heading, level, blocks }: Section): Markup {
  const title = level === 2 ? html`<h2>${heading}</h2>` : html`<h3>${heading}</h3>`
  return html`<section>${title}${blocks.map(blockMarkup)}</section>\n`
}

function blockMarkup(block: Block): Markup {
  switch (block.kind) {
    case 'text':
      return html`${block.texts.map((text) => html`<p>${withCode(text)}</p>`)}`
    case 'list':
      return html`<ul class="said">${block.items.map(
        ({ term, text }) => html`<li>${term === undefined ? '' : html`<b>${term}.</b> `}${withCode(text)}</li>`,
      )}</ul>`
    case 'facts':
      return html`<table class="facts"><tbody>${block.rows.map(
        ({ name, value }) => html`<tr><th scope="row">${name}</th><td>${cellMarkup(value)}</td></tr>`,
      )}</tbody></table>`
    case 'table':
      return tableMarkup(block.columns, block.rows)
    case 'divergences':
      return divergencesMarkup(block.divergences)
    case 'chart':
      return html`<figure><figcaption>${block.caption}</figcaption>${chartMarkup(block.firstSeen, block.caption)}${legendMarkup(block.firstSeen)}</figure>`
  }
}

function tableMarkup(columns: readonly Column[], rows: readonly (readonly Cell[])[]): Markup {
  const classOf = (index: number) => (columns[index]?.numeric ? 'n' : 't')
  const headings = columns.map(({ name }, index) => html`<th scope="col" class="${classOf(index)}">${name}</th>`)
  const lines = rows.map(
    (row) =>
      html`<tr>${row.map((cell, index) => html`<td class="${classOf(index)}" data-head="${columns[index]?.name ?? ''}">${cellMarkup(cell)}</td>`)}</tr>`,
  )
  return html`<div class="scroll"><table class="rows"><thead><tr>${headings}</tr></thead><tbody>${lines}</tbody></table></div>`
}

function divergencesMarkup(divergences: readonly Divergence[]): Markup {
  const bodies = divergences.map(({ record, fields }) => {
    const about = record.map((cell) => html`${cellMarkup(cell)} `)
    const lines = fields.map(
      ({ field, mirror, service }) =>
        html`<tr><td><code>${field}</code></td><td class="was">${mirror}</td><td class="is">${service}</td></tr>`,
    )
    return html`<tbody><tr><th colspan="3" scope="rowgroup">${about}</th></tr>${lines}</tbody>`
  })
  return html`<div class="scroll"><table class="differences"><thead><tr><th scope="col">Field</th><th scope="col">In the mirror</th><th scope="col">At the service</th></tr></thead>${bodies}</table></div>`
}

function cellMarkup(cell: Cell): Markup {
  if (typeof cell === 'number') return html`${number(cell)}`
  if (typeof cell === 'string') return withCode(cell)
  if ('code' in cell) return codeMarkup(cell.code)
  return cell.href === undefined ? html`${cell.text}` : html`<a href="${encodeURI(cell.href)}">${cell.text}</a>`
}

/** Short names, such as table names, must not wrap. Longer texts, such as ids, may wrap. */
function codeMarkup(text: string): Markup {
  return /^[a-z_]{1,24}$/.test(text) ? html`<code class="word">${text}</code>` : html`<code>${text}</code>`
}

/** @returns markup in which text in backticks is shown as code. */
function withCode(text: string): Markup {
  const pieces = text.split('`')
  // If the number of backticks is odd, all of them stay as text.
  if (pieces.length % 2 === 0) return html`${text}`
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? codeMarkup(piece) : html`${piece}`))}`
}

function icon(path: string): Markup {
  return new Markup(
    `<svg viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="14.5" fill="none" stroke="currentColor" stroke-width="2.4"/><path d="${path}" fill="none" stroke="currentColor" stroke-width="2.8" stroke-linecap="round" stroke-linejoin="round"/></svg>`,
  )
}

const icons: Readonly<Record<Tone, Markup>> = {
  good: icon('M9.5 16.5l4.5 4.5 8.8-9.6'),
  repaired: icon('M9.5 16.5l4.5 4.5 8.8-9.6'),
  left: icon('M16 9v8.4M16 22.3v.2'),
  bad: icon('M11 11l10 10M21 11L11 21'),
}

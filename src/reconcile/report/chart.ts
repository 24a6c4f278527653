import { sum, viaRank } from './buckets.ts'
import { html, type Markup } from './markup.ts'
import type { FirstSeen } from './report-data.ts'
import { bucketLabel, number, viaName } from './words.ts'

const WIDTH = 720
const HEIGHT = 230
const LEFT = 46
const BOTTOM = 26
const TOP = 8
const LABELS = 7
/** Half the width of a label, in units of the SVG. */
const LABEL_ROOM = 32
const LINES = 4
const GAP = 0.22

/**
 * @returns an inline SVG of a stacked column chart: the number of records by the time of their first appearance.
 * `style.ts` defines the colors.
 */
export function chartMarkup({ buckets, unit, totals }: FirstSeen, title: string): Markup {
  const highest = Math.max(1, ...buckets.map(({ counts }) => sum(counts)))
  const step = stepFor(highest)
  const top = Math.ceil(highest / step) * step
  const width = (WIDTH - LEFT) / buckets.length
  const y = (n: number) => round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - n / top))
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step)
  const every = Math.max(1, Math.ceil(buckets.length / LABELS))
  const columns = buckets.map(({ at, counts }, index) => {
    let stacked = 0
    const x = round(LEFT + index * width + (width * GAP) / 2)
    const pieces = totals.flatMap(({ via }) => {
      const n = counts[via] ?? 0
      if (n === 0) return []
      stacked += n
      return [piece(via, x, y(stacked), Math.max(0.6, width * (1 - GAP)), y(stacked - n) - y(stacked))]
    })
    return html`<g><title>${bucketLabel(at, unit)}: ${countsText(counts, totals)}</title>${pieces}</g>`
  })
  const labels = buckets.flatMap(({ at }, index) => {
    if (index % every !== 0) return []
    const x = round(LEFT + (index + 0.5) * width)
    return [html`<text class="tick" x="${x}" y="${HEIGHT - 8}" text-anchor="${anchorOf(x)}">${bucketLabel(at, unit)}</text>`]
  })
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}"><g>${ticks.map(
    (n) =>
      html`<line class="${n === 0 ? 'base' : 'grid'}" x1="${LEFT}" x2="${WIDTH}" y1="${y(n)}" y2="${y(n)}"/><text class="tick" x="${LEFT - 8}" y="${round(y(n) + 3.5)}" text-anchor="end">${number(n)}</text>`,
  )}</g>${columns}${labels}</svg>`
}

/** @returns the legend of the chart, with the number of records. */
export function legendMarkup({ totals }: FirstSeen): Markup {
  const items = totals.map(
    ({ via, events, messages }) =>
      html`<li><span class="swatch w${viaRank(via)}"></span>${viaName(via)} <b>${number(events + messages)}</b></li>`,
  )
  return html`<ul class="legend">${items}</ul>`
}

function piece(via: string, x: number, y: number, width: number, height: number): Markup {
  return html`<rect class="w${viaRank(via)}" x="${x}" y="${y}" width="${round(width)}" height="${round(height)}"/>`
}

/** Right-aligns a label near the right edge, because a centered label would be cut off. */
function anchorOf(x: number): string {
  return x > WIDTH - LABEL_ROOM ? 'end' : 'middle'
}

function countsText(counts: Readonly<Record<string, number>>, totals: FirstSeen['totals']): string {
  const texts = totals.filter(({ via }) => (counts[via] ?? 0) > 0).map(({ via }) => `${number(counts[via] ?? 0)} ${viaName(via)}`)
  return texts.length === 0 ? 'none' : texts.join(', ')
}

/** @returns a round distance between grid lines: 1, 2, or 5 times a power of ten. */
function stepFor(highest: number): number {
  const least = highest / LINES
  const power = 10 ** Math.floor(Math.log10(least))
  const factor = [1, 2, 5, 10].find((each) => each * power >= least) ?? 10
  return Math.max(1, factor * power)
}

function round(n: number): number {
  return Math.round(n * 10) / 10
}

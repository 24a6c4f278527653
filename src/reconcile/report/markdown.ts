import { sum } from './buckets.ts'
import { documentOf } from './compose.ts'
import type { Block, Cell, Divergence } from './document.ts'
import type { FirstSeen, ReportData } from './report-data.ts'
import { bucketLabel, number } from './words.ts'

/** Length of the chart's longest bar, in letters. */
const BAR = 60

/** The report as Markdown with GitHub's tables. */
export function renderMarkdown(data: ReportData): string {
  const document = documentOf(data)
  const { verdict, tiles } = document
  const parts = [
    `# ${document.title}`,
    prose(document.subtitle),
    `**${prose(verdict.title)}.** ${prose(verdict.text)}`,
    tableText(
      tiles.map(({ label }) => ({ name: label, numeric: true })),
      [tiles.map(({ value }) => value)],
    ),
    ...document.sections.flatMap(({ heading, level, blocks }) => [`${'#'.repeat(level)} ${prose(heading)}`, ...blocks.map(blockText)]),
    '---',
    ...document.footer.map(prose),
  ]
  return `${parts.join('\n\n')}\n`
}

function blockText(block: Block): string {
  switch (block.kind) {
    case 'text':
      return block.texts.map(prose).join('\n\n')
    case 'list':
      return block.items.map(({ term, text }) => `- ${term === undefined ? '' : `**${prose(term)}.** `}${prose(text)}`).join('\n')
    case 'facts':
      return tableText(
        [{ name: '' }, { name: '' }],
        block.rows.map(({ name, value }) => [name, value]),
      )
    case 'table':
      return tableText(block.columns, block.rows)
    case 'divergences':
      return block.divergences.map(divergenceText).join('\n\n')
    case 'chart':
      return `${prose(block.caption)}:\n\n\`\`\`text\n${chartText(block.firstSeen)}\`\`\``
  }
}

function divergenceText({ record, fields }: Divergence): string {
  const columns = [{ name: 'Field' }, { name: 'In the mirror' }, { name: 'At the service' }]
  const rows = fields.map(({ field, mirror, service }): Cell[] => [{ code: field }, mirror, service])
  return `${record.map(cellText).join(' ')}\n\n${tableText(columns, rows)}`
}

function tableText(columns: readonly { readonly name: string; readonly numeric?: boolean }[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    line(columns.map(({ name }) => prose(name))),
    line(columns.map(({ numeric }) => (numeric ? '--:' : '---'))),
    ...rows.map((row) => line(row.map(cellText))),
  ].join('\n')
}

function cellText(cell: Cell): string {
  if (typeof cell === 'number') return number(cell)
  return typeof cell === 'string' ? prose(cell) : code(cell.code)
}

/** A bar chart of letters: w webhook, p poll, h history (backfill), r reconcile. Each letter stands for one record, or for several. */
function chartText({ buckets, unit, totals }: FirstSeen): string {
  const highest = Math.max(...buckets.map(({ counts }) => sum(counts)))
  const perLetter = Math.max(1, Math.ceil(highest / BAR))
  const letters = new Map(totals.map(({ via }) => [via, via === 'backfill' ? 'h' : via.slice(0, 1)]))
  const lines = buckets.map(({ at, counts }) => {
    const bar = totals.map(({ via }) => (letters.get(via) ?? '?').repeat(Math.ceil((counts[via] ?? 0) / perLetter))).join('')
    return `${bucketLabel(at, unit)}  ${number(sum(counts)).padStart(number(highest).length)}  ${bar}`.trimEnd()
  })
  const legend = [...letters].map(([via, letter]) => `${letter} ${via === 'backfill' ? 'history' : via}`).join(', ')
  return `${lines.join('\n')}\n\n${legend}; each letter stands for ${perLetter === 1 ? 'one record' : `up to ${number(perLetter)} records`}\n`
}

/** Keeps `code` in backticks, and escapes everything else that Markdown or HTML would interpret. */
function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((piece, index) => (index % 2 === 1 ? code(piece.slice(1, -1)) : piece.replace(/[\\*_[\]<>|#~&]/g, '\\$&')))
    .join('')
}

/** Text as code. `|` is escaped, since in a table it would end the cell even inside code. */
function code(text: string): string {
  if (text === '') return ''
  const bars = text.replaceAll('|', '\\|')
  return bars.includes('`') ? `\`\` ${bars} \`\`` : `\`${bars}\``
}

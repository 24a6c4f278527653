import { printableLine, wrapped } from './text.ts'

/** Maximum characters of a cell. Longer text is cut. Only text from outside the program can be longer. */
const LONGEST_CELL = 240
/** Minimum width of a shortened column, in characters. */
const NARROWEST = 9
const GAP = '  '
/** Matches cells that are aligned to the right: numbers, ages and shares. */
const NUMBER = /^(-|(in )?[\d.]+( (s|min|h|d|%)( ago)?)?)$/

/** Matches an id: a long word with a digit. */
const ID = /^(?=.*\d)\S{16,}$/

/** Value of a cell. null, undefined and '' are shown as `-`. */
export type Cell = string | number | null | undefined

/**
 * Heading of a column. If the table is too wide, `fit` says what happens to the column:
 * - `shorten` (default): cut the middle of cells.
 * - `whole`: never cut cells, because the next command needs them.
 * - `below`: print cells below their rows.
 */
export type Heading = string | { readonly heading: string; readonly fit: 'whole' | 'below' }

export interface Table {
  /** Title of the table. Undefined if the output already has a heading. */
  readonly title?: string
  readonly headings: readonly Heading[]
  readonly rows: readonly (readonly Cell[])[]
  /** Width of the terminal in characters. Default: 80. */
  readonly width?: number | undefined
  /** True to also show columns without values, because the reader selected them. */
  readonly everyColumn?: boolean
}

interface Column {
  readonly heading: string
  readonly fit: 'shorten' | 'whole' | 'below'
  readonly cells: readonly string[]
  readonly isNumber: boolean
}

/**
 * @returns the table as text: title, headings and rows. Returns an empty text if there are no rows.
 * Numbers are aligned to the right. Columns without values are omitted.
 * If the table is too wide, columns with the same value in all rows move to the title.
 */
export function table({ title, headings, rows, width = 80, everyColumn = false }: Table): string {
  if (rows.length === 0) return ''
  const all = headings.map((heading, index) => columnOf(heading, rows, index)).filter((column) => everyColumn || hasValues(column))
  const isWide = totalOf(all.map(naturalWidth)) > width
  const below = isWide ? all.filter(({ fit }) => fit === 'below') : []
  const common =
    isWide && !everyColumn
      ? commonOf(
          all.filter((column) => !below.includes(column)),
          width,
        )
      : []
  const columns = all.filter((column) => !common.includes(column) && !below.includes(column))
  const widths = fittingWidths(columns, width)
  const line = (texts: readonly string[]) =>
    `${texts
      .map((text, index) => padded(text, columns[index], widths[index] ?? 0))
      .join(GAP)
      .trimEnd()}\n`
  const row = (n: number) => [
    line(columns.map(({ cells }) => cells[n] ?? '')),
    ...below.map(({ heading, cells }) => (cells[n] === '-' ? '' : wrapped(`${heading}: ${cells[n]}`, width, '    '))),
  ]
  const shared = common.map(({ heading, cells }) => `${heading} ${cells[0]}`).join(', ')
  return [
    ...(title === undefined ? [] : [wrapped(shared === '' ? title : `${title} (${shared})`, width)]),
    line(columns.map(({ heading }) => heading)),
    ...rows.flatMap((_, n) => row(n)),
  ].join('')
}

function padded(text: string, column: Column | undefined, width: number): string {
  return column?.isNumber ? text.padStart(width) : shortened(text, width).padEnd(width)
}

function columnOf(heading: Heading, rows: Table['rows'], index: number): Column {
  const { heading: name, fit } = typeof heading === 'string' ? ({ heading, fit: 'shorten' } as const) : heading
  const cells = rows.map((row) => cellText(row[index]))
  return { heading: name, fit, cells, isNumber: cells.every((cell) => NUMBER.test(cell)) }
}

function hasValues({ cells }: Column): boolean {
  return cells.some((cell) => cell !== '-')
}

function naturalWidth({ heading, cells }: Column): number {
  return cells.reduce((widest, cell) => Math.max(widest, cell.length), heading.length)
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length)
}

/** @returns column widths. Shortens the widest columns until the table fits: first columns of ids, then of text. */
function fittingWidths(columns: readonly Column[], width: number): number[] {
  const widths = columns.map(naturalWidth)
  const spareOf = (isEligible: (column: Column) => boolean) =>
    columns.map((column, index) => {
      const now = widths[index] ?? 0
      return isEligible(column) && now > Math.max(NARROWEST, column.heading.length) ? now : 0
    })
  for (let excess = totalOf(widths) - width; excess > 0; excess--) {
    const ids = spareOf(isOfIds)
    const spare = ids.some((each) => each > 0) ? ids : spareOf(({ fit, isNumber }) => fit === 'shorten' && !isNumber)
    const widest = spare.indexOf(Math.max(...spare))
    if (spare[widest] === 0) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

function isOfIds({ cells, fit }: Column): boolean {
  return fit === 'shorten' && cells.every((cell) => cell === '-' || ID.test(cell))
}

/**
 * @returns columns with the same value in all rows, to move to the title.
 * Takes the widest columns first, until the other columns fit.
 */
function commonOf(columns: readonly Column[], width: number): Column[] {
  const candidates = columns.filter(isCommon).sort((a, b) => naturalWidth(b) - naturalWidth(a))
  const fits = (n: number) => totalOf(columns.filter((column) => !candidates.slice(0, n).includes(column)).map(naturalWidth)) <= width
  const enough = candidates.findIndex((_, n) => fits(n))
  return enough === -1 ? candidates : candidates.slice(0, enough)
}

/** @returns true for a text column that has the same value in all rows. The first column never counts. */
function isCommon({ cells, fit, isNumber }: Column, index: number): boolean {
  return index > 0 && fit === 'shorten' && !isNumber && cells.length > 1 && cells.every((cell) => cell === cells[0])
}

/** Cuts the middle out of a long text. Keeps both ends, because ids differ there. */
function shortened(text: string, length: number): string {
  if (text.length <= length) return text
  const end = Math.floor((length - 1) / 2)
  return `${text.slice(0, length - 1 - end)}…${end === 0 ? '' : text.slice(-end)}`
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-'
  return typeof cell === 'number' ? String(cell) : printableLine(cell, LONGEST_CELL)
}

import type { FirstSeen } from './report-data.ts'
import type { Tone, Verdict } from './verdict.ts'

/**
 * A string is prose. `code` is shown as code, such as an id or a command. `text` is shown unchanged; `href` links the
 * text to a file next to the page.
 */
export type Cell = string | number | { readonly code: string } | { readonly text: string; readonly href?: string }

export type Fact = { readonly name: string; readonly value: Cell }

export interface Column {
  readonly name: string
  readonly numeric?: boolean
}

export interface Divergence {
  readonly record: readonly Cell[]
  readonly fields: readonly { readonly field: string; readonly mirror: string; readonly service: string }[]
}

export type Block =
  | { readonly kind: 'text'; readonly texts: readonly string[] }
  | { readonly kind: 'list'; readonly items: readonly { readonly term?: string; readonly text: string }[] }
  | { readonly kind: 'facts'; readonly rows: readonly Fact[] }
  | { readonly kind: 'table'; readonly columns: readonly Column[]; readonly rows: readonly (readonly Cell[])[] }
  | { readonly kind: 'divergences'; readonly divergences: readonly Divergence[] }
  | { readonly kind: 'chart'; readonly firstSeen: FirstSeen; readonly caption: string }

export interface Section {
  readonly heading: string
  readonly level: 2 | 3
  readonly blocks: readonly Block[]
}

/** A number at the top of the report, with a label. */
export interface Tile {
  readonly value: string
  readonly label: string
  readonly tone: Tone | 'plain'
}

export interface ReportDocument {
  readonly title: string
  readonly subtitle: string
  readonly verdict: Verdict
  readonly tiles: readonly Tile[]
  readonly sections: readonly Section[]
  readonly footer: readonly string[]
}

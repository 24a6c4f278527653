/** Queries in a document, and their answers on a terminal. */

export interface DocumentQuery {
  readonly question: string
  statementFor(name: 'sqlite' | 'postgres'): string
  readonly answer: string | null
}

export type Answer = Readonly<Record<string, unknown>>

/** Documents of queries, in `migrations/`. A query of one may change what those of a later one find. */
export const queryDocuments = ['queries.md', 'queries-submissions.md', 'queries-operations.md', 'follow-changes.md']

const QUERY = /```sql\n([^`]*)```(?:(\s*```text\n)([^`]*)```)?/g

export function queriesOf(document: string): DocumentQuery[] {
  return [...document.matchAll(QUERY)].map((match) => queryOf(document, match))
}

/** Replaces the document's answers. Queries without an answer keep none. */
export async function withAnswers(document: string, answerTo: (query: DocumentQuery) => Promise<readonly Answer[]>): Promise<string> {
  let answered = ''
  let from = 0
  for (const match of document.matchAll(QUERY)) {
    const [whole, block = '', between] = match
    const rows = await answerTo(queryOf(document, match))
    answered += document.slice(from, match.index)
    answered += between === undefined ? whole : `\`\`\`sql\n${block}\`\`\`${between}${shown(rows)}\n\`\`\``
    from = match.index + whole.length
  }
  return answered + document.slice(from)
}

export function shown(rows: readonly Answer[]): string {
  const columns = Object.keys(rows[0] ?? {})
  const cells = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))]
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)))
  const [head = '', ...lines] = cells.map((row) =>
    row
      .map((value, index) => value.padEnd(widths[index] ?? 0))
      .join(' | ')
      .trimEnd(),
  )
  return [head, widths.map((width) => '-'.repeat(width)).join('-+-'), ...lines].join('\n')
}

function queryOf(document: string, { index, 1: block = '', 3: answer }: RegExpExecArray): DocumentQuery {
  const question = [...document.slice(0, index).matchAll(/^#+ (.+)$/gm)].at(-1)?.[1] ?? ''
  return { question, statementFor: (name) => statementOf(block, name), answer: answer?.trimEnd() ?? null }
}

function statementOf(block: string, name: 'sqlite' | 'postgres'): string {
  const other = name === 'sqlite' ? '-- Postgres' : '-- SQLite'
  const [statement = ''] = block.split(/(?=^-- (?:SQLite|Postgres)$)/m).filter((part) => part.trim() !== '' && !part.startsWith(other))
  return statement
    .replace(/^-- (?:SQLite|Postgres)\n/, '')
    .trim()
    .replace(/;$/, '')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'object') return JSON.stringify(value)
  // Postgres returns decimals as text.
  return typeof value === 'string' && /^-?\d+\.\d+$/.test(value) ? String(Number(value)) : String(value)
}

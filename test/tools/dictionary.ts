import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Column, Relation } from '../../src/store/schema/table.ts'
import { internalTables, relations } from '../../src/store/schema/tables.ts'

/**
 * The data dictionary: a written introduction, and below the mark the program's own descriptions. `node test/tools/dictionary.ts` writes
 * it; a test detects an outdated one.
 */

export const DICTIONARY = new URL('../../migrations/README.md', import.meta.url)

const MARK = '<!-- Below this line `node test/tools/dictionary.ts` writes: change src/model/entities and src/store/schema instead. -->'

/** @returns the whole document. @param current the present one, whose introduction is kept. @throws Error without a mark. */
export function dictionary(current: string): string {
  const [introduction, ...rest] = current.split(MARK)
  if (introduction === undefined || rest.length === 0) throw new Error('the data dictionary has lost the mark behind its introduction')
  const of = (type: Relation['type']) => relations.filter((relation) => relation.type === type)
  const links = (some: readonly Relation[]) => some.map(({ name }) => `[\`${name}\`](#${name})`).join(' · ')
  const sections = [
    `Tables: ${links(of('table'))}\n\nViews: ${links(of('view'))}`,
    '## Tables',
    ...of('table').map(sectionOf),
    '## Views',
    ...of('view').map(sectionOf),
    internalSection(),
  ]
  return `${introduction}${MARK}\n\n${sections.join('\n\n')}\n`
}

function sectionOf({ name, holds, key, columns, notes = [] }: Relation): string {
  const keyed = key.length > 0 ? ` Key: ${key.map((column) => `\`${column}\``).join(', ')}.` : ''
  const rows = Object.entries(columns).map(([column, described]) => rowOf(column, described))
  const table = ['| column | type | meaning | source | class |', '|---|---|---|---|---|', ...rows].join('\n')
  return [`### ${name}`, `${holds}${keyed}`, table, ...notes].join('\n\n')
}

function rowOf(column: string, { kind, cents, meaning, source, class: protection }: Column): string {
  const cells = [`\`${column}\``, cents ? 'cents' : kind, meaning, source, protection === 'none' ? '–' : protection]
  return `| ${cells.join(' | ')} |`
}

function internalSection(): string {
  const rows = internalTables.map(({ name, holds }) => `| \`${name}\` | ${holds} |`)
  const about = 'For troubleshooting only: a release may change them without notice. All of them may contain personal data or free text.'
  return ['## Internal tables', about, ['| table | holds |', '|---|---|', ...rows].join('\n')].join('\n\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(DICTIONARY, dictionary(readFileSync(DICTIONARY, 'utf8')))

import { rows } from './rows.ts'
import { cases } from './suite.ts'

/** Ids of rows without a case. */
export const rowsWithoutCase: readonly string[] = rows.flatMap(({ id }) => (cases.some((each) => each.rows.includes(id)) ? [] : [id]))

/** @param failed names of failed cases. @returns a line per row of the specification, with its cases and results. */
export function conformanceTable(failed: ReadonlySet<string> = new Set()): string {
  const lines = rows.map(({ id, section, text }) => {
    const own = cases.filter((each) => each.rows.includes(id))
    const passed = own.filter(({ name }) => !failed.has(name)).length
    const verdict = own.length === 0 ? 'no case' : passed === own.length ? 'yes' : `${passed} of ${own.length}`
    return `| ${section}: ${text.replaceAll('|', '\\|')} | ${own.length} | ${verdict} |`
  })
  return ['| row | cases | passed |', '|---|---|---|', ...lines].join('\n')
}

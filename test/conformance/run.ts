import { rows } from './rows.ts'
import { cases, failureOf } from './suite.ts'

/*
 * `npm run conformance`: drives the sandbox through every case and prints a table of the specification's rows. Exit code 1 when a case failed
 * or a row has none.
 */

const failures = new Map<string, string>()
for (const each of cases) {
  const failure = await failureOf(each)
  if (failure !== null) failures.set(each.name, failure)
}

const without: string[] = []
const lines = rows.map(({ id, section, text }) => {
  const own = cases.filter((each) => each.rows.includes(id))
  if (own.length === 0) without.push(id)
  const passed = own.filter(({ name }) => !failures.has(name)).length
  return `| ${section}: ${text} | ${own.length} | ${own.length === 0 ? 'no case' : passed === own.length ? 'yes' : `${passed} of ${own.length}`} |`
})
process.stdout.write(`| row | cases | passed |\n|---|---|---|\n${lines.join('\n')}\n`)
for (const [name, failure] of failures) process.stdout.write(`\nfailed: ${name}\n${failure}\n`)
if (without.length > 0) process.stdout.write(`\n${without.length} of ${rows.length} rows have no case: ${without.join(', ')}\n`)
process.exitCode = failures.size > 0 || without.length > 0 ? 1 : 0

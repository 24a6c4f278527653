import { cases, failureOf } from './suite.ts'
import { conformanceTable, rowsWithoutCase } from './table.ts'

/**
 * `npm run conformance`: runs the sandbox through every case and prints a table of the specification's rows. Exits with 1 if a case failed
 * or a row has none.
 */

const failures = new Map<string, string>()
for (const each of cases) {
  const failure = await failureOf(each)
  if (failure !== null) failures.set(each.name, failure)
}

process.stdout.write(`${conformanceTable(new Set(failures.keys()))}\n`)
for (const [name, failure] of failures) process.stdout.write(`\nfailed: ${name}\n${failure}\n`)
if (rowsWithoutCase.length > 0) process.stdout.write(`\nno case: ${rowsWithoutCase.join(', ')}\n`)
if (failures.size > 0 || rowsWithoutCase.length > 0) process.exitCode = 1

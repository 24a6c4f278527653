/**
 * Reads JSON reports of test runs. Prints `NAME: N passed, N failed` for each of several, and `N passed, N failed` in total on the last
 * line. Exits with 1 if a test failed or did not run, or a run had none.
 * node test/tools/verdict.ts REPORT.json...
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'

interface Report {
  readonly numTotalTests: number
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly success: boolean
}

const files = process.argv.slice(2)
const total = { passed: 0, failed: 0 }
let isWhole = files.length > 0
for (const file of files) {
  const name = basename(file, '.json')
  const report = JSON.parse(await readFile(file, 'utf8')) as Report
  const { numPassedTests: passed, numFailedTests: failed } = report
  const left = report.numTotalTests - passed - failed
  if (left > 0) console.log(`${name}: ${left} tests did not run (${report.numPendingTests} skipped, ${report.numTodoTests} left for later)`)
  if (!report.success) console.log(`${name}: the test run says of itself that it failed`)
  if (files.length > 1) console.log(`${name}: ${passed} passed, ${failed} failed`)
  total.passed += passed
  total.failed += failed
  isWhole &&= report.success && passed > 0 && passed === report.numTotalTests
}
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exitCode = isWhole ? 0 : 1

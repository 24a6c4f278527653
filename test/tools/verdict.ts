/**
 * Reads the JSON report of a test run and prints `N passed, N failed`, alone on a line. Ends with 1 when a test failed, did not
 * run (skipped, or left for later), or when there was none at all.
 *
 *   node test/tools/verdict.ts REPORT.json
 */
import { readFile } from 'node:fs/promises'

interface Report {
  readonly numTotalTests: number
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly success: boolean
}

const report = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as Report
const passed = report.numPassedTests
const left = report.numTotalTests - passed - report.numFailedTests
if (left > 0) console.log(`${left} tests did not run (${report.numPendingTests} skipped, ${report.numTodoTests} left for later)`)
if (!report.success) console.log('the test run says of itself that it failed')
console.log(`${passed} passed, ${report.numFailedTests} failed`)
process.exitCode = report.success && passed > 0 && passed === report.numTotalTests ? 0 : 1

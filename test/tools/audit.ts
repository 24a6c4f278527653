/**
 * Asks the registry whether a known weakness, high or critical, concerns a package that the product brings along. Ends with 1 when one does
 * that `.ci/accepted-advisories.json` does not list with a reason, or when the registry does not answer. A registry without audits passes,
 * with a line that says so.
 *
 *   node test/tools/audit.ts
 */
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { type Accepted, judge } from './audit-report.ts'

const accepted = JSON.parse(await readFile('.ci/accepted-advisories.json', 'utf8')) as Accepted[]
// npm ends with 1 when it finds something, so its exit code says nothing more than its report.
const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  encoding: 'utf8',
  maxBuffer: 64 << 20,
  shell: process.platform === 'win32',
  timeout: 60_000,
})
const { lines, isFailed } = judge(stdout ?? '', accepted)
for (const line of lines) console.log(line)
process.exitCode = isFailed ? 1 : 0

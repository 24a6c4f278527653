/**
 * Asks the registry for high and critical advisories of shipped packages. Exits with 1 for one that `.ci/accepted-advisories.json` does not
 * list with a reason, or without an answer. A registry without audits passes, with a message.
 * node test/tools/audit.ts
 */
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { type Accepted, judge } from './audit-report.ts'

const accepted = JSON.parse(await readFile('.ci/accepted-advisories.json', 'utf8')) as Accepted[]
// npm's exit code adds nothing to its report.
const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  encoding: 'utf8',
  maxBuffer: 64 << 20,
  shell: process.platform === 'win32',
  timeout: 60_000,
})
const { lines, isFailed } = judge(stdout ?? '', accepted)
for (const line of lines) console.log(line)
process.exitCode = isFailed ? 1 : 0

/**
 * Plants each fault and counts the seeds until one finds it.
 * node test/simulation/plants-run.ts [--most 300]
 */
import { execFile } from 'node:child_process'
import { parseArgs, promisify } from 'node:util'
import { simulated } from './plants.ts'

const { values } = parseArgs({ options: { most: { type: 'string', default: '300' } } })
const main = new URL('main.ts', import.meta.url).pathname

for (const name of Object.keys(simulated)) {
  const run = await promisify(execFile)(process.execPath, [main, '--seeds', `1-${values.most}`, '--first', '--plant', name], {
    maxBuffer: 1 << 26,
  }).then(
    ({ stdout }) => stdout,
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  )
  const seed = /^seed (\d+) broke/m.exec(run)?.[1]
  const why = /^ {2}(.*)$/m.exec(run)?.[1] ?? ''
  console.log(
    seed === undefined ? `| ${name} | not in ${values.most} | ${run.slice(0, 200)} |` : `| ${name} | ${seed} | ${why.slice(0, 160)} |`,
  )
}

/**
 * Runs the product on a simulated clock, network and schedule, one seed after another.
 * node test/simulation/main.ts [--seeds 1-300] [--variants NAME=VALUE,…] [--trace] [--plant NAME] [--hashes] [--first]
 * Default of `--variants`: a random mix per seed. Prints a line for each seed that breaks an invariant, with the command that repeats it,
 * then totals as a line of JSON. Exits with 1 if one did.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parseUnshown } from '../../src/sandbox/service/unshown.ts'
import { Prng } from '../../src/sandbox/world/prng.ts'
import { takeOver } from './globals.ts'

const SHOWN = 20

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1-300' },
    variants: { type: 'string' },
    trace: { type: 'boolean', default: false },
    plant: { type: 'string' },
    hashes: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
  },
})
const [from = 1, to = from] = values.seeds.split('-').map(Number)
takeOver(new Prng('template'))
const folder = mkdtempSync(join(process.platform === 'linux' ? '/dev/shm' : tmpdir(), 'submission-mirror-simulation-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

if (values.plant !== undefined) (await import('./plants.ts')).plant(values.plant)
const { makeTemplate } = await import('./template.ts')
const { runSeed } = await import('./seed.ts')

const template = await makeTemplate(folder)
const totals = { seeds: 0, broken: 0, events: 0, struck: {} as Record<string, number> }
const variants = values.variants === undefined ? null : parseUnshown(values.variants)
const startedAt = process.hrtime.bigint()
for (let seed = from; seed <= to; seed++) {
  const trace = values.trace ? (line: string) => console.log(line) : null
  const result = await runSeed(seed, { template, folder: join(folder, String(seed)), trace, variants })
  totals.seeds += 1
  totals.events += result.events
  for (const [name, count] of Object.entries(result.struck)) totals.struck[name] = (totals.struck[name] ?? 0) + count
  if (values.hashes) console.log(`seed ${seed}: ${result.hash}`)
  if (result.broken.length === 0) continue
  totals.broken += 1
  console.log(
    `seed ${seed} broke an invariant (node test/simulation/main.ts --seeds ${seed}${values.variants ? ` --variants ${values.variants}` : ''}${values.plant ? ` --plant ${values.plant}` : ''}):`,
  )
  for (const line of result.broken.slice(0, SHOWN)) console.log(`  ${line}`)
  if (from === to) for (const line of result.log) console.log(`    ${line.trimEnd()}`)
  if (values.first) break
}
const seconds = Number((process.hrtime.bigint() - startedAt) / 1_000_000n) / 1_000
console.log(JSON.stringify({ ...totals, seconds }))
process.exitCode = totals.broken === 0 ? 0 : 1

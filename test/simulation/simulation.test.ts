import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const MAIN = join(import.meta.dirname, 'main.ts')
const SEEDS = process.env['SIMULATION_SEEDS'] ?? '1-30'
const PATIENCE_MS = process.env['SIMULATION_SEEDS'] === undefined ? 600_000 : 12 * 3_600_000

interface Ran {
  readonly code: number
  readonly out: string
}

/** The simulation replaces the time and randomness of its process, so it has its own. */
async function simulate(...args: readonly string[]): Promise<Ran> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args], { maxBuffer: 1 << 28 })
    return { code: 0, out: stdout }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: `${stdout}${stderr}` }
  }
}

describe('the simulation', () => {
  it(`breaks no invariant in the seeds ${SEEDS}`, { timeout: PATIENCE_MS }, async () => {
    // Two processes, one per core.
    const [from = 1, to = from] = SEEDS.split('-').map(Number)
    const middle = Math.floor((from + to) / 2)
    const ran = await Promise.all([`${from}-${middle}`, `${middle + 1}-${to}`].map((seeds) => simulate('--seeds', seeds)))
    for (const { code, out } of ran) expect(code, out).toBe(0)
  })

  it('repeats a seed exactly', async () => {
    const hashes = async (seeds: string) => (await simulate('--seeds', seeds, '--hashes')).out.match(/^seed \d+: \w+$/gm)
    const [together, alone] = await Promise.all([hashes('2-4'), hashes('4')])
    expect(together).toHaveLength(3)
    expect(together?.at(-1)).toBe(alone?.[0])
  })

  it.each([
    'the end of a feed is stored as its cursor',
    'the change log loses what is behind the fifth change',
    'an uncertain push is repeated without a look',
    'a stream continues after a push that failed',
  ])('finds a planted fault: %s', { timeout: 300_000 }, async (plant) => {
    const { code, out } = await simulate('--seeds', '1-40', '--first', '--plant', plant)
    expect(code, out).toBe(1)
    expect(out).toMatch(/^seed \d+ broke an invariant/m)
  })
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'

const TOOL = join(import.meta.dirname, '../tools/plants.ts')
/** Some forty runs of a few test files, two at a time. */
const PATIENCE_MS = 3 * 3_600_000

it('every planted fault is found by the tests that it names', { timeout: PATIENCE_MS }, async () => {
  const tool = spawn(process.execPath, [TOOL], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [table, [code]] = await Promise.all([text(tool.stdout), once(tool, 'close')])
  expect(code, table).toBe(0)
})

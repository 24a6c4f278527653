import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { Screen } from '../../src/demo/screen.ts'

const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-screen-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const text = 'quote_received · A market with a rather long name of its own · Quoted (its webhook was lost)'

async function printedOn(columns: number | undefined) {
  const lines: string[] = []
  const output = { isTTY: columns !== undefined, columns, write: (line: string) => lines.push(stripVTControlCharacters(line)) }
  const log = join(folder, 'events.log')
  const screen = new Screen(output, log, () => 0)
  for (const name of ['Juniper Ridge Roofing & Sheet Metal Group LLC', 'Another']) screen.event('found', name, text)
  await screen.close()
  return { printed: lines.join('').trimEnd(), logged: readFileSync(log, 'utf8') }
}

it('the demo prints the first event of a kind, within the width of the screen, and logs all', async () => {
  for (const columns of [60, 80, 100, 140, undefined]) {
    const { printed, logged } = await printedOn(columns)
    expect(printed.length, String(columns)).toBeLessThanOrEqual(Math.min(columns ?? 100, 100))
    expect(logged.split(`${text}\n`)).toHaveLength(3)
  }
  expect((await printedOn(80)).printed).toMatch(/^ {2}0\.0 s {2}found {4}Juniper Ridge Roofi… {2}quote_received · A market with a rather/)
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allTraps, readmeWithTable, testFiles, trapTable, trapTests } from '../tools/traps.ts'

test('every trap has a test that bears its number', () => {
  const covered = new Set(trapTests().map(({ trap }) => trap))
  expect(allTraps.filter((trap) => !covered.has(trap))).toEqual([])
})

test('each number of a trap is visible, at the start of a title', () => {
  const seen = trapTests().map(({ trap, file }) => `${trap} ${file}`)
  const named = testFiles().flatMap((file) =>
    [...readFileSync(join(import.meta.dirname, '..', file), 'utf8').matchAll(/\btraps? (\d+)/g)].map(
      ([, trap]) => `${Number(trap)} ${file}`,
    ),
  )
  expect(named).toEqual(seen)
})

test('test/README.md lists which test covers which trap (node test/tools/traps.ts writes the list)', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  expect(readme).toBe(readmeWithTable(readme, trapTable(trapTests())))
})

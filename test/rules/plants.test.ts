import { existsSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { planted } from '../plants/plant.ts'
import { plants } from '../plants/plants.ts'
import { simulated } from '../simulation/plants.ts'

const root = join(import.meta.dirname, '../..')

describe('each planted fault', () => {
  it.each(Object.entries({ ...simulated, ...plants }))('finds its place in the source, and leaves a program: %s', (_, plant) => {
    const source = readFileSync(join(root, 'src', plant.file), 'utf8')
    const faulty = planted(plant, source)
    expect(faulty).not.toBe(source)
    expect(() => stripTypeScriptTypes(faulty)).not.toThrow()
  })

  it('names existing test files', () => {
    const named = Object.values(plants).flatMap(({ foundBy }) => foundBy)
    expect(named.filter((file) => !existsSync(join(root, 'test', file)))).toEqual([])
    expect(Object.entries(plants).filter(([, { foundBy }]) => foundBy.length === 0)).toEqual([])
  })
})

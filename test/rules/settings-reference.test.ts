import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { settingsSchema } from '../../src/config/schema/schema.ts'
import { settings } from '../../src/config/sources/names.ts'
import { REFERENCES, reference, rowsOf } from '../tools/settings-reference.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

describe.each(REFERENCES)('%s', (path) => {
  it('is what `node test/tools/settings-reference.ts` makes of the schema', () => {
    const text = read(path)
    expect(text === reference(path, text), 'run `node test/tools/settings-reference.ts`').toBe(true)
  })
})

describe('the reference of the settings', () => {
  const named = [...read('config/README.md').matchAll(/<!-- settings: ([\w ]+) -->/g)].flatMap(([, names = '']) => names.split(' '))

  it('has a table for each section of the schema, and describes every setting', () => {
    expect(Object.keys(settingsSchema.shape).filter((key) => !named.includes(key))).toEqual([])
    const rows = named.flatMap((name) => rowsOf(name))
    const variables = rows.flatMap(({ env }) => env ?? [])
    expect(settings.map(({ env }) => env).filter((env) => !variables.includes(env))).toEqual([])
    expect(rows.filter(({ meaning }) => meaning.trim() === '')).toEqual([])
  })
})

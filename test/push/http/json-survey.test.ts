import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Json } from '../../../src/model/json.ts'
import { surveyJson, withNumbersAsText } from '../../../src/push/http/json-survey.ts'

/** A number that a double can't hold, as JSON text, and texts that look like one. */
const long = fc.bigInt({ min: 2n ** 53n, max: 10n ** 30n }).map((number) => `${number}`)
const leaf = fc.oneof(
  fc.tuple(long, fc.constantFrom('', '-')).map(([digits, sign]) => ({ json: `${sign}${digits}`, value: `${sign}${digits}` })),
  fc
    .oneof(long, fc.string(), fc.constantFrom('[', '}', '"', '\\', '\\"', ','))
    .map((text) => ({ json: JSON.stringify(text), value: text })),
  fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })).map((number) => {
    const rounded = Number.isInteger(number) && !Number.isSafeInteger(number) && /^-?\d+$/.test(JSON.stringify(number))
    return { json: JSON.stringify(number), value: rounded ? JSON.stringify(number) : number }
  }),
)
type Part = { readonly json: string; readonly value: Json }
const { tree } = fc.letrec<{ tree: Part }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf as fc.Arbitrary<Part>,
    fc
      .array(tie('tree'), { maxLength: 4 })
      .map((parts) => ({ json: `[${parts.map(({ json }) => json).join(' , ')}]`, value: parts.map(({ value }) => value) })),
    fc
      .tuple(fc.string(), tie('tree'))
      .map(([name, { json, value }]) => ({ json: `{${JSON.stringify(name)}:\n${json}}`, value: Object.fromEntries([[name, value]]) })),
  ),
}))

const levelsOf = (value: Json): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value as object).map(levelsOf)) : 0

it('keeps every value, except whole numbers that a double may round, which become text, and returns the depth', () => {
  fc.assert(
    fc.property(tree, ({ json, value }) => {
      const { levels, longNumbers } = surveyJson(json)
      const parsed = JSON.parse(withNumbersAsText(json, longNumbers)) as Json
      expect(JSON.stringify(parsed)).toBe(JSON.stringify(value))
      expect(levels).toBe(levelsOf(value))
    }),
  )
})

it.each([
  ['', 0, 1],
  ['[1, {"a,b": [null, "[[["]}, 3]', 3, 7],
  ['{"a": "\\"[", "b": {}}', 2, 4],
  ['"never ends [[[', 0, 1],
])('of %j it counts %i levels and about %i values', (json, levels, values) => {
  expect(surveyJson(json)).toEqual({ levels, values, longNumbers: [] })
})

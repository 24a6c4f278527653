import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseUuid } from '../../src/model/uuid.ts'

const ID = '0b8f6a52-3a35-4b52-9a1e-6f2d7f1f6a01'

test('trap 78: a uuid becomes lower case', () => {
  expect(parseUuid(ID)).toBe(ID)
  expect(parseUuid(` ${ID.toUpperCase()}\n`)).toBe(ID)
  fc.assert(
    fc.property(fc.uuid(), fc.boolean(), (id, upper) => {
      expect(parseUuid(upper ? id.toUpperCase() : id)).toBe(id)
    }),
  )
})

test('trap 78: no other text enters a URL or a key', () => {
  const none = [
    '',
    `${ID}/..`,
    `../${ID}`,
    `${ID}?x`,
    `{${ID}}`,
    ID.replaceAll('-', ''),
    ID.slice(1),
    `${ID}0`,
    `${ID}\u0000`,
    `urn:uuid:${ID}`,
  ]
  for (const value of [...none, ID.replace('0', 'g'), ID.replace('-', '–'), null, undefined, 5, [ID], { id: ID }])
    expect(parseUuid(value)).toBeNull()
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.string({ maxLength: 40 })), (value) => {
      expect(parseUuid(value) ?? ID).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    }),
  )
})

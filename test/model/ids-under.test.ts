import { describe, expect, it } from 'vitest'
import { idsUnder } from '../../src/model/ids-under.ts'
import { uuid } from '../tools/observations.ts'

const found = (value: unknown, ...keys: string[]) => Object.fromEntries(idsUnder(value, keys).ids)

describe('ids under keys', () => {
  it('trap 21: are distinct uuids under that key, at any depth, in lower case', () => {
    const [a, b, c] = [uuid(1, 1), uuid(1, 0xabc), uuid(1, 3)]
    const value = [
      { id: c, submission_id: a, items: [{ deep: { submission_id: b.toUpperCase() } }, { submission_id: a }] },
      { submission_id: { submission_id: c }, insured_id: b, other: c },
    ]
    expect(found(value, 'submission_id', 'insured_id')).toEqual({ submission_id: [a, b, c], insured_id: [b] })
  })

  it('are nothing else', () => {
    for (const value of [
      null,
      7,
      'x',
      uuid(1, 1),
      [uuid(1, 1)],
      { submission_id: [uuid(1, 1)] },
      { submission_id: 'x' },
      { id: uuid(1, 1) },
    ])
      expect(found(value, 'submission_id')).toEqual({ submission_id: [] })
    expect(found(JSON.parse(`{"__proto__": {"submission_id": "${uuid(1, 1)}"}}`), 'submission_id')).toEqual({ submission_id: [uuid(1, 1)] })
  })

  it('a value that is too deep or too long is searched partly, and the result says so', () => {
    for (const around of [(item: unknown) => [item], (item: unknown) => ({ item })]) {
      let deep: unknown = { submission_id: uuid(1, 1) }
      for (let depth = 0; depth < 15; depth += 1) deep = around(deep)
      expect(idsUnder(deep, ['submission_id'])).toEqual({ ids: new Map([['submission_id', [uuid(1, 1)]]]), isComplete: true })
      for (let depth = 0; depth < 2; depth += 1) deep = around(deep)
      expect(idsUnder(deep, ['submission_id'])).toEqual({ ids: new Map([['submission_id', []]]), isComplete: false })
    }
    const long = Array.from({ length: 1_000_001 }, () => 0)
    expect(idsUnder(long, ['submission_id']).isComplete).toBe(false)
    expect(idsUnder([1, [2]], ['submission_id']).isComplete).toBe(true)
  })
})

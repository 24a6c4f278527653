import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, isObject, type Json, sameJson, storableJson, storableJsonText, storableText } from '../../src/model/json.ts'

/** Any text, with U+0000 and lone surrogates among it. */
const text = fc.string({
  unit: fc.oneof(fc.string({ unit: 'binary', maxLength: 1 }), fc.constantFrom('\u0000', '\ud800', '\udfff', '\ufffd', 'a', '😀')),
})
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.maxSafeInteger(),
    text,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(text, fc.constantFrom('__proto__', 'constructor', '1', '10')), tie('json'), { maxKeys: 4 }),
  ),
}))

/** Every text of a value, keys included. */
function textsOf(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, item]) => [...(Array.isArray(value) ? [] : [key]), ...textsOf(item)])
}

/** The same value with the keys of its objects in another order. */
function shuffled(value: Json): Json {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(shuffled)
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, shuffled(item)]),
  )
}

test('trap 72: stored text loses only U+0000 and lone surrogates', () => {
  expect(storableText('a\u0000b\ud800c\udfff😀')).toBe('a\ufffdb\ufffdc\ufffd😀')
  fc.assert(
    fc.property(text, (given) => {
      const stored = storableText(given)
      expect(stored.isWellFormed()).toBe(true)
      expect(stored).not.toContain('\u0000')
      expect(stored).toHaveLength(given.length)
      expect(storableText(stored)).toBe(stored)
      if (given.isWellFormed() && !given.includes('\u0000')) expect(stored).toBe(given)
      // What bytes can hold comes back as it went.
      expect(Buffer.from(stored, 'utf8').toString('utf8')).toBe(stored)
    }),
  )
})

test('trap 72: stored JSON text too, however its characters are escaped', () => {
  for (const [text, stored] of [
    ['"a\\u0000b\\ud800c\\uDFFFd\\ud83d\\ude00 😀"', '"a\\ufffdb\\ufffdc\\ufffdd\\ud83d\\ude00 😀"'],
    ['"\\\\u0000 \\\\\\u0000 \\n \\ud7ff"', '"\\\\u0000 \\\\\\ufffd \\n \\ud7ff"'],
  ] as const)
    expect(storableJsonText(text)).toBe(stored)
  fc.assert(
    fc.property(json, (value) => {
      const stored = storableJsonText(JSON.stringify(value))
      expect(JSON.parse(stored)).toEqual(JSON.parse(JSON.stringify(storableJson(value))))
      expect(storableJsonText(stored)).toBe(stored)
    }),
  )
})

test('trap 72: so does every text and key in a value', () => {
  fc.assert(
    fc.property(json, (value) => {
      const stored = storableJson(value)
      for (const part of textsOf(stored)) expect(part).toBe(storableText(part))
      expect(canonicalJson(storableJson(stored))).toBe(canonicalJson(stored))
      if (textsOf(value).every((part) => storableText(part) === part)) expect(stored).toEqual(value)
    }),
  )
})

test('a number that JSON lacks differs from null', () => {
  for (const number of [Infinity, -Infinity, Number.NaN]) expect([sameJson(number, null), sameJson(null, number)]).toEqual([false, false])
})

test('`__proto__` is a key like any other', () => {
  const stored = storableJson(JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}') as Json)
  expect(JSON.stringify(stored)).toBe('{"__proto__":{"x":1},"constructor":2}')
  expect(Object.getPrototypeOf(stored)).toBe(Object.prototype)
  expect(canonicalJson(stored)).toBe('{"__proto__":{"x":1},"constructor":2}')
})

test('canonical text keeps the value and ignores key order', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: -0 })).toBe('{"a":0,"b":[1,{"c":"x","d":null}]}')
  fc.assert(
    fc.property(json, (value) => {
      const canonical = canonicalJson(value)
      expect(JSON.parse(canonical)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(canonicalJson(shuffled(value))).toBe(canonical)
      expect(canonicalJson(JSON.parse(canonical) as Json)).toBe(canonical)
    }),
  )
})

test('`sameJson` is true exactly for equal values', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      expect(sameJson(a, shuffled(a))).toBe(true)
      const equal = canonicalJson(a) === canonicalJson(b)
      expect(sameJson(a, b)).toBe(equal)
      expect(sameJson(b, a)).toBe(equal)
    }),
  )
  const different: Json[] = [null, false, 0, '', '0', [], {}, [null], { a: null }, [[]], '[]']
  different.forEach((a, i) => {
    different.forEach((b, j) => {
      expect(sameJson(a, b)).toBe(i === j)
    })
  })
})

test('`isObject` rejects lists and null', () => {
  expect([{}, Object.create(null), [], null, 'x', 1, undefined].map(isObject)).toEqual([true, true, false, false, false, false, false])
})

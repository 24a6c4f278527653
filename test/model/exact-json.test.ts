import fc from 'fast-check'
import { expect, test } from 'vitest'
import { comparableJson, exactText, exactTextWithout, parseExact } from '../../src/model/exact-json.ts'

const digits = (length: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: length })
const whole = fc.oneof(
  fc.constant('0'),
  fc.tuple(fc.constantFrom(...'123456789'), fc.oneof(fc.constant(''), digits(25))).map((parts) => parts.join('')),
)
const fraction = fc.oneof(
  fc.constant(''),
  digits(25).map((text) => `.${text}`),
)
const exponent = fc.oneof(
  fc.constant(''),
  fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-', 'e-'), digits(4)).map((parts) => parts.join('')),
)
/** The text of any number that JSON can say. */
const number = fc.tuple(fc.constantFrom('', '-'), whole, fraction, exponent).map((parts) => parts.join(''))
const space = fc.constantFrom('', ' ', '\n\t')

/** What a number comes to: its digits, the exponent of the last one, and its sign, which nought has too. */
function worth(text: string): string {
  const [, sign = '', before = '', after = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const significant = (before + after).replace(/^0+/, '').replace(/0+$/, '')
  const dropped = (before + after).length - (before + after).replace(/0+$/, '').length
  return significant === '' ? `${sign}0` : `${sign}${significant}e${Number(power) - after.length + dropped}`
}

test('any number at any depth keeps its text, and the value equals that of JSON.parse', () => {
  fc.assert(
    fc.property(number, number, space, (first, second, gap) => {
      const text = `{"a":${gap}${first}${gap},"list":[[${second}],${gap}{"b":${second}${gap}}]}`
      const value = parseExact(text) as { list: [unknown, { b: number }] }
      expect(value).toEqual(JSON.parse(text))
      const kept = /^\{"a":([^,]+),"list":\[\[([^\]]+)\],\{"b":([^}]+)\}\]\}$/.exec(exactText(value) ?? '')?.slice(1) ?? []
      expect(kept.map(worth)).toEqual([first, second, second].map(worth))
      expect(exactText(value.list[1])).toBe(`{"b":${kept[2]}}`)
    }),
    { numRuns: 1000 },
  )
})

test('a value nested too deep for exact numbers is parsed as by JSON.parse', () => {
  const nest = (depth: number, inner: string) => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`
  const answer = parseExact(`[${nest(900, '1e400')},{"__proto__":{"m":1e400}}]`) as unknown[]
  expect(answer.map(exactText)).toEqual([nest(900, '1e400'), '{"__proto__":{"m":1e400}}'])
  for (const depth of [3_000, 200_000])
    expect(parseExact(`{"a":${nest(depth, '1e400')},"b":{"n":9007199254740993}}`)).toHaveProperty('b', { n: 9007199254740992 })
})

test('without a list the rest is unchanged', () => {
  const answer = parseExact('{"n":12345678901234567890,"items":[1E400],"in":{"b":-0}}') as Record<string, unknown>
  expect(exactTextWithout(answer, 'items')).toBe('{"n":12345678901234567890,"in":{"b":-0}}')
  expect(exactTextWithout({ a: [1], b: 2 }, 'a')).toBe('{"b":2}')
  expect(Object.keys(answer)).toEqual(['n', 'items', 'in'])
})

test('a number that a double would change keeps its own text', () => {
  for (const text of [
    '12345678901234567890',
    '1E400',
    '-0',
    '-0.0',
    '1e-400',
    '0.1000000000000000055511',
    '9007199254740993',
    '-1.7976931348623159e308',
  ]) {
    expect(exactText(parseExact(`{"n":${text}}`))).toBe(`{"n":${text}}`)
    expect(exactText(parseExact(`{"n":"[${text}]"}`))).toBe(`{"n":"[${text}]"}`)
  }
  // The last of several keys of one name counts, as for JSON.parse.
  expect(exactText(parseExact('{"n":1E400,"n":{"__proto__":[-0]},"m":-0,"m":2}'))).toBe('{"n":{"__proto__":[-0]},"m":2}')
})

test('text that is not JSON throws, and a number of a million digits is fast', () => {
  expect(() => parseExact('{"n":1E400')).toThrow(SyntaxError)
  for (const end of ['1', 'e1', `e-${'9'.repeat(1_000_000)}`]) {
    const long = `{"n":1${'0'.repeat(1_000_000)}${end}}`
    expect(exactText(parseExact(long))).toBe(long)
  }
})

test('two texts are equal when their numbers are, not when only their doubles are', () => {
  const same = (a: string, b: string) => JSON.stringify(comparableJson(`{"n":${a}}`)) === JSON.stringify(comparableJson(`{"n":${b}}`))
  expect(same('12345678901234567890', '12345678901234567000')).toBe(false)
  expect(same('1E400', 'null')).toBe(false)
  expect(same('-0', '0')).toBe(false)
  expect(same('1E2', '100.0')).toBe(true)
  expect(same('12345678901234567890', '12345678901234567890')).toBe(true)
})

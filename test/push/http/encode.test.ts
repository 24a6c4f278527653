import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PermanentError } from '../../../src/base/errors.ts'
import { encodeBody } from '../../../src/push/http/encode.ts'
import { urlOf } from '../../../src/push/http/url.ts'

const xml = (value: Parameters<typeof encodeBody>[1]): string =>
  encodeBody('xml', value).text.replace('<?xml version="1.0" encoding="utf-8"?>', '')

describe('XML', () => {
  it('is elements, attributes, text, lists and nothing', () => {
    const value = { a: { '@id': 'x"y\n<', b: [1, { c: true }, 'z'], gone: null, empty: '', '#text': 'a]]>b' } }
    expect(xml(value)).toBe('<a id="x&quot;y&#10;&lt;"><b>1</b><b><c>true</c></b><b>z</b><empty></empty>a]]&gt;b</a>')
  })

  it('keeps what XML cannot hold out of its text', () => {
    expect(xml({ a: 'x\u0000\u0008\ufffe\ud800y\r' })).toBe('<a>x\ufffd\ufffd\ufffd\ufffdy&#13;</a>')
  })

  it.each([
    [{ a: 1, b: 2 }],
    [{}],
    [[1]],
    ['text'],
    [{ a: [1, 2] }],
    [{ 'a b': 1 }],
    [{ 'a><b': 1 }],
    [{ a: { '@x y': 1 } }],
    [{ a: { '@x': {} } }],
    [{ a: { '#text': [1] } }],
  ])('is rejected for %j', (value) => {
    expect(() => xml(value)).toThrow(PermanentError)
  })

  it('never lets text become an element', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (text, attribute) => {
        const written = xml({ a: { '@x': attribute, '#text': text } })
        const parts = /^<a x="([^"<]*)">([^<>]*)<\/a>$/.exec(written)
        expect(parts).not.toBeNull()
        expect(parts?.[2]?.replace(/&(?:amp|lt|gt|#13);/g, '')).not.toMatch(/[&<>]/)
      }),
    )
  })
})

describe('forms and JSON', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), (fields) => {
        const form = new URLSearchParams(encodeBody('form', { ...fields }).text)
        expect([...form]).toEqual(Object.entries(fields))
        expect(JSON.parse(encodeBody('json', { ...fields }).text)).toEqual({ ...fields })
      }),
    )
  })

  it('refuse what does not fit', () => {
    expect(() => encodeBody('form', { a: { b: 1 } })).toThrow(PermanentError)
    expect(() => encodeBody('form', 'a=b')).toThrow(PermanentError)
    expect(() => encodeBody('json', null)).toThrow(PermanentError)
    expect(() => encodeBody('xml', { Note: null })).toThrow('an XML body must have exactly one root element')
    expect(() => encodeBody('json', 'x'.repeat(9_000_000))).toThrow('the body is longer than 8388608 bytes')
  })
})

describe('$url', () => {
  it.each(['https://host/base?key=1', 'https://host/base#part'])('takes %s for no base: steps behind it would be no path', (base) => {
    expect(() => urlOf(base, 'clients', '7')).toThrow('the base of $url must not contain a query or a fragment')
  })

  it('keeps every value in its place', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string(), (step, value) => {
        fc.pre(step !== '.' && step !== '..')
        const url = new URL(urlOf('https://host/base', 'a', step, 'b', { q: value }))
        expect(url.origin).toBe('https://host')
        expect(url.pathname.split('/').map(decodeURIComponent)).toEqual(['', 'base', 'a', step.toWellFormed(), 'b'])
        expect([...url.searchParams]).toEqual([['q', value.toWellFormed()]])
      }),
    )
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PermanentError } from '../../src/base/errors.ts'
import { urlUnder } from '../../src/base/service-http.ts'
import { operations, pathOf, submissionIdOf } from '../../src/upstream/http/operations.ts'

const BASE = 'https://api.service.test/api/v1'
const ID = '0b8f6a52-3a35-4b52-9a1e-6f2d7f1f6a01'

describe('urls', () => {
  test('trap 76: a path is joined to the base and keeps its version segment', () => {
    expect(urlUnder(BASE, '/broker/me')?.href).toBe(`${BASE}/broker/me`)
    expect(urlUnder(`${BASE}/`, 'broker/me')?.href).toBe(`${BASE}/broker/me`)
    expect(urlUnder('http://127.0.0.1:9', '/broker/me')?.href).toBe('http://127.0.0.1:9/broker/me')
  })

  test('trap 42: the token endpoint is under the base URL, not at the origin', () => {
    expect(urlUnder(BASE, operations.token.path)?.href).toBe(`${BASE}/oauth/token`)
  })

  test('trap 82: only the paths of the spec are appended to the base', () => {
    const staging = 'https://staging.service.test/sandbox/api/v1'
    expect(urlUnder(staging, pathOf({ operation: 'events', submissionId: ID, withCursor: false }))?.href).toBe(
      `${staging}/broker/submissions/${ID}/events`,
    )
    expect(urlUnder('https://other.test/v7', pathOf({ operation: 'me', submissionId: null, withCursor: false }))?.href).toBe(
      'https://other.test/v7/broker/me',
    )
  })

  test('trap 76: a path that leaves the base is rejected', () => {
    for (const path of [
      'https://elsewhere.test/x',
      '//elsewhere.test/x',
      '///elsewhere.test/x',
      '\\\\elsewhere.test\\x',
      'file:x',
      '../me',
      '/broker/../../v2/me',
      '/broker/%2e%2E/me',
      '/broker/..%2fme',
      '/broker/./me',
      '/me?x=1',
      '/me#x',
      '/ me',
      '/me\n',
    ]) {
      expect(urlUnder(BASE, path), path).toBeNull()
    }
  })

  test('trap 76: no path leaves the base', () => {
    const tricky = fc.array(fc.constantFrom('/', '.', '..', '\\', '%2e', ':', '@', '?', '#', 'a', 'https:', ' ', '\t', 'x.test'), {
      maxLength: 8,
    })
    fc.assert(
      fc.property(
        fc.oneof(
          tricky.map((parts) => parts.join('')),
          fc.string({ unit: 'binary' }),
          fc.webUrl(),
        ),
        (path) => {
          const url = urlUnder(BASE, path)
          if (url === null) return
          expect(url.href.startsWith(`${BASE}/`)).toBe(true)
          expect(url.search + url.hash + url.username).toBe('')
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('trap 05: any cursor arrives unchanged', () => {
    const text = fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed())
    fc.assert(
      fc.property(text, (since) => {
        expect(urlUnder(BASE, '/x', Object.entries({ since, limit: '100' }))?.searchParams.get('since')).toBe(since)
      }),
    )
    expect(urlUnder(BASE, '/x', [['since', 'a+/= b']])?.search).toBe('?since=a%2B%2F%3D%20b')
  })

  test('trap 78: only a uuid enters a path, in lower case', () => {
    expect(submissionIdOf(ID.toUpperCase())).toBe(ID)
    for (const id of ['', 'x', `${ID}/../x`, `${ID}?a`, '../me', `${ID}0`]) expect(() => submissionIdOf(id)).toThrow(PermanentError)
  })
})

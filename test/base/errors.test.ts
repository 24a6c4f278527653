import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BusyError, FatalError, messageOf, PermanentError, TransientError, UsageError } from '../../src/base/errors.ts'

test('each class has its name, message and cause', () => {
  const cause = new Error('below')
  for (const Kind of [TransientError, PermanentError, FatalError, BusyError]) {
    const error = new Kind('what happened', { cause })
    expect(error).toBeInstanceOf(Error)
    expect([error.name, error.message, error.cause]).toEqual([Kind.name, 'what happened', cause])
  }
})

test('a transient error may have a retry delay', () => {
  expect(new TransientError('x').retryAfterMs).toBeUndefined()
  expect(new TransientError('x', { retryAfterMs: 1500 }).retryAfterMs).toBe(1500)
})

test('a usage error lists every problem, one per line', () => {
  const error = new UsageError(['one', 'two'])
  expect([error.problems, error.message]).toEqual([['one', 'two'], 'one\ntwo'])
})

test('the message of any thrown value is one line', () => {
  expect(messageOf(new Error(' a\n  b\t'))).toBe('a b')
  expect(messageOf('text')).toBe('text')
  expect(messageOf(new TypeError(''))).toBe('TypeError')
  expect(messageOf(undefined)).toBe('undefined')
  expect(messageOf('')).toBe('unknown error')
  expect(messageOf(Object.create(null))).toBe('a thrown value without a text')
})

test('a system limit is reported once, with its fix', () => {
  const files = messageOf(new Error('EMFILE: too many open files, open /x'))
  expect(files).toBe('EMFILE: too many open files, open /x; raise the limit of open files of this process (ulimit -n)')
  expect(messageOf(new TransientError(`failed: ${files}`))).toBe(`failed: ${files}`)
  expect(messageOf(new Error('EAGAIN'))).toMatch(/^EAGAIN; this process cannot start another thread; raise/)
})

test('an error of several attempts without a message joins their messages', () => {
  const refused = (address: string) => new Error(`connect ECONNREFUSED ${address}`)
  expect(messageOf(new AggregateError([refused('::1'), refused('127.0.0.1'), refused('::1')]))).toBe(
    'connect ECONNREFUSED ::1; connect ECONNREFUSED 127.0.0.1',
  )
  expect(messageOf(new AggregateError([], ''))).toBe('AggregateError')
  expect(messageOf(new AggregateError([refused('::1')], 'all failed'))).toBe('all failed')
})

test('`messageOf` never throws and never returns an empty text', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withMap: true, withSet: true }), (thrown) => {
      expect(messageOf(thrown)).toMatch(/^\S(?:.*\S)?$/u)
    }),
  )
})

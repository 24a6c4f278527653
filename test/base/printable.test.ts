import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { printable } from '../../src/base/printable.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const STEERS_A_TERMINAL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

describe('foreign text', () => {
  it('never contains terminal controls', () => {
    expect(printable('a\u001b[2Jb\u0007\u202e')).toBe('a\\u001b[2Jb\\u0007\\u202e')
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !STEERS_A_TERMINAL.test(printable(text))))
  })

  it('keeps line breaks and tabs', () => {
    expect(printable('one\n\ttwo')).toBe('one\n\ttwo')
  })
})

import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { Screen } from '../../src/demo/screen.ts'

function lineOn(columns: number | undefined): string {
  const lines: string[] = []
  const output = { isTTY: columns !== undefined, columns, write: (text: string) => lines.push(stripVTControlCharacters(text)) }
  const what = 'quote_received · A market with a rather long name of its own · Quoted (its webhook was lost)'
  new Screen(output, () => 0).event('found', 'Juniper Ridge Roofing & Sheet Metal Group LLC', what)
  return lines.join('').trimEnd()
}

describe('a line of the demo', () => {
  it('fits the terminal, and neither name nor what happened is cut to nothing', () => {
    for (const columns of [60, 80, 100, 140]) expect(lineOn(columns).length, String(columns)).toBeLessThanOrEqual(columns)
    expect(lineOn(80)).toMatch(/^ {2}0\.0 s {2}found {4}Juniper Ridge Roofi… {2}quote_received · A market with a rather/)
  })

  it('has its whole length where no terminal is', () => {
    expect(lineOn(undefined)).toContain('Juniper Ridge Roofing & Sheet…')
    expect(lineOn(undefined)).toContain('own · Quoted (its webhook')
  })
})

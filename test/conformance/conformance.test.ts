import { describe, expect, it } from 'vitest'
import { mixOf } from '../../src/sandbox/service/unshown.ts'
import { words } from '../../src/sandbox/service/unshown-choices.ts'
import { rows } from './rows.ts'
import { cases, failureOf } from './suite.ts'
import { rowsWithoutCase } from './table.ts'

describe('the sandbox and the rows of the specification', () => {
  it.each(cases)('$name', async (each) => {
    expect(await failureOf(each)).toBeNull()
  })

  // Clients depend on lanes, paths and statuses that the specification doesn't define. Waiting for an acknowledgement takes long.
  it.each(cases.filter(({ rows }) => !rows.includes('limit.acknowledgement')))('with a mix of variants: $name', async (each) => {
    const isAlerted = (name: string) => name in words && !['partial_view', 'bind_submit_path'].includes(name)
    const mix = Object.fromEntries(Object.entries(mixOf(each.name)).filter(([name]) => isAlerted(name)))
    expect(await failureOf(each, mix), JSON.stringify(mix)).toBeNull()
  })

  it('lists each row once, and cases use existing rows', () => {
    const ids = rows.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(cases.flatMap((each) => each.rows).filter((id) => !ids.includes(id))).toEqual([])
  })

  it('has a case for each row', () => {
    expect(rowsWithoutCase).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { rows } from './rows.ts'
import { cases, failureOf } from './suite.ts'
import { rowsWithoutCase } from './table.ts'

describe('the sandbox and the rows of the specification', () => {
  it.each(cases)('$name', async (each) => {
    expect(await failureOf(each)).toBeNull()
  })

  it('names each row once, and cases name rows that there are', () => {
    const ids = rows.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(cases.flatMap((each) => each.rows).filter((id) => !ids.includes(id))).toEqual([])
  })

  it('has a case for each row', () => {
    expect(rowsWithoutCase).toEqual([])
  })
})

import { expect, it } from 'vitest'
import { Comparer } from '../../../src/reconcile/check/comparer.ts'
import { onSqlite } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'

it.each(onSqlite)('an error of the mirror reaches every waiting comparison, on $name', async ({ open }) => {
  const { db, close } = await open()
  await close()
  const comparer = new Comparer(db, db.clock, 'acme')
  const said = { states: [], records: [], isWhole: true, isThere: true }
  for (let round = 0; round < 2; round += 1) {
    const asked = Array.from({ length: 6 }, (_, n) => comparer.compare({ submissionId: uuid(9, n), ...said }))
    for (const { status } of await Promise.allSettled(asked)) expect(status).toBe('rejected')
  }
})

import { expect, it } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import { addReads } from '../../../src/store/reads/reads.ts'
import { putOffReads, setReadsOffBySettings, switchReadOff } from '../../../src/store/reads/reads-off.ts'
import { testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'
const DAY_MS = 86_400_000

it.each(testDatabases)('reads of a kind are put off on $name while it is off, and not once it is to be tried again', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  const ago = timeFromMs(Date.now() - DAY_MS)
  const places = [1, 2].map((n) => ({ account: ACCOUNT, submissionId: uuid(9, n) }))
  await db.write('test', (tx) => addReads(tx, places, ago, false))
  const putOff = (read: 'sessions' | 'workspace') => putOffReads(db, ACCOUNT, read, 10)

  await switchReadOff(db, ACCOUNT, 'sessions', 'refused', DAY_MS)
  // The retry became due after the process saw that the read is off, and before it postponed it.
  await db.write('test', (tx) => tx.sql.updateTable('sync_reads_off').set({ retry_at: ago }).execute())
  expect(await putOff('sessions')).toBe(0)
  await switchReadOff(db, ACCOUNT, 'sessions', 'refused', DAY_MS)
  expect(await putOff('sessions')).toBe(2)
  expect(await putOff('sessions')).toBe(0)

  expect(await putOff('workspace')).toBe(0)
  await setReadsOffBySettings(db, ACCOUNT, ['workspace'])
  expect(await putOff('workspace')).toBe(2)
})

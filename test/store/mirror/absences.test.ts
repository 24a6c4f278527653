import { describe, expect, it } from 'vitest'
import type { Observation } from '../../../src/model/observations.ts'
import { type StoredRecord, storedEvents, storedMessages } from '../../../src/store/mirror/absences.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'
const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]
const MANY = 1_001

async function all(pages: AsyncIterable<readonly StoredRecord[]>): Promise<[id: string, position: number | null, hangs: boolean][]> {
  const held: StoredRecord[] = []
  for await (const page of pages) held.push(...page)
  return held.map(({ id, position, hasMessage: hangs }) => [id, position, hangs])
}

describe.each(testDatabases)('the records of a submission, on $name', ({ open }) => {
  it('are those of its own account and submission', async () => {
    const { db } = await closedAtEnd(open())
    const places = [
      [ACCOUNT, ONE],
      [ACCOUNT, TWO],
      ['other', ONE],
    ] as const
    for (const [n, [account, submission]] of places.entries())
      await applyAll(db, [observedEvent(account, submission, wireEvent(n)), observedMessage(account, submission, wireMessage(n))])
    // The same message in the other account lends an attachment no message.
    await applyAll(db, [observedMessage('other', ONE, wireMessage(0))])
    await db.write('test', (tx) =>
      tx.sql.deleteFrom('thread_messages').where('account', '=', ACCOUNT).where('submission_id', '=', ONE).execute(),
    )
    expect(await all(storedEvents(db.read, ACCOUNT, ONE))).toEqual([[uuid(1, 0), null, false]])
    expect(await all(storedMessages(db.read, ACCOUNT, ONE))).toEqual([[uuid(2, 0), 0, false]])
    expect(await all(storedMessages(db.read, ACCOUNT, TWO))).toEqual([
      [uuid(2, 1), null, false],
      [uuid(2, 1), 0, true],
    ])
  })

  it('are all listed once, in more than one page', async () => {
    const { db } = await closedAtEnd(open())
    const numbers = Array.from({ length: MANY }, (_, n) => n)
    const observations = numbers.flatMap((n): Observation[] => [
      observedEvent(ACCOUNT, ONE, wireEvent(n)),
      observedMessage(ACCOUNT, ONE, wireMessage(n)),
    ])
    for (let from = 0; from < observations.length; from += 200) await applyAll(db, observations.slice(from, from + 200))
    const ids = (family: number) => numbers.map((n) => uuid(family, n)).sort()
    expect(await all(storedEvents(db.read, ACCOUNT, ONE))).toEqual(ids(1).map((id) => [id, null, false]))
    expect(await all(storedMessages(db.read, ACCOUNT, ONE))).toEqual([
      ...ids(2).map((id) => [id, null, false]),
      ...ids(2).map((id) => [id, 0, true]),
    ])
  })
})

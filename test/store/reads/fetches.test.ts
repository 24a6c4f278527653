import { describe, expect, it } from 'vitest'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { claimFetches, releaseFetch, settleFetch } from '../../../src/store/reads/fetches.ts'
import { openedDb } from '../../push/outbox.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { byPoll, observedMessage, uuid, wireMessage } from '../../tools/observations.ts'

describe.each(testDatabases)('documents to fetch on $name', ({ open }) => {
  it('are claimed once, by account, and settled only by the claimant', async () => {
    const db = await openedDb(open)
    for (const account of ['acme', 'other']) await applyAll(db, [observedMessage(account, uuid(9, 1), wireMessage(1), byPoll)])
    const [claim, ...others] = await claimFetches(db, 'acme', 5)
    if (claim === undefined) throw new Error('nothing was claimed')
    expect(others).toEqual([])
    expect(claim).toMatchObject({ account: 'acme', failures: 0, failingSince: null })
    expect(await claimFetches(db, 'acme', 5)).toEqual([])
    await releaseFetch(db, claim)
    const [again] = await claimFetches(db, 'acme', 5)
    expect(again?.document).toEqual(claim.document)
    await expect(db.write('test', (tx) => settleFetch(tx, claim, { dueInMs: null, failures: 0 }))).rejects.toThrow(LeaseLostError)
  })
})

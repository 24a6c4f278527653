import { inApplyTransaction } from '../../../src/apply/apply.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { claimDeliveries, settleDeliveries } from '../../../src/store/inbox/work.ts'
import { readDeliveries } from '../../../src/work/read-observations.ts'

export async function workInbox(db: Db): Promise<void> {
  const read = await readDeliveries(db, await claimDeliveries(db, 100, 60_000))
  await inApplyTransaction(db, silentObserver, 'test', async ({ tx, apply }) => {
    const { purged } = await apply(read.flatMap(({ observations }) => observations))
    const settlements = read.map(({ settlement, observations }) => ({
      ...settlement,
      isEmptied: observations.some(({ account, submissionId }) => purged.has(`${account} ${submissionId}`)),
    }))
    await settleDeliveries(tx, settlements)
  })
}

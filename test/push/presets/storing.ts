import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import type { DocumentObservation } from '../../../src/model/observations.ts'
import { retryRows } from '../../../src/store/outbox/retry.ts'
import { anything, body } from '../../documents/storage/suite.ts'
import { observedMessage, uuid, wireMessage } from '../../tools/observations.ts'
import { ACCOUNT, type PushRig } from './rig.ts'

/** @returns a function that stores document `n` of a submission, which hangs on a message. @param folder that of the rig's settings. */
export function storing(rig: PushRig, folder: string, submissionId: string): (n: number, text: string) => Promise<void> {
  const storage = new FolderStorage(folder)
  return async (n, text) => {
    const download_path = `/broker/finalized-documents/${uuid(4, n)}/pdf`
    const attachment = { name: `Quote ${n} for Jane.pdf`, download_path, content_type: 'application/pdf' }
    await rig.apply(observedMessage(ACCOUNT, submissionId, wireMessage(n, { attachments: [attachment] })))
    const stored = await storage.keep(body(text), anything)
    const fact: DocumentObservation = {
      kind: 'document',
      account: ACCOUNT,
      submissionId,
      documentKey: uuid(4, n),
      cause: 'poll',
      triedAt: '2026-03-04T05:06:07.000000Z',
      stored,
      error: null,
    }
    await rig.apply(fact)
  }
}

export async function deliveredBecomesUncertain({ db, destination: { name } }: PushRig): Promise<void> {
  const uncertain = { state: 'unknown', uncertain: 1 } as const
  await db.write('test', (tx) => tx.sql.updateTable('sync_outbox').set(uncertain).where('state', '=', 'delivered').execute())
  await retryRows(db, { destination: name }, 0, 10, [name])
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FaultInput } from '../../src/sandbox/service/faults.ts'
import { listDocuments } from '../../src/store/mirror/documents.ts'
import { uuid } from '../tools/observations.ts'
import { until } from '../tools/until.ts'
import { ask } from './admin-points.ts'
import { ACCOUNT } from './checks.ts'
import { addWork } from './load.ts'
import type { KillPoint } from './points.ts'
import type { CrashRig } from './rig.ts'

const folder = mkdtempSync(join(tmpdir(), 'crash-documents-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const settings = () => ({ DOCUMENTS: 'fetch', DOCUMENTS_DIR: folder })
const refused: readonly FaultInput[] = [{ kind: 'status', status: 410, operation: 'document', count: 2 }]

export const documentPoints: readonly KillPoint[] = [
  { transaction: 'document-release', before: addDocuments, settings },
  { transaction: 'document-claim', before: addDocuments, settings },
  // Uses the product of the previous points, which fetches documents.
  { transaction: 'document-retry', provoke: retryFailed },
  { transaction: 'document-store', before: addDocuments, settings },
  { transaction: 'document-failed', before: addDocuments, settings, faults: refused },
]

async function retryFailed(rig: CrashRig): Promise<void> {
  for (const fault of refused) rig.sandbox.faults.add(fault)
  addDocuments(rig)
  const { read } = await rig.store()
  await until('a document failed', async () => (await listDocuments(read, { state: 'failed' }, 1)).length > 0)
  await ask(rig, '/documents/retry', {})
}

let added = 0

function addDocuments(rig: CrashRig): void {
  const id = addWork(rig)
  const attachments = [1, 2].map((n) => ({ name: `${n}.pdf`, download_path: `/broker/finalized-documents/${uuid(77, ++added)}/pdf` }))
  rig.sandbox.addMessage(ACCOUNT, id, { body_text: 'The binder is attached.', attachments })
}

import { createDocumentStorage } from '../../documents/storage/create.ts'
import { foreignDocuments, StorageUnavailable } from '../../documents/storage/storage.ts'
import { firstEpochOf } from '../../store/changes/log-divergence.ts'
import { unlistedHosts } from '../alarms/watch-documents.ts'
import { bad, type DoctorParts, type Finding, good, NO_DATABASE, unchecked } from './finding.ts'

/** Checks document storage: writes, reads and removes a few bytes. Also reports unlisted hosts. */
export async function* checkDocuments({ config, db }: Pick<DoctorParts, 'config' | 'db'>): AsyncGenerator<Finding> {
  if (config.documents.mode !== 'fetch') return
  const storage = createDocumentStorage(config)
  try {
    await storage.check()
    const owner = await storage.owner()
    const foreign = db === null ? null : foreignDocuments(storage.place, { owner, mirror: await firstEpochOf(db.read) })
    yield foreign === null ? good('documents', `${storage.place} can be written to and read from`) : bad('documents', foreign)
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
    yield bad('documents', error.message)
  }
  if (db === null) yield unchecked('documents', `whether DOCUMENT_HOSTS lists their hosts: ${NO_DATABASE}`)
  else for (const found of await unlistedHosts(db.read, config)) yield bad('documents', found.text)
}

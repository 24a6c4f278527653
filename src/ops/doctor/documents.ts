import { createDocumentStorage } from '../../documents/storage/create.ts'
import { StorageUnavailable } from '../../documents/storage/errors.ts'
import { foreignDocuments } from '../../documents/storage/owner.ts'
import { firstEpochOf } from '../../store/changes/log-branch.ts'
import { unnamedHosts } from '../alarms/watch-documents.ts'
import { bad, badCondition, type DoctorParts, type Finding, good, NO_DATABASE, unchecked } from './finding.ts'

/** Whether documents can be kept, where they are fetched: a few bytes are written, read back and removed. And hosts that nothing is fetched from. */
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
  if (db === null) yield unchecked('documents', `whether the hosts that they lie on are named: ${NO_DATABASE}`)
  else for (const found of await unnamedHosts(db.read, config)) yield badCondition('documents', found)
}

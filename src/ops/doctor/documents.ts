import { createDocumentStorage } from '../../documents/storage/create.ts'
import { StorageUnavailable } from '../../documents/storage/errors.ts'
import { bad, type DoctorParts, type Finding, good } from './finding.ts'

/** Whether documents can be kept, where they are fetched: a few bytes are written, read back and removed. */
export async function* checkDocuments({ config }: Pick<DoctorParts, 'config'>): AsyncGenerator<Finding> {
  if (config.documents.mode !== 'fetch') return
  const storage = createDocumentStorage(config)
  try {
    await storage.check()
    yield good('documents', `${storage.place} can be written to and read from`)
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
    yield bad('documents', error.message)
  }
}

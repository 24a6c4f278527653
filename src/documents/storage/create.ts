import { resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { FolderStorage } from './folder.ts'
import type { DocumentStorage } from './storage.ts'

/** @returns where the settings keep documents. Nothing is opened or created yet. */
export function createDocumentStorage({ documents }: Pick<Config, 'documents'>): DocumentStorage {
  return new FolderStorage(resolve(documents.storage.dir))
}

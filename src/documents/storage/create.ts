import { resolve } from 'node:path'
import { type Config, proxySettings } from '../../config/config.ts'
import { FolderStorage } from './folder.ts'
import { S3Storage } from './s3.ts'
import type { DocumentStorage } from './storage.ts'

/** @returns the document storage of the settings. The folder or bucket is opened when first used. */
export function createDocumentStorage(config: Pick<Config, 'documents' | 'upstream'>): DocumentStorage {
  const { dir, s3 } = config.documents
  const folder = resolve(dir)
  return s3 !== null ? new S3Storage(s3, folder, proxySettings(config)) : new FolderStorage(folder)
}

import { resolve } from 'node:path'
import { type Config, proxySettings } from '../../config/config.ts'
import { FolderStorage } from './folder.ts'
import { S3Storage } from './s3.ts'
import type { DocumentStorage } from './storage.ts'

/** @returns the configured document storage. The storage opens its folder or bucket on first use. */
export function createDocumentStorage(config: Pick<Config, 'documents' | 'upstream'>): DocumentStorage {
  const { dir, s3 } = config.documents
  const folder = resolve(dir)
  return s3 !== null ? new S3Storage(s3, folder, proxySettings(config)) : new FolderStorage(folder)
}

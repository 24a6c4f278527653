import type { SecretText } from '../base/secret.ts'
import { plainTextAt } from './destinations.ts'
import type { Settings } from './schema/schema.ts'
import type { Tree } from './sources/reading.ts'

/** A bucket of an S3-compatible service. */
export interface BucketConfig {
  readonly kind: 's3'
  /** Where a document lies while it is fetched. A relative path counts from the working folder. */
  readonly dir: string
  readonly bucket: string
  readonly region: string
  /** null: that of AWS in the region. */
  readonly endpoint: string | null
  /** Before each key: empty, or text that ends with a slash. */
  readonly prefix: string
  /** null: what the client finds by itself, such as the role of the machine. */
  readonly key: { readonly id: string; readonly secret: SecretText } | null
  /** Whether the bucket stands in the path of URLs, instead of in their host. */
  readonly forcePathStyle: boolean
}

/** What is done with documents of the service. */
export interface DocumentsConfig {
  /** `fetch` their files too; `list`: rows only; `off`: neither. */
  readonly mode: 'fetch' | 'list' | 'off'
  /** The longest file that is kept, and all of them together. */
  readonly maxBytes: number
  readonly totalBytes: number
  /** Hosts beside the service's that a document may be fetched from, in lower case. */
  readonly hosts: readonly string[]
  /** Where their bytes are kept. A relative `dir` counts from the working folder. */
  readonly storage: { readonly kind: 'folder'; readonly dir: string } | BucketConfig
}

/** @returns the settings of documents from the validated section of the settings file. */
export function documentsOf({ dir, s3, mode, max_bytes, total_bytes, hosts }: Settings['documents']): DocumentsConfig {
  const about = { mode, maxBytes: max_bytes, totalBytes: total_bytes, hosts }
  if (s3 === undefined) return { ...about, storage: { kind: 'folder', dir } }
  const { bucket, region, endpoint = null, prefix = '', access_key_id: id, secret_access_key: secret } = s3
  return {
    ...about,
    storage: {
      kind: 's3',
      dir,
      bucket,
      region,
      endpoint,
      prefix: prefix === '' ? '' : prefix.replace(/\/?$/, '/'),
      key: id === undefined || secret === undefined ? null : { id, secret },
      forcePathStyle: s3.force_path_style,
    },
  }
}

/** @returns every secret of the documents' settings. */
export function secretsOfDocuments({ storage }: DocumentsConfig): string[] {
  return storage.kind === 's3' && storage.key !== null ? [storage.key.secret.reveal()] : []
}

/** As `plainTextSecrets`, for documents. */
export function plainDocumentSecrets(tree: Tree, references: ReadonlySet<string>): string[] {
  return plainTextAt(tree, [['documents', 's3', 'secret_access_key']], references)
}

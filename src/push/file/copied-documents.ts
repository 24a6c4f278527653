import { createHash } from 'node:crypto'
import type { PushItem } from '../contract/delivery.ts'
import { type AttachedDocument, attachedDocument, type OpenDocument, type OpenedDocument } from '../contract/documents.ts'
import type { Drop } from './drop.ts'
import { type DocumentFacts, documentName } from './names.ts'

export interface CopiedDocuments {
  /** The items to deliver now. If time ran out, the items before the first document that wasn't copied. */
  readonly items: readonly PushItem[]
  readonly facts: readonly DocumentFacts[]
  /** Final file names, by temporary name. */
  readonly renames: ReadonlyMap<string, string>
}

interface Parts {
  readonly destination: string
  readonly open: OpenDocument
  readonly temporary: (sha256: string) => string
  readonly late: () => boolean
}

/**
 * Writes the items' documents under temporary names, each file once. The first document is written even if no time is
 * left. For a missing or damaged document, the manifest has an entry without a file name, and the rows aren't delayed.
 */
export async function copyDocuments(drop: Drop, items: readonly PushItem[], parts: Parts): Promise<CopiedDocuments> {
  const files = new Map<string, Pick<DocumentFacts, 'name' | 'bytes'>>()
  const renames = new Map<string, string>()
  const facts: DocumentFacts[] = []
  for (const [index, item] of items.entries()) {
    const document = attachedDocument(item)
    if (document === null) continue
    if (!files.has(document.path)) {
      if (files.size > 0 && parts.late()) return { items: items.slice(0, index), facts, renames }
      files.set(document.path, await copyDocument(drop, document, parts, renames))
    }
    const { sha256, account, submissionId, documentKey } = document
    facts.push({
      name: null,
      bytes: null,
      ...files.get(document.path),
      sha256,
      account,
      submissionId,
      documentKey,
      outboxId: item.outboxId,
    })
  }
  return { items, facts, renames }
}

async function copyDocument(
  drop: Drop,
  document: AttachedDocument,
  { destination, open, temporary }: Parts,
  renames: Map<string, string>,
): Promise<Pick<DocumentFacts, 'name' | 'bytes'>> {
  const opened = await open(document)
  if (opened === null) return { name: null, bytes: null }
  const from = temporary(document.sha256)
  const written = await writeHashed(drop, from, opened)
  const { sha256 } = document
  if (written.sha256 !== sha256) {
    await drop.remove(from)
    return { name: null, bytes: null }
  }
  const name = documentName(destination, sha256, written.isPdf ? 'pdf' : 'bin')
  renames.set(from, name)
  return { name, bytes: opened.bytes }
}

async function writeHashed(drop: Drop, name: string, { open }: OpenedDocument): Promise<{ sha256: string; isPdf: boolean }> {
  const hash = createHash('sha256')
  const body = await open()
  let [isFirst, isPdf] = [true, false]
  async function* chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (isFirst) isPdf = chunk.subarray(0, 5).toString('latin1') === '%PDF-'
      isFirst = false
      hash.update(chunk)
      yield chunk
    }
  }
  try {
    await drop.write(name, chunks())
  } finally {
    body.destroy()
  }
  return { sha256: hash.digest('hex'), isPdf }
}

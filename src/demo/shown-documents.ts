import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Row } from '../model/entity.ts'

const document = z.looseObject({
  name: z.string(),
  document_id: z.string().optional(),
  download_path: z.string().nullable(),
})
const policy = z.looseObject({ documents: z.array(document).default([]) })

/** What the truth has of places that name documents. */
interface DocumentTruth {
  readonly messages: readonly { readonly attachments: readonly { readonly name: string; readonly download_path: string | null }[] }[]
  readonly offers: readonly { readonly presentation_id: string; readonly document_url: string; readonly filename: string }[]
  readonly policies: readonly unknown[]
}

/** The documents that the mirror should have of a submission, each once: that of a policy before an original before an attachment. */
export function shownDocuments({ messages, offers, policies }: DocumentTruth): Row[] {
  const ofPolicies = policies.flatMap((one) => policy.parse(one).documents.map((each) => rowOf('policy', each.name, each.download_path)))
  const originals = offers.map(
    ({ presentation_id, document_url, filename }): Row => ({
      ...rowOf('carrier_original', filename, document_url, presentation_id),
      download_path: null,
      document_url,
    }),
  )
  const attached = messages.flatMap(({ attachments }) =>
    attachments.map(({ name, download_path }) => rowOf('attachment', name, download_path)),
  )
  const all = [...ofPolicies, ...originals, ...attached].filter((row) => row['document_key'] !== null)
  return [...new Map(all.toReversed().map((row) => [row['document_key'], row])).values()]
}

function rowOf(origin: string, name: string, link: string | null, identity = name): Row {
  const id = /finalized-documents\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/pdf$/.exec(link ?? '')?.[1] ?? null
  const document_key = id ?? (link === null ? null : createHash('sha256').update(`${link} ${identity}`).digest('hex'))
  return { document_key, document_id: id, origin, name, download_path: link, document_url: null }
}

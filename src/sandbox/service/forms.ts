import type { Submission } from '../world/submission.ts'
import type { Attachment } from '../world/wire.ts'
import { pdfOf } from './files.ts'
import { storeDocument } from './uploads.ts'

interface FormItem {
  readonly form_key: string
  readonly title: string
  readonly is_acord: boolean
  readonly page_count: number
}

const acordTitles: Readonly<Record<string, string>> = {
  125: 'Commercial Insurance Application',
  126: 'Commercial General Liability Section',
  127: 'Business Auto Section',
  129: 'Vehicle Schedule',
  130: 'Workers Compensation Application',
  131: 'Umbrella Section',
  140: 'Property Section',
}
const trades = ['Contractors', 'Restaurant', 'Trucking', 'Cyber', 'Errors and Omissions', 'Habitational', 'Garage', 'Hospitality'] as const
const kinds = ['Supplement', 'Loss Summary', 'Statement of Values', 'No Known Loss Letter', 'Driver List', 'Subcontractor List'] as const

/** All forms: more than `MAX_RESULTS`, so that a search may have more matches than it returns. */
const formCatalog: readonly FormItem[] = [
  ...Object.entries(acordTitles).map(([number, title]) => ({
    form_key: `acord_${number}`,
    title: `ACORD ${number} ${title}`,
    is_acord: true,
    page_count: 4,
  })),
  ...trades.flatMap((trade) =>
    kinds.map((kind) => ({
      form_key: `${trade} ${kind}`.toLowerCase().replaceAll(' ', '_'),
      title: `${trade} ${kind}`,
      is_acord: false,
      page_count: 2,
    })),
  ),
]

/** Maximum number of forms that a search returns, from the specification. */
const MAX_RESULTS = 50

/** @returns forms whose key or title contains `q`, ignoring case. */
export function searchForms(q: string): readonly FormItem[] {
  const wanted = q.toLowerCase()
  const matches = ({ form_key, title }: FormItem) => form_key.includes(wanted) || title.toLowerCase().includes(wanted)
  return formCatalog.filter(matches).slice(0, MAX_RESULTS)
}

/**
 * Stores each filled form as a document.
 * @returns the documents as attachments.
 */
export function finishForms(submission: Submission, forms: readonly string[], atMs: number): Attachment[] {
  return forms.map((key) => {
    const file = { name: `${key}.pdf`, contentType: 'application/pdf', bytes: pdfOf(`Form ${key}, submission ${submission.id}`) }
    const displayName = formCatalog.find((form) => form.form_key === key)?.title ?? key
    const { id } = storeDocument(submission, file, { displayName, source: 'form_fill', kind: 'form' }, atMs)
    return { name: displayName, download_path: `/broker/finalized-documents/${id}/pdf` }
  })
}

import { z } from 'zod'
import type { Submission } from '../world/submission.ts'
import type { Attachment } from '../world/wire.ts'
import { pdfOf } from './files.ts'
import type { Unshown } from './unshown.ts'
import { storeDocument } from './uploads.ts'

/** A form of the catalogue ("Form catalog item"). */
export interface FormItem {
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

/** All forms that the service knows: more than one search answers. */
export const formCatalog: readonly FormItem[] = [
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

/** "Forms search results: capped at 50." */
const MAX_RESULTS = 50

/** @returns forms whose key or title has `q` in it, whatever the case. */
export function searchForms(q: string): readonly FormItem[] {
  const wanted = q.toLowerCase()
  const matches = ({ form_key, title }: FormItem) => form_key.includes(wanted) || title.toLowerCase().includes(wanted)
  return formCatalog.filter(matches).slice(0, MAX_RESULTS)
}

export const formFillBody = z.object({ form_keys: z.array(z.string()).optional(), producer_email: z.string().optional() })

/** What fills forms, a little later. */
export interface FormFiller {
  fillForms(account: string, submission: Submission, forms: readonly string[], atMs: number): void
}

/**
 * Starts a form-fill session. `form_keys` trims the resolved set; the first form, the application itself, is required and always kept.
 * The completed forms land as finalized documents a little later.
 */
export function startFormFill(
  { life, unshown }: { readonly life: FormFiller; readonly unshown: Unshown },
  account: string,
  submission: Submission,
  formKeys: readonly string[] | undefined,
  atMs: number,
) {
  const forms = submission.facts.forms.filter((key, index) => index === 0 || (formKeys?.includes(key) ?? true))
  const sessionId = submission.newId()
  life.fillForms(account, submission, forms, atMs)
  return {
    session_id: sessionId,
    workflow_version: 'structured_v1',
    token: `fill_${sessionId.replaceAll('-', '')}`,
    auth_mode: 'token',
    forms_assigned: unshown.word('forms_assigned') === 'count' ? forms.length : forms,
    status: 'in_progress',
    carrier_schemas: [...submission.lanes.values()].flatMap(({ session, visible }) =>
      session && visible ? [{ carrier_slug: session.carrier_slug, program: session.program }] : [],
    ),
  }
}

/** Keeps each filled form as a document. @returns them as attachments of a message. */
export function finishForms(submission: Submission, forms: readonly string[], atMs: number): Attachment[] {
  return forms.map((key) => {
    const file = { name: `${key}.pdf`, contentType: 'application/pdf', bytes: pdfOf(`Form ${key}, submission ${submission.id}`) }
    const displayName = formCatalog.find((form) => form.form_key === key)?.title ?? key
    const { id } = storeDocument(submission, file, { displayName, source: 'form_fill', kind: 'form' }, atMs)
    return { name: displayName, download_path: `/broker/finalized-documents/${id}/pdf` }
  })
}

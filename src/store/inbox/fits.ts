import { haveText } from '../../model/search-words.ts'

/** What no index finds. */
export interface InboxSearch {
  /** The type of the delivery. */
  readonly kind?: string | undefined
  /** A part of its id, its error, what it told, its insured or its submission's id, in any case and without accents. */
  readonly text?: string | undefined
}

/** What is looked at of a delivery. */
export interface Looked {
  readonly delivery_id: string
  readonly kind: string | null
  readonly error: string | null
  readonly what: string | null
  readonly submission_id: string | null
  readonly insured_name: string | null
}

/** Whether a delivery is one of those that are looked for; everything is, when nothing is. */
export function fits(row: Looked, { kind, text }: InboxSearch): boolean {
  if (kind !== undefined && row.kind !== kind) return false
  return text === undefined || haveText([row.delivery_id, row.error, row.what, row.submission_id, row.insured_name], text)
}

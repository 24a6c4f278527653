/** What no index finds. */
export interface InboxSearch {
  /** The type of the delivery. */
  readonly kind?: string | undefined
  /** A part of its id, its error or its submission's id, in any case. */
  readonly text?: string | undefined
}

/** What is looked at of a delivery. */
interface Looked {
  readonly delivery_id: string
  readonly kind: string | null
  readonly error: string | null
  readonly submission_id: string | null
}

/** Whether a delivery is one of those that are looked for; everything is, when nothing is. */
export function fits(row: Looked, { kind, text }: InboxSearch): boolean {
  if (kind !== undefined && row.kind !== kind) return false
  const wanted = text?.toLowerCase()
  return wanted === undefined || [row.delivery_id, row.error, row.submission_id].some((of) => of?.toLowerCase().includes(wanted))
}

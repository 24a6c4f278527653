import { haveText } from '../../model/search-words.ts'

/** What no index finds. */
export interface InboxSearch {
  /** The type of the delivery. */
  readonly kind?: string | undefined
  /** A part of its id, its error, what it told, its insured or its submission's id, in any case and without accents. */
  readonly text?: string | undefined
  /** Finds the name of the insured of each; without it names are not looked at. */
  readonly withInsured?: <T extends Looked>(rows: readonly T[]) => Promise<(T & { readonly insured_name: string | null })[]>
}

/** What is looked at of a delivery. */
export interface Looked {
  readonly account: string
  readonly delivery_id: string
  readonly kind: string | null
  readonly error: string | null
  readonly what: string | null
  readonly submission_id: string | null
}

/** @returns the deliveries of a list that are looked for, in its order; all, when nothing is. */
export async function fitting<T extends Looked>(rows: readonly T[], { kind, text, withInsured }: InboxSearch): Promise<readonly T[]> {
  const ofKind = rows.filter((row) => kind === undefined || row.kind === kind)
  if (text === undefined) return ofKind
  const named: readonly (T & { readonly insured_name?: string | null })[] = (await withInsured?.(ofKind)) ?? ofKind
  return named.filter((row) => haveText([row.delivery_id, row.error, row.what, row.submission_id, row.insured_name ?? null], text))
}

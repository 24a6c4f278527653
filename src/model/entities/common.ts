import type { Field } from '../entity.ts'
import { text, time } from './fields.ts'

/** Source of columns that the mirror sets. */
export const byMirror = { source: 'program', local: true } as const

export const account = text('none', 'the account', { source: 'settings' })

export const submissionId = text('none', 'the submission', { source: 'path' })

/** Column with the submission of a policy or an insured. These objects have their own id. */
export const namedBy = text('none', 'the submission whose answer named it first; null if none, or an operator named it alone', byMirror)

/** Source of columns for which the setting `record_fields` names the field. */
export const inRecord = 'the record, as `record_fields` says'

export const laneId = text('none', 'its lane', { source: "the lane's `submission_market_id`" })

export const messageId = text('none', 'its message', { source: "the message's `id`" })

export const firstSeenAt = time('none', 'when it was first stored here', byMirror)

export const firstSeenVia = text(
  'none',
  'how it first arrived: `webhook`, `poll`, `backfill` (more than an hour older than the tracking), or `reconcile`',
  byMirror,
)

export const goneFromFeed = time(
  'none',
  'since when two full re-reads of the feed by a reconcile run no longer show it; null while shown',
  byMirror,
)

export function goneFrom(what: string): Field & { readonly kind: 'time' } {
  return time('none', `when ${what} was first seen without it; null while it is there`, byMirror)
}

/** Column with an id of the service that is part of a key. @param source path of the id in the answer. */
export function keyId(source: string) {
  const meaning = 'its id; if longer than 512 characters, its SHA-256: `sha256:` and hex digits'
  const path = source.slice(source.lastIndexOf('.') + 1)
  return text('none', meaning, { source: `\`${source}\``, path, as: 'key', required: true })
}

/** Key column of an item without an id from the service. @param more further sentences for the data dictionary. */
export function itemKey({ more, ...madeOf }: NonNullable<Field['madeOf']> & { readonly more?: string }) {
  const { own, hashed } = madeOf
  const names = hashed
    .map((column) => `\`${column}\``)
    .join(', ')
    .replace(/, ([^,]+)$/, ' and $1')
  const hash = `the SHA-256 of ${names}`
  const sentences = [own === undefined ? hash : `its \`${own}\`, or without one ${hash}`, ...(more === undefined ? [] : [more])]
  const meaning = [...sentences, 'A repetition ends with `#2`, `#3` …'].join('. ')
  return text('none', meaning, { source: 'the item', madeOf })
}

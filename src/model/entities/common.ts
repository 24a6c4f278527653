import type { Field, FieldDescription } from '../entity.ts'

/** Columns that several tables have. */

export const account = { kind: 'text', class: 'none', source: 'settings', meaning: 'whose it is' } as const satisfies Field

export const submissionId = { kind: 'text', class: 'none', source: 'path', meaning: 'its submission' } as const satisfies Field

/** The submission of what has an id of its own. */
export const namedBy = {
  kind: 'text',
  class: 'none',
  source: 'program',
  meaning: 'the submission whose answer named it first; null when none has, or an operator named it without one',
  local: true,
} as const satisfies Field

/** The source of a column that is looked for in a record whose fields the service does not show. */
export const inRecord = 'the record, as `record_fields` says'

export const laneId = {
  kind: 'text',
  class: 'none',
  source: "the lane's `submission_market_id`",
  meaning: 'its lane',
} as const satisfies Field

export const messageId = { kind: 'text', class: 'none', source: "the message's `id`", meaning: 'its message' } as const satisfies Field

export const firstSeenAt = {
  kind: 'time',
  class: 'none',
  source: 'program',
  meaning: 'when it was first stored here',
  local: true,
} as const satisfies Field

export const firstSeenVia = {
  kind: 'text',
  class: 'none',
  source: 'program',
  meaning: 'the way it first came: `webhook`, `poll`, `backfill` (older than the tracking by more than an hour), or `reconcile`',
  local: true,
} as const satisfies Field

export const goneFromFeed = {
  kind: 'time',
  class: 'none',
  source: 'program',
  meaning: 'since when a whole replay of the feed, made twice by a reconcile run, no longer shows it; null while it is shown',
  local: true,
} as const satisfies Field

export function goneFrom(what: string): Field & { readonly kind: 'time' } {
  return {
    kind: 'time',
    class: 'none',
    source: 'program',
    meaning: `when ${what} was first seen without it; null while it is shown`,
    local: true,
  }
}

/** An id of the service that is part of a key. @param source where it stands in the answer. */
export function keyId(source: string) {
  const meaning = 'its id; one of more than 512 characters as its SHA-256: `sha256:` and hex digits'
  const path = source.slice(source.lastIndexOf('.') + 1)
  return {
    kind: 'text',
    class: 'none',
    source: `\`${source}\``,
    path,
    as: 'key',
    required: true,
    meaning,
  } as const satisfies FieldDescription
}

/** The key of an item to which the service gives no id. @param more what else there is to say of it. */
export function itemKey({ more, ...madeOf }: NonNullable<Field['madeOf']> & { readonly more?: string }) {
  const { own, hashed } = madeOf
  const names = hashed
    .map((column) => `\`${column}\``)
    .join(', ')
    .replace(/, ([^,]+)$/, ' and $1')
  const hash = `the SHA-256 of ${names}`
  const sentences = [own === undefined ? hash : `its \`${own}\`; without one ${hash}`, ...(more === undefined ? [] : [more])]
  const meaning = [...sentences, 'A repetition ends with `#2`, `#3` …'].join('. ')
  return { kind: 'text', class: 'none', source: 'the item', madeOf, meaning } as const satisfies FieldDescription
}

import { tokenLifeSeconds } from '../../base/service-http.ts'
import { type FetchedToken, readTokenAnswer } from '../../base/token-holder.ts'
import { canonicalJson, isObject, storableText } from '../../model/json.ts'
import { idOf, jsonOf, textOf } from './fields.ts'
import { itemsIn } from './lists.ts'

/** Readers of answers that are not records: a page of a feed, the identity, and a token. */

/**
 * One page of a feed. `nextCursor` null ends the feed; the number of items never does (trap 1). `isEndTold`: the page says null; when it says
 * nothing of the next cursor, that is taken for null, and proves nothing.
 */
export interface FeedPage<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
  readonly isEndTold: boolean
}

/** The identity of the credentials. Only the brokerage is pinned: clients and labels change when keys rotate. */
export interface Identity {
  /** `api_client`, `user`, or any other value. */
  readonly kind: string
  /** What identifies the brokerage: its id, else its name, else its whole JSON as text. */
  readonly brokerage: string
  /** The public id of the credential; null when the service does not tell. */
  readonly clientId: string | null
  /** Name of the credential, or of the user. */
  readonly label: string | null
  /** Codes of the states in which the service is active; null when it is in all. */
  readonly activeStates: readonly string[] | null
  /** The granted scopes, if the service tells them. */
  readonly scopes?: readonly string[]
}

/**
 * Reads a page of a feed.
 * @param list the name under which the page keeps its items.
 * @returns null when `raw` is not such a page.
 */
export function readPage(raw: unknown, list: 'events' | 'messages'): FeedPage<unknown> | null {
  const items = itemsIn(raw, list)
  if (items === null || !isObject(raw)) return null
  const { next_cursor: next } = raw
  // A cursor is opaque, but must survive storage as text on both databases (trap 5).
  const isEnd = next === null || next === undefined
  if (!isEnd && (typeof next !== 'string' || next !== storableText(next))) return null
  return { items, nextCursor: isEnd ? null : next, isEndTold: next === null }
}

/** Reads the answer of `GET /broker/me`; null when kind or brokerage is missing. */
export function readIdentity(raw: unknown): Identity | null {
  if (!isObject(raw)) return null
  const [kind, brokerage, scopes] = [textOf(raw['kind']), brokerageOf(raw['brokerage']), scopesOf(raw['scope'])]
  if (kind === null || brokerage === null) return null
  const label = textOf(raw['label']) ?? textOf(raw['full_name'])
  return {
    kind,
    brokerage,
    clientId: idOf(raw['client_id']) ?? idOf(raw['id']),
    label,
    activeStates: textsOf(raw['active_states']),
    ...(scopes && { scopes }),
  }
}

/** Reads the answer of the token endpoint; null without a usable token. Everything else may be missing. */
export function readToken(raw: unknown): FetchedToken | null {
  const read = readTokenAnswer(raw)
  return read && { token: read.token, expiresInSeconds: tokenLifeSeconds(read.expiresInSeconds) }
}

// The spec does not show its shape: a text, as for tokens, or a list.
function scopesOf(value: unknown): readonly string[] | null {
  const words =
    typeof value === 'string' ? value.split(/[\s,]+/) : Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []
  const scopes = words.filter((word) => /^[\x21-\x7e]{1,64}$/.test(word))
  return scopes.length > 0 ? scopes : null
}

function textsOf(value: unknown): readonly string[] | null {
  return Array.isArray(value) ? value.flatMap((item) => textOf(item) ?? []) : null
}

// The spec does not show the shape of `brokerage`: a text, or an object with or without an id. Its other fields may change.
function brokerageOf(value: unknown): string | null {
  if (!isObject(value)) return idOf(value)
  for (const key of ['id', 'name', 'slug']) {
    const given = typeof value[key] === 'number' ? String(value[key]) : idOf(value[key])
    if (given !== null) return given
  }
  const whole = Object.keys(value).length > 0 ? jsonOf(value) : null
  return whole === null ? null : canonicalJson(whole)
}

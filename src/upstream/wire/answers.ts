import { tokenLifeSeconds } from '../../base/service-http.ts'
import { type FetchedToken, readTokenAnswer } from '../../base/token-holder.ts'
import { canonicalJson, isObject, storableText } from '../../model/json.ts'
import { idOf, jsonOf, textOf } from './fields.ts'
import { itemsIn } from './lists.ts'

/**
 * One page of a feed. A null `nextCursor` ends the feed (trap 1). `isEndConfirmed`: the service sent a null cursor. If
 * the service sent no cursor, the feed ends, but the end isn't confirmed.
 */
export interface FeedPage<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
  readonly isEndConfirmed: boolean
}

/**
 * The identity of the credentials. An account always belongs to the same brokerage. The other fields may change when
 * the key is rotated.
 */
export interface Identity {
  /** `api_client`, `user`, or another value. */
  readonly kind: string
  /** The brokerage's id. If the answer has no id: the brokerage's name, its slug, or all its fields as JSON. */
  readonly brokerage: string
  /** Public id of the credential; null if unknown. */
  readonly clientId: string | null
  /** Name of the credential or user. */
  readonly label: string | null
  /** Codes of the US states where the service is active. Null means no restriction. */
  readonly activeStates: readonly string[] | null
  /** The granted scopes. Missing if unknown. */
  readonly scopes?: readonly string[]
}

/**
 * Reads a page of a feed.
 * @param list name of the list with the page's items.
 * @returns null if `raw` isn't a page.
 */
export function readPage(raw: unknown, list: 'events' | 'messages'): FeedPage<unknown> | null {
  const items = itemsIn(raw, list)
  if (items === null || !isObject(raw)) return null
  const { next_cursor: next } = raw
  // The databases must store the cursor unchanged. A cursor that they can't store makes the page invalid (trap 5).
  const isEnd = next === null || next === undefined
  if (!isEnd && (typeof next !== 'string' || next !== storableText(next))) return null
  return { items, nextCursor: isEnd ? null : next, isEndConfirmed: next === null }
}

/**
 * Reads the answer of `GET /broker/me`.
 * @returns null if the kind or the brokerage is missing.
 */
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

/**
 * Reads the answer of the token endpoint.
 * @returns null if the answer has no usable token.
 */
export function readToken(raw: unknown): FetchedToken | null {
  const read = readTokenAnswer(raw)
  return read && { token: read.token, expiresInSeconds: tokenLifeSeconds(read.expiresInSeconds) }
}

// The specification doesn't define `scope`. Accepts a text, as in token answers, or a list.
function scopesOf(value: unknown): readonly string[] | null {
  const words =
    typeof value === 'string' ? value.split(/[\s,]+/) : Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []
  const scopes = words.filter((word) => /^[\x21-\x7e]{1,64}$/.test(word))
  return scopes.length > 0 ? scopes : null
}

function textsOf(value: unknown): readonly string[] | null {
  return Array.isArray(value) ? value.flatMap((item) => textOf(item) ?? []) : null
}

// The specification doesn't define `brokerage`. Accepts a text, or an object with or without an id.
function brokerageOf(value: unknown): string | null {
  if (!isObject(value)) return idOf(value)
  for (const key of ['id', 'name', 'slug']) {
    const given = typeof value[key] === 'number' ? String(value[key]) : idOf(value[key])
    if (given !== null) return given
  }
  const whole = Object.keys(value).length > 0 ? jsonOf(value) : null
  return whole === null ? null : canonicalJson(whole)
}

import { tokenLifeSeconds } from '../../base/service-http.ts'
import { type FetchedToken, readTokenAnswer } from '../../base/token-holder.ts'
import { canonicalJson, isObject, storableText } from '../../model/json.ts'
import { idOf, jsonOf, textOf } from './fields.ts'
import { itemsIn } from './lists.ts'

/**
 * One page of a feed. Only a null `nextCursor` ends the feed (trap 1). `isEndConfirmed`: the page contains null; a missing cursor counts as null
 * but confirms nothing.
 */
export interface FeedPage<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
  readonly isEndConfirmed: boolean
}

/** The identity of the credentials. Only the brokerage is pinned, since key rotation changes the rest. */
export interface Identity {
  /** `api_client`, `user` or another value. */
  readonly kind: string
  /** The brokerage's id, else its name, else its JSON. */
  readonly brokerage: string
  /** The credential's public id; null if unknown. */
  readonly clientId: string | null
  /** Name of the credential or user. */
  readonly label: string | null
  /** Codes of active states; null for all. */
  readonly activeStates: readonly string[] | null
  /** The granted scopes, if known. */
  readonly scopes?: readonly string[]
}

/**
 * @param list the key of the page's items.
 * @returns null if `raw` isn't a page.
 */
export function readPage(raw: unknown, list: 'events' | 'messages'): FeedPage<unknown> | null {
  const items = itemsIn(raw, list)
  if (items === null || !isObject(raw)) return null
  const { next_cursor: next } = raw
  // A cursor is opaque, but both databases must store it exactly (trap 5).
  const isEnd = next === null || next === undefined
  if (!isEnd && (typeof next !== 'string' || next !== storableText(next))) return null
  return { items, nextCursor: isEnd ? null : next, isEndConfirmed: next === null }
}

/** Reads `GET /broker/me`; null without kind or brokerage. */
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

/** Reads a token answer; null without a usable token. */
export function readToken(raw: unknown): FetchedToken | null {
  const read = readTokenAnswer(raw)
  return read && { token: read.token, expiresInSeconds: tokenLifeSeconds(read.expiresInSeconds) }
}

// Undefined in the spec: text, as for tokens, or a list.
function scopesOf(value: unknown): readonly string[] | null {
  const words =
    typeof value === 'string' ? value.split(/[\s,]+/) : Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []
  const scopes = words.filter((word) => /^[\x21-\x7e]{1,64}$/.test(word))
  return scopes.length > 0 ? scopes : null
}

function textsOf(value: unknown): readonly string[] | null {
  return Array.isArray(value) ? value.flatMap((item) => textOf(item) ?? []) : null
}

// The spec doesn't define `brokerage`: text, or an object with or without an id.
function brokerageOf(value: unknown): string | null {
  if (!isObject(value)) return idOf(value)
  for (const key of ['id', 'name', 'slug']) {
    const given = typeof value[key] === 'number' ? String(value[key]) : idOf(value[key])
    if (given !== null) return given
  }
  const whole = Object.keys(value).length > 0 ? jsonOf(value) : null
  return whole === null ? null : canonicalJson(whole)
}

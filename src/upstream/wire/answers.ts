import { z } from 'zod'
import { canonicalJson, isObject, storableText } from '../../model/json.ts'
import { parseJson } from '../http/answer.ts'
import { id, idOf, jsonOf, optional, required, textOf } from './fields.ts'

/** Readers of the answers that are no records: a page of a feed, who we are, and a token. */

/** One page of a feed. `nextCursor` null: the feed ends here (trap 1: never the number of items). */
export interface FeedPage<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

/** Who the credential is. Only the brokerage is pinned: clients and labels change when keys rotate. */
export interface Identity {
  /** `api_client` or `user`, or whatever the service says. */
  readonly kind: string
  /** What tells this brokerage from others: its id, else its name, else all that the service says of it, as text. See `isSameBrokerage`. */
  readonly brokerage: string
  /** The public id of the credential, when the service gives it. */
  readonly clientId: string | null
  /** The scopes that are granted, when the service says. */
  readonly scopes?: readonly string[]
}

/** A token and how long it may be used, in seconds. */
export interface TokenAnswer {
  readonly accessToken: string
  readonly lifetimeSeconds: number
}

/** Access tokens live 60 minutes; none is trusted for longer, whatever the answer says (trap 38). */
const LONGEST_LIFETIME_SECONDS = 3600

// A cursor must survive being stored as text on both databases and being sent in a URL; it is opaque otherwise (trap 5).
const cursor = z.string().refine((value) => value === storableText(value))

const pageFields = { next_cursor: cursor.nullish() }
const pages = {
  events: z.looseObject({ ...pageFields, events: z.array(z.unknown()) }),
  messages: z.looseObject({ ...pageFields, messages: z.array(z.unknown()) }),
}

const identity = z.looseObject({ kind: required(textOf), brokerage: required(brokerageOf), client_id: id, id, scope: optional(scopesOf) })

const token = z.looseObject({
  // Nothing that would break the header in which it is sent.
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  expires_in: optional(secondsOf),
})

/**
 * Reads a page of a feed.
 * @param list the name under which the page keeps its items.
 * @returns null when `raw` is no such page. An empty cursor would mean the beginning again, so it ends the feed like null.
 */
export function readPage(raw: unknown, list: 'events' | 'messages'): FeedPage<unknown> | null {
  const page = pages[list].safeParse(raw).data
  if (!page) return null
  return { items: page[list] as readonly unknown[], nextCursor: page.next_cursor || null }
}

/** Reads the answer of `GET /broker/me`; null when it does not name a kind and a brokerage. */
export function readIdentity(raw: unknown): Identity | null {
  const read = identity.safeParse(raw).data
  if (!read) return null
  const { kind, brokerage, scope } = read
  return { kind, brokerage, clientId: read.client_id ?? read.id, ...(scope && { scopes: scope }) }
}

/** Reads the answer of the token endpoint; null when it holds no usable token. Everything but the token may be missing. */
export function readToken(raw: unknown): TokenAnswer | null {
  const read = token.safeParse(raw).data
  if (!read) return null
  return { accessToken: read.access_token, lifetimeSeconds: Math.min(read.expires_in ?? Infinity, LONGEST_LIFETIME_SECONDS) }
}

// Its shape is not shown: one text, as a token's is, or a list.
function scopesOf(value: unknown): readonly string[] | null {
  const words =
    typeof value === 'string' ? value.split(/[\s,]+/) : Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []
  const scopes = words.filter((word) => /^[\x21-\x7e]{1,64}$/.test(word))
  return scopes.length > 0 ? scopes : null
}

function secondsOf(value: unknown): number | null {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof seconds === 'number' && seconds > 0 ? seconds : null
}

/**
 * @param pinned the brokerage that an account was found to be once; of one without an id, earlier releases pinned all that was said.
 * @param brokerage as an answer tells it now.
 */
export function isSameBrokerage(pinned: string, brokerage: string): boolean {
  if (pinned === brokerage) return true
  const said = parseJson(pinned)
  return isObject(said) && brokerageOf(said) === brokerage
}

// The shape of `brokerage` is not shown: text, or an object that has an id or has not. What is said of it besides may change.
function brokerageOf(value: unknown): string | null {
  if (!isObject(value)) return idOf(value)
  for (const key of ['id', 'name', 'slug']) {
    const given = typeof value[key] === 'number' ? String(value[key]) : idOf(value[key])
    if (given !== null) return given
  }
  const whole = Object.keys(value).length > 0 ? jsonOf(value) : null
  return whole === null ? null : canonicalJson(whole)
}

import { isObject, type Json } from './json.ts'

/*
 * The spec calls no link stable: the service may sign each one for every answer. Signatures, expiry times and tokens are parameters, and
 * the path names the file. So only the part before the query and fragment identifies a link or is compared. Fetch from the newest link.
 */

/** Keys whose text is a link. */
const KEYS = '(?:\\w+_)?(?:url|uri|path|link|href)'
const LINK_KEY = new RegExp(`^${KEYS}$`)
/** A link with a query or a fragment in JSON text, without escaped characters. */
const LINK_IN_TEXT = new RegExp(`("${KEYS}":"[^"\\\\?#]*)[?#][^"\\\\]*"`, 'g')

/** @returns a link without its query and fragment. */
export function stableLink(link: string): string {
  return link.split(/[?#]/, 1)[0] ?? ''
}

/** @returns the value with each link, at any depth, cut to its stable part. */
export function withStableLinks(value: Json): Json {
  if (Array.isArray(value)) return value.map(withStableLinks)
  if (!isObject(value)) return value
  const stable = (key: string, item: Json) => (typeof item === 'string' && LINK_KEY.test(key) ? stableLink(item) : withStableLinks(item))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, stable(key, item as Json)]))
}

/** `withStableLinks` for JSON text, without parsing it. */
export function withStableLinksInText(json: string): string {
  return json.replace(LINK_IN_TEXT, '$1"')
}

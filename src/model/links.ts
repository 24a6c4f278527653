import { isObject, type Json } from './json.ts'

/*
 * The service may sign each link differently in every answer. Signatures, expiry times, and tokens are in the query or
 * the fragment. The path names the file.
 * So links are identified and compared only by the part before the query and fragment. Always fetch from
 * the newest link.
 */

/** Keys whose value is a link. */
const KEYS = '(?:\\w+_)?(?:url|uri|path|link|href)'
const LINK_KEY = new RegExp(`^${KEYS}$`)
/** Matches a link with a query or a fragment in JSON text. Links with escaped characters don't match. */
const LINK_IN_TEXT = new RegExp(`("${KEYS}":"[^"\\\\?#]*)[?#][^"\\\\]*"`, 'g')

/** @returns the link without its query and fragment. */
export function stableLink(link: string): string {
  return link.split(/[?#]/, 1)[0] ?? ''
}

/** @returns the value with all links, at any depth, cut before their query and fragment. */
export function withStableLinks(value: Json): Json {
  if (Array.isArray(value)) return value.map(withStableLinks)
  if (!isObject(value)) return value
  const stable = (key: string, item: Json) => (typeof item === 'string' && LINK_KEY.test(key) ? stableLink(item) : withStableLinks(item))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, stable(key, item as Json)]))
}

/** `withStableLinks` for JSON text. Doesn't parse the text. */
export function withStableLinksInText(json: string): string {
  return json.replace(LINK_IN_TEXT, '$1"')
}

import { bad, good, type Parsed } from './values.ts'

/** What may stand between two slashes: letters, digits and a few signs, or the name of a key in braces. */
const SEGMENT = /^(?:[A-Za-z0-9._~-]+|\{[a-z][a-z0-9_]{0,62}\})$/
const QUERY = /^[A-Za-z0-9._~=&%,:-]{1,500}$/

/**
 * A path to be probed for submission ids: below the base URL, with a query or without. A segment `{insured_id}` stands for every id
 * that another probed path shows under that key. Neither tokens nor the metered appetite reads are asked for (traps 44, 55).
 */
export function probePath(text: string): Parsed<string> {
  const [path = '', query, more] = text.split('?')
  const segments = path.split('/').slice(1)
  const plain = path.startsWith('/') && segments.length > 0 && segments.every((segment) => SEGMENT.test(segment) && !/^\.+$/.test(segment))
  if (!plain || path.length > 300 || more !== undefined || (query !== undefined && !QUERY.test(query)))
    return bad('must be a path below the base URL, such as /broker/insureds or /broker/insureds/{insured_id}, with a query or without')
  if (/^\/(?:oauth|broker\/appetite)(?:\/|$)/.test(path))
    return bad('must not be a path of /oauth or /broker/appetite, whose requests are exchanges of secrets or counted against a daily limit')
  if (segments.includes('{submission_id}')) return bad('must not hold {submission_id}: the ids of submissions are what is looked for')
  if (new Set(placeholders(path)).size > 1) return bad('must hold one {key} at most; name a path for each')
  return good(text)
}

/** The keys in braces of a path. */
function placeholders(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, key = '']) => key)
}

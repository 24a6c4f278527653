import { isReservedPath } from '../../base/service-http.ts'
import { isPlainPath } from './probe-path.ts'
import { invalid, ok, type Parsed } from './values.ts'

/**
 * Parses the path of an extra read: below the base URL, with or without a query, with `{submission_id}` or without. Token requests and the
 * metered appetite reads are refused (traps 44, 55, 76).
 */
export function extraPath(text: string): Parsed<string> {
  const example = '/broker/submissions/{submission_id}'
  if (!isPlainPath(text)) return invalid(`must be a path below the base URL, such as ${example}, with a query or without`)
  if (isReservedPath(text))
    return invalid('must not be a path of /oauth or /broker/appetite, whose requests exchange secrets or count against a daily limit')
  const others = [...text.matchAll(/\{(\w+)\}/g)].filter(([, key]) => key !== 'submission_id')
  return others.length === 0 ? ok(text) : invalid('must not contain another {key} than {submission_id}')
}

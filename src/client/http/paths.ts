import { isReservedPath, urlUnder } from '../../base/service-http.ts'
import { parseUuid } from '../../model/uuid.ts'

/**
 * @returns a path with its uuids in lower case (trap 78).
 * @throws RangeError if an id isn't a uuid.
 */
export function pathOf(parts: TemplateStringsArray, ...ids: readonly string[]): string {
  return parts.reduce((path, part, index) => path + uuidOf(ids[index - 1] ?? '') + part)
}

function uuidOf(text: string): string {
  const id = parseUuid(text)
  if (id === null) throw new RangeError(`Not a uuid: ${JSON.stringify(text.slice(0, 60))}`)
  return id
}

/** @throws RangeError if the URL isn't http or https, or has a query or fragment. */
export function checkBaseUrl(baseUrl: string): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') return
  const given = JSON.stringify(
    String(baseUrl)
      .replace(/\/\/[^/@]*@/, '//')
      .slice(0, 80),
  )
  throw new RangeError(`baseUrl must be an http or https URL like https://api.example/api/v1, without a query, not ${given}`)
}

type Query = Readonly<Record<string, string | number | undefined>>

/**
 * @returns the URL of a path below the base URL.
 * @param path begins with a slash and may have a query. The path is appended to the base URL's own path (trap 76).
 * @throws RangeError if the path leads outside the base URL. Otherwise the token could go to another host (trap 45).
 */
export function urlOf(baseUrl: string, path: string, query: Query = {}): string {
  const [plain = '', ...own] = path.split('?')
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as const]))
  const url = path.startsWith('/') ? urlUnder(baseUrl, plain, [...new URLSearchParams(own.join('?')), ...given]) : null
  if (url === null) throw new RangeError(`The path leads to another address: ${JSON.stringify(path.slice(0, 80))}`)
  return url.href
}

/**
 * @returns a `download_path` in the form that `urlOf` accepts.
 * @throws RangeError for paths of OAuth and paths with a daily limit (traps 44, 55).
 */
export function downloadPathOf(path: string): string {
  if (isReservedPath(path)) throw new RangeError(`Not a document path: ${JSON.stringify(path.slice(0, 80))}`)
  return path.startsWith('/') ? path : `/${path}`
}

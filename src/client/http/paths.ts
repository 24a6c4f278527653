import { isReservedPath, urlUnder } from '../../base/service-http.ts'
import { parseUuid } from '../../model/uuid.ts'

/**
 * @returns a path with its ids, each a uuid in lower case (trap 78).
 * @throws RangeError naming the id that is none.
 */
export function pathOf(parts: TemplateStringsArray, ...ids: readonly string[]): string {
  return parts.reduce((path, part, index) => path + uuidOf(ids[index - 1] ?? '') + part)
}

function uuidOf(text: string): string {
  const id = parseUuid(text)
  if (id === null) throw new RangeError(`not an id (a uuid): ${JSON.stringify(text.slice(0, 60))}`)
  return id
}

/** @throws RangeError for what no path of the service can be appended to. */
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
 * @param path with a slash at its beginning, below the base URL, whose own path stays (trap 76); it may have a query.
 * @returns the whole address.
 * @throws RangeError for a path that leads elsewhere: the token goes nowhere but to the service (trap 45).
 */
export function urlOf(baseUrl: string, path: string, query: Query = {}): string {
  const [plain = '', ...own] = path.split('?')
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as const]))
  const url = path.startsWith('/') ? urlUnder(baseUrl, plain, [...new URLSearchParams(own.join('?')), ...given]) : null
  if (url === null) throw new RangeError(`a path leads away from the service: ${JSON.stringify(path.slice(0, 80))}`)
  return url.href
}

/**
 * @returns a `download_path`, relative to the base URL with a slash before it or without, as `urlOf` takes it.
 * @throws RangeError for a path that exchanges secrets or counts against a daily limit (traps 44, 55).
 */
export function downloadPathOf(path: string): string {
  if (isReservedPath(path)) throw new RangeError(`no document is at ${JSON.stringify(path.slice(0, 80))}`)
  return path.startsWith('/') ? path : `/${path}`
}

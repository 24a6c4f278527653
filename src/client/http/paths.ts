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
 * @param path with a slash at its beginning, below the base URL, whose own path stays (trap 76).
 * @returns the whole address.
 * @throws RangeError for a path that leads elsewhere: the token goes nowhere but to the service (trap 45).
 */
export function urlOf(baseUrl: string, path: string, query: Query = {}): string {
  const base = new URL(`${baseUrl.replace(/\/+$/, '')}/`)
  const url = path.startsWith('/') && !hasUpward(path) ? new URL(path.slice(1), base) : null
  if (
    url === null ||
    /^\/*[a-z][a-z0-9+.-]*:|^\/\/|\\/i.test(path) ||
    url.origin !== base.origin ||
    !url.pathname.startsWith(base.pathname)
  ) {
    throw new RangeError(`a path leads away from the service: ${JSON.stringify(path.slice(0, 80))}`)
  }
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.append(name, String(value))
  return url.href
}

/** @returns a `download_path`, relative to the base URL with a slash before it or without, as `urlOf` takes it. */
export function downloadPathOf(path: string): string {
  return path.startsWith('/') ? path : `/${path}`
}

/** Whether a step of the path goes up, written plainly or not. */
function hasUpward(path: string): boolean {
  return /(^|[/\\]|%2f|%5c)(\.|%2e){1,2}($|[/\\?#]|%2f|%5c)/i.test(path)
}

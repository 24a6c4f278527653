import { isObject } from '../../model/json.ts'

/**
 * The template function `$url(base, step, …, query)`. Escapes all values.
 * @param base such as `https://host/path`.
 * @param rest path steps (text, numbers, or booleans). An object of query parameters may follow. A null parameter is
 * left out.
 * @throws Error if the base has a query or a fragment, or if a step is missing, empty, `.`, or `..`. Also if a step or
 * a parameter has another type. The error message contains no values.
 */
export function urlOf(base: unknown, ...rest: readonly unknown[]): string {
  if (typeof base !== 'string' || base === '') throw new Error('the base of $url is missing or not text')
  if (/[?#]/.test(base)) throw new Error('the base of $url must not contain a query or a fragment')
  const last = rest.at(-1)
  const query = isObject(last) ? last : {}
  const steps = isObject(last) ? rest.slice(0, -1) : rest
  const path = steps.map((step, index) => {
    const text = textOf(step)
    if (text === null || text === '' || text === '.' || text === '..') {
      throw new Error(`step ${index + 1} of $url must be text, and not empty, . or ..`)
    }
    return encodeURIComponent(text)
  })
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === null) return []
    const text = textOf(value)
    if (text === null) throw new Error(`${name} in the query of $url is not text`)
    return [`${encodeURIComponent(name)}=${encodeURIComponent(text)}`]
  })
  return `${[base.replace(/\/+$/, ''), ...path].join('/')}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value.toWellFormed()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

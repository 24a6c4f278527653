import type { HttpDestination, RequestTemplate } from '../../config/config.ts'

/** A JSONata expression of a destination's settings. `name` is the path of the setting, such as `request.url`. */
export interface Expression {
  readonly name: string
  readonly text: string
}

export type RequestName = 'request' | 'update' | 'upload' | 'lookup' | 'check' | 'probe' | 'auth.request' | 'auth.refresh'

/**
 * Expressions that judge an answer, in order of precedence. The setting `suspend_on` is considered after `refused`
 * and before `success`.
 */
export const verdicts = ['throttled', 'duplicate', 'refused', 'success'] as const

export function allExpressions(destination: HttpDestination): Expression[] {
  const { request, update, upload, lookup, check, probe, remoteId, auth, batch } = destination
  const login = auth?.type === 'login' ? auth : null
  return [
    ...Object.entries({ request, update, upload, lookup, check, probe }).flatMap(([name, template]) =>
      expressionsOf(name as RequestName, template),
    ),
    ...expressionsOf('auth.request', login?.request),
    ...expressionsOf('auth.refresh', login?.refresh),
    ...named({
      'lookup.found': lookup?.found,
      'check.found': check?.found,
      'check.same': check?.same,
      ...Object.fromEntries([...verdicts, 'error' as const].map((name) => [name, destination[name]])),
      'auth.token': login?.token,
      'auth.expires_in': login?.expiresIn,
      'auth.refresh_token': login?.refreshToken,
      'batch.result': batch?.result,
      remote_id: remoteId,
    }),
  ]
}

function named(texts: Readonly<Record<string, string | null | undefined>>): Expression[] {
  return Object.entries(texts).flatMap(([name, text]) => (text === null || text === undefined ? [] : [{ name, text }]))
}

/** @returns one request's expressions: the URL, the body if there is one, then the headers in order. */
export function expressionsOf(name: RequestName, template: RequestTemplate | null | undefined): Expression[] {
  const headers = Object.entries(template?.headers ?? {}).map(([header, text]): [string, string] => [headerName(name, header), text])
  return named({ [`${name}.url`]: template?.url, [`${name}.body`]: template?.body, ...Object.fromEntries(headers) })
}

export function headerName(name: RequestName, header: string): string {
  return `${name}.headers.${header}`
}

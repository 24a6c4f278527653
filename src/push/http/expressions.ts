import type { AuthConfig, HttpDestination, RequestTemplate } from '../../config/config.ts'

/** A JSONata expression of a destination's settings. Its name is its place there. */
export interface Expression {
  readonly name: string
  readonly text: string
}

/** Which of a destination's requests. */
export type RequestName = 'request' | 'update' | 'upload' | 'lookup' | 'check' | 'probe' | 'auth.request' | 'auth.refresh'

/** The expressions that judge an answer, in the order in which they count. `suspend_on` stands before `success`. */
export const verdicts = ['throttled', 'duplicate', 'refused', 'success'] as const

/** @returns every expression of the destination, including those of its requests. */
export function allExpressions(destination: HttpDestination): Expression[] {
  const { request, update, upload, lookup, check, probe, remoteId, auth, batch } = destination
  return [
    ...expressionsOf('request', request),
    ...(update === null ? [] : expressionsOf('update', update)),
    ...(upload === null ? [] : expressionsOf('upload', upload)),
    ...(lookup === null ? [] : [...expressionsOf('lookup', lookup), { name: 'lookup.found', text: lookup.found }]),
    ...(check === null ? [] : checkExpressions(check)),
    ...(probe === null ? [] : expressionsOf('probe', probe)),
    ...[...verdicts, 'error' as const].flatMap((name) => (destination[name] === null ? [] : [{ name, text: destination[name] }])),
    ...(auth?.type === 'login' ? loginExpressions(auth) : []),
    ...(batch === null ? [] : [{ name: 'batch.result', text: batch.result }]),
    ...(remoteId === null ? [] : [{ name: 'remote_id', text: remoteId }]),
  ]
}

function checkExpressions(check: NonNullable<HttpDestination['check']>): Expression[] {
  const same = check.same === null ? [] : [{ name: 'check.same', text: check.same }]
  return [...expressionsOf('check', check), { name: 'check.found', text: check.found }, ...same]
}

function loginExpressions({ request, token, expiresIn, refresh, refreshToken }: Extract<AuthConfig, { type: 'login' }>): Expression[] {
  return [
    ...expressionsOf('auth.request', request),
    { name: 'auth.token', text: token },
    ...(expiresIn === null ? [] : [{ name: 'auth.expires_in', text: expiresIn }]),
    ...(refresh === null ? [] : expressionsOf('auth.refresh', refresh)),
    ...(refreshToken === null ? [] : [{ name: 'auth.refresh_token', text: refreshToken }]),
  ]
}

/** @returns the expressions of one request: URL, body if there is one, then headers in their order. */
export function expressionsOf(name: RequestName, template: RequestTemplate): Expression[] {
  return [
    { name: `${name}.url`, text: template.url },
    ...(template.body === null ? [] : [{ name: `${name}.body`, text: template.body }]),
    ...Object.entries(template.headers).map(([header, text]) => ({ name: headerName(name, header), text })),
  ]
}

/** @returns the name of a header's expression. */
export function headerName(name: RequestName, header: string): string {
  return `${name}.headers.${header}`
}

import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { announceRefusal } from '../api/announce.ts'
import { answered, api, Refusal, type Role, reasonOf } from '../api/client.ts'
import { forgetAll, methodsQuery, sessionQuery } from '../api/queries.ts'

/** @returns whether the one who is signed in may do what takes `needed`. */
export function useMay(needed: Role): boolean {
  const { data } = useQuery(sessionQuery)
  return data?.may.includes(needed) ?? false
}

export async function signIn(token: string): Promise<void> {
  await answered(api.POST('/api/v1/session', { body: { token } }))
}

export function useSignOut(): () => Promise<void> {
  const client = useQueryClient()
  return async () => {
    try {
      await answered(api.DELETE('/api/v1/session'))
    } catch (error) {
      // Of a session that has ended nobody needs to sign out.
      if (!(error instanceof Refusal && error.status === 401)) return announceRefusal(`You are still signed in: ${reasonOf(error)}`)
    }
    client.setQueryData(sessionQuery.queryKey, null)
    forgetAll(client)
  }
}

const RETURN_TO = 'submission-mirror.return-to'

/** Keeps the address of the page that was asked for while one signs in elsewhere: from there one comes back to the first page. */
export function keepAddress(): void {
  sessionStorage.setItem(RETURN_TO, `${location.pathname}${location.search}${location.hash}`)
}

/** Goes on with the page that was asked for before one signed in elsewhere. */
export function returnToAddress(): void {
  const address = sessionStorage.getItem(RETURN_TO)
  sessionStorage.removeItem(RETURN_TO)
  if (address !== null) history.replaceState(null, '', address)
}

/** Takes the token out of an address that brings one behind its `#`, which no server is sent. */
export function takeTokenFromAddress(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token !== null) history.replaceState(null, '', `${location.pathname}${location.search}`)
  return token
}

/**
 * Signs in with the token of the address, in the demo only. Elsewhere the form is filled in with it: a foreign page could open the address,
 * and a person would then work under the name of another.
 */
export async function signInByAddress(client: QueryClient, token: string): Promise<void> {
  const methods = await client.fetchQuery(methodsQuery).catch(() => null)
  if (methods?.link) await signIn(token).catch(() => undefined)
}

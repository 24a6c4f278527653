import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { announceError } from '../api/announce.ts'
import { ApiError, api, type Role, reasonOf, unwrap } from '../api/client.ts'
import { forgetAll, methodsQuery, sessionQuery } from '../api/queries.ts'

/** @returns whether the user has this role or a higher role. */
export function useMay(role: Role): boolean {
  const { data } = useQuery(sessionQuery)
  return data?.may.includes(role) ?? false
}

export async function signIn(token: string): Promise<void> {
  await unwrap(api.POST('/api/v1/session', { body: { token } }))
}

export function useSignOut(): () => Promise<void> {
  const client = useQueryClient()
  return async () => {
    try {
      await unwrap(api.DELETE('/api/v1/session'))
    } catch (error) {
      // If the session has expired, the user is already signed out.
      if (!(error instanceof ApiError && error.status === 401)) return announceError(`You are still signed in: ${reasonOf(error)}`)
    }
    client.setQueryData(sessionQuery.queryKey, null)
    forgetAll(client)
  }
}

const RETURN_TO = 'submission-mirror.return-to'

/**
 * Stores the current address before the user leaves to sign in at an identity provider. The provider returns the user
 * to the first page; `returnToAddress` then restores the address.
 */
export function keepAddress(): void {
  sessionStorage.setItem(RETURN_TO, `${location.pathname}${location.search}${location.hash}`)
}

export function returnToAddress(): void {
  const address = sessionStorage.getItem(RETURN_TO)
  sessionStorage.removeItem(RETURN_TO)
  if (address !== null) history.replaceState(null, '', address)
}

/**
 * Removes the token from the `#` part of the address. Browsers don't send this part to a server.
 * @returns the token; null if the address contains no token.
 */
export function takeTokenFromAddress(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token !== null) history.replaceState(null, '', `${location.pathname}${location.search}`)
  return token
}

/**
 * Signs in with the token that was in the address. Works only in the demo. Elsewhere, a link on another site could sign
 * the user in as someone else.
 */
export async function signInByAddress(client: QueryClient, token: string): Promise<void> {
  const methods = await client.fetchQuery(methodsQuery).catch(() => null)
  if (methods?.link) await signIn(token).catch(() => undefined)
}

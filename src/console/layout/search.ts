import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

/** The query string of a page. A filter that isn't set is missing. */
export type ListSearch = Readonly<Partial<Record<string, string>>>

/** @returns a filter for rows of the account in the address. A row without an account always passes; alarms use '' for no account. */
export function useOfAccount(): (row: { readonly account?: string | null | undefined }) => boolean {
  const [{ account: chosen }] = useAddress()
  return ({ account }) => chosen === undefined || !account || account === chosen
}

export function useAddress(): readonly [ListSearch, (change: ListSearch) => void] {
  const search: ListSearch = useSearch({ strict: false })
  const navigate = useNavigate()
  const set = useCallback(
    (change: ListSearch) =>
      void navigate({ to: '.', search: (old: ListSearch) => ({ ...old, ...change }), replace: true, resetScroll: false }),
    [navigate],
  )
  return [search, set]
}

import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

/** What stands in the query string of the lists: a filter that is not set is not in it. */
export type ListSearch = Readonly<Partial<Record<string, string>>>

/** What fits the account that the address names; what is of no account fits always. */
export function useOfAccount(): (row: { readonly account?: string | null | undefined }) => boolean {
  const [{ account: chosen }] = useAddress()
  return ({ account }) => chosen === undefined || account === undefined || account === null || account === chosen
}

/** Filters and sorting, as they stand in the address, and how to change them. */
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

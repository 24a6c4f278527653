import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

/** Query parameters in the address of a page. A filter that isn't set has no parameter. */
export type ListSearch = Readonly<Partial<Record<string, string>>>

/**
 * @returns a function that tests whether to show a row for the account in the address. If the address names no account,
 * all rows are shown. A row without an account is always shown. An alarm without an account has the account ''.
 */
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

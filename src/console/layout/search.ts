import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'
import type { ListSearch } from '../router.tsx'

/** Filters and sorting, as they stand in the address, and how to change them. */
export function useAddress(): readonly [ListSearch, (change: ListSearch) => void] {
  const search: ListSearch = useSearch({ strict: false })
  const navigate = useNavigate()
  const set = useCallback(
    (change: ListSearch) => void navigate({ to: '.', search: (old: ListSearch) => ({ ...old, ...change }), replace: true }),
    [navigate],
  )
  return [search, set]
}

import { useQuery } from '@tanstack/react-query'
import { overviewQuery } from '../api/queries.ts'
import { Choice } from '../parts/fields.tsx'
import { useAddress } from './search.ts'

/** Chooses the account that pages are narrowed to; it stands in the address of each. Nothing where there is one account. */
export function AccountSwitch() {
  const [search, set] = useAddress()
  const { data: overview } = useQuery(overviewQuery)
  const accounts = overview?.accounts.map(({ account }) => account) ?? []
  if (accounts.length < 2) return null
  return (
    <div className="account-switch">
      <Choice
        label="Account"
        all="All accounts"
        value={search['account'] ?? ''}
        options={accounts.map((each) => [each, each])}
        onChange={(account) => set({ account })}
      />
    </div>
  )
}

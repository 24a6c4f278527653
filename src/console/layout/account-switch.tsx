import { useQuery } from '@tanstack/react-query'
import { overviewQuery } from '../api/queries.ts'
import { Choice } from '../parts/fields.tsx'
import { useAddress } from './search.ts'

/** Chooses the account that every page shows. Hidden if there is one account, unless the address names one: a filter is always visible. */
export function AccountSwitch() {
  const [search, set] = useAddress()
  const { data: overview } = useQuery(overviewQuery)
  const { account: chosen = '' } = search
  const known = overview?.accounts.map(({ account }) => account) ?? []
  if (known.length < 2 && chosen === '') return null
  const accounts = chosen === '' || known.includes(chosen) ? known : [...known, chosen]
  return (
    <div className="account-switch">
      <Choice
        label="Account"
        all="All accounts"
        value={chosen}
        options={accounts.map((each) => [each, each])}
        onChange={(account) => set({ account })}
      />
    </div>
  )
}

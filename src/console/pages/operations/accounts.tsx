import { useQuery } from '@tanstack/react-query'
import { useAction } from '../../api/action.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { accountsQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { ActionButton } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { QueryTable } from '../../parts/query-table.tsx'
import { DASH } from '../../parts/states.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Account = Schemas['Account']

export function Accounts() {
  const query = useQuery(accountsQuery)
  const isOfAccount = useOfAccount()
  return (
    <Section id="accounts" title="Accounts">
      <QueryTable
        query={query}
        label="Accounts"
        columns={columns}
        keyOf={({ account }) => account}
        keep={isOfAccount}
        empty="No accounts yet."
      />
    </Section>
  )
}

function Resume({ account }: { readonly account: string }) {
  const resume = useAction({
    run: () => unwrap(api.POST('/api/v1/accounts/{name}/resume', { params: { path: { name: account } } })),
    done: ({ at_once }) => (at_once ? `${account} resumed.` : `${account} resumes when a process starts.`),
  })
  return <ActionButton action={resume}>Resume</ActionButton>
}

const columns: readonly Column<Account>[] = [
  { id: 'account', head: 'Account', cell: ({ account }) => account },
  { id: 'state', head: 'State', cell: ({ state }) => <Chip word={state} /> },
  {
    id: 'why',
    head: 'Reason',
    isOnPhone: true,
    isWide: true,
    rank: 2,
    cell: ({ reason }) => <span title={reason ?? undefined}>{reason ?? DASH}</span>,
  },
  {
    id: 'credentials',
    head: 'Credential, last sign-in',
    isOnPhone: true,
    rank: 2,
    cell: ({ credentials }) =>
      credentials.length === 0
        ? DASH
        : credentials.map(({ client_id, is_in_use, last_token_at }) => (
            <span key={client_id} className="pair" title={is_in_use ? 'in use' : undefined}>
              <span className="mono">{client_id}</span>: <Age at={last_token_at} none="never" />
            </span>
          )),
  },
  {
    id: 'secrets',
    head: 'Webhook secrets, last use',
    isOnPhone: true,
    rank: 3,
    cell: ({ webhook_secrets }) =>
      webhook_secrets.map(({ position, last_verified_at }) => (
        <span key={position} className="pair">
          {position}: <Age at={last_verified_at} none="never" />
        </span>
      )),
  },
  { id: 'since', head: 'Since', isNumber: true, cell: ({ since }) => <Age at={since} /> },
  {
    id: 'do',
    head: '',
    holds: 'buttons',
    isNumber: true,
    cell: ({ account, state }) => (state === 'paused' || state === 'suspended' ? <Resume account={account} /> : null),
  },
]

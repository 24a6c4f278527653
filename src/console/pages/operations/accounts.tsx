import { useQuery } from '@tanstack/react-query'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { accountsQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { Listed } from '../../parts/listed.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Account = Schemas['Account']

/** The accounts at the service, with their credentials and secrets by name and last use. */
export function Accounts() {
  const query = useQuery(accountsQuery)
  const isOfAccount = useOfAccount()
  return (
    <Section id="accounts" title="Accounts">
      <Listed
        query={query}
        loading={2}
        label="Accounts"
        columns={columns}
        keyOf={({ account }) => account}
        keep={isOfAccount}
        empty="There is no account yet."
      />
    </Section>
  )
}

function Resume({ account }: { readonly account: string }) {
  const resume = useAction({
    run: () => answered(api.POST('/api/v1/accounts/{name}/resume', { params: { path: { name: account } } })),
    done: ({ at_once }) => (at_once ? `${account} tries now.` : `${account} goes on with the next process that runs.`),
  })
  return (
    <Button needs="operator" isSmall isBusy={resume.isPending} onClick={() => resume.mutate()}>
      Resume
    </Button>
  )
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
    cell: ({ reason }) => <span title={reason ?? undefined}>{reason ?? <span className="quiet">–</span>}</span>,
  },
  {
    id: 'credentials',
    head: 'Credentials, last token',
    isOnPhone: true,
    rank: 2,
    cell: ({ credentials }) =>
      credentials.length === 0 ? (
        <span className="quiet">–</span>
      ) : (
        credentials.map(({ client_id, is_in_use, last_token_at }) => (
          <span key={client_id} className="pair" title={is_in_use ? 'the one in use' : undefined}>
            <span className="mono">{client_id}</span>: <Age at={last_token_at} none="never" />
          </span>
        ))
      ),
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

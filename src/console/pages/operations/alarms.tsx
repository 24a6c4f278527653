import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { headOf, wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { alarmHistoryQuery, alarmsQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { ActionButton } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { QueryTable } from '../../parts/query-table.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { DASH } from '../../parts/states.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Alarm = Schemas['Alarm']

export function Alarms() {
  const query = useQuery(alarmsQuery)
  const test = useAction({
    run: () => unwrap(api.POST('/api/v1/alarms/test', { body: {} })),
    done: ({ items }) =>
      items.length === 0 ? 'No alert recipients are configured.' : items.map(({ operator, text }) => `${operator}: ${text}`).join('; '),
  })
  const isOfAccount = useOfAccount()
  return (
    <Section id="alarms" title="Alarms" actions={<ActionButton action={test}>Send test alarm</ActionButton>}>
      <QueryTable
        query={query}
        label="Alarms"
        columns={columns}
        keyOf={({ name, account, destination }) => `${name}/${account}/${destination}`}
        keep={isOfAccount}
        empty="No active alarms."
      />
      <History />
    </Section>
  )
}

function History() {
  const query = useInfiniteQuery(alarmHistoryQuery)
  return (
    <>
      <h3>Alarm history</h3>
      <QueryTable
        query={query}
        label="Alarm history"
        columns={episodeColumns}
        keyOf={({ episode_id }) => String(episode_id)}
        empty="No alarms in the retained history."
        more="Show earlier alarms"
      />
    </>
  )
}

function Acknowledge({ alarm: { name, account, destination } }: { readonly alarm: Alarm }) {
  const about = { ...(account && { account }), ...(destination && { destination }) }
  const acknowledge = useAction({
    run: () => unwrap(api.POST('/api/v1/alarms/acknowledge', { body: { name, ...about } })),
    done: ({ acknowledged }) =>
      acknowledged === 0
        ? `Alarm “${wordOf(name)}” was already acknowledged.`
        : `Alarm “${wordOf(name)}” acknowledged. It stays active until resolved.`,
  })
  return (
    <ActionButton action={acknowledge} label={`Acknowledge ${[wordOf(name), account, destination].filter(Boolean).join(' ')}`}>
      Acknowledge
    </ActionButton>
  )
}

function Acknowledged({ by, at }: { readonly by: string | null; readonly at: string | null }) {
  if (by === null) return DASH
  return (
    <span>
      {by}, <Age at={at} />
    </span>
  )
}

const aboutOf = ({ account, destination }: Pick<Alarm, 'account' | 'destination'>) =>
  [account, destination].filter(Boolean).join(' · ') || '–'

const TEXT: Column<Pick<Alarm, 'text'>> = {
  id: 'text',
  head: headOf('text'),
  isWide: true,
  isOnPhone: true,
  rank: 2,
  cell: ({ text }) => (
    <span title={text}>
      <Sentence text={text} />
    </span>
  ),
}

const columns: readonly Column<Alarm>[] = [
  {
    id: 'state',
    head: 'State',
    cell: ({ state, severity }) => (
      <Chip word={state} tone={state === 'firing' ? (severity === 'critical' ? 'bad' : 'waiting') : 'unknown'} />
    ),
  },
  { id: 'name', head: 'Alarm', cell: ({ name }) => wordOf(name) },
  { id: 'of', head: 'Account or destination', rank: 2, isOnPhone: true, cell: aboutOf },
  TEXT,
  { id: 'since', head: 'Since', isNumber: true, cell: ({ since }) => <Age at={since} /> },
  { id: 'over', head: headOf('resolved_at'), isNumber: true, rank: 3, cell: ({ resolved_at }) => <Age at={resolved_at} /> },
  {
    id: 'acknowledged',
    head: headOf('acknowledged_by'),
    holds: 'buttons',
    cell: (alarm) =>
      alarm.state === 'firing' && alarm.acknowledged_by === null ? (
        <Acknowledge alarm={alarm} />
      ) : (
        <Acknowledged by={alarm.acknowledged_by} at={alarm.acknowledged_at} />
      ),
  },
]

const episodeColumns: readonly Column<Schemas['AlarmEpisode']>[] = [
  { id: 'name', head: 'Alarm', cell: ({ name }) => wordOf(name) },
  { id: 'of', head: 'Account or destination', rank: 2, isOnPhone: true, cell: aboutOf },
  { ...TEXT, rank: 3 },
  { id: 'fired', head: headOf('fired_at'), isNumber: true, cell: ({ fired_at }) => <Age at={fired_at} /> },
  { id: 'ended', head: headOf('resolved_at'), isNumber: true, cell: ({ resolved_at }) => <Age at={resolved_at} none="active" /> },
  {
    id: 'acknowledged',
    head: headOf('acknowledged_by'),
    rank: 2,
    cell: ({ acknowledged_by, acknowledged_at }) => <Acknowledged by={acknowledged_by} at={acknowledged_at} />,
  },
]

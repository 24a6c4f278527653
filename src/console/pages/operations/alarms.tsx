import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { headOf, wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { alarmHistoryQuery, alarmsQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { Listed } from '../../parts/listed.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Alarm = Schemas['Alarm']

/** What fires, who took note of it, and when each fired and ended before. */
export function Alarms() {
  const query = useQuery(alarmsQuery)
  const test = useAction({
    run: () => answered(api.POST('/api/v1/alarms/test', { body: {} })),
    done: ({ items }) =>
      items.length === 0 ? 'No operator is set who could be told.' : items.map(({ operator, text }) => `${operator}: ${text}`).join('; '),
  })
  const isOfAccount = useOfAccount()
  const button = (
    <Button needs="operator" isSmall isBusy={test.isPending} onClick={() => test.mutate()}>
      Send a test message
    </Button>
  )
  return (
    <Section id="alarms" title="Alarms" actions={button}>
      <Listed
        query={query}
        loading={2}
        label="Alarms"
        columns={columns}
        keyOf={({ name, account, destination }) => `${name}/${account}/${destination}`}
        keep={isOfAccount}
        empty="No alarm fires."
      />
      <History />
    </Section>
  )
}

function History() {
  const query = useInfiniteQuery(alarmHistoryQuery)
  return (
    <>
      <h3>History of alarms</h3>
      <Listed
        query={query}
        loading={2}
        label="History of alarms"
        columns={episodeColumns}
        keyOf={({ episode_id }) => String(episode_id)}
        empty="No alarm has fired for as long as the history is kept."
        more="Show earlier alarms"
      />
    </>
  )
}

function Acknowledge({ alarm: { name, account, destination } }: { readonly alarm: Alarm }) {
  const about = { ...(account && { account }), ...(destination && { destination }) }
  const acknowledge = useAction({
    run: () => answered(api.POST('/api/v1/alarms/acknowledge', { body: { name, ...about } })),
    done: ({ acknowledged }) =>
      acknowledged === 0
        ? `Somebody took note of ${wordOf(name)} before.`
        : `Noted: you know of ${wordOf(name)}. It fires until its cause ends.`,
  })
  return (
    <Button
      needs="operator"
      isSmall
      isBusy={acknowledge.isPending}
      label={`Acknowledge ${[wordOf(name), account, destination].filter(Boolean).join(' ')}`}
      onClick={() => acknowledge.mutate()}
    >
      Acknowledge
    </Button>
  )
}

function Noted({ by, at }: { readonly by: string | null; readonly at: string | null }) {
  if (by === null) return <span className="quiet">–</span>
  return (
    <span>
      {by}, <Age at={at} />
    </span>
  )
}

const aboutOf = ({ account, destination }: Pick<Alarm, 'account' | 'destination'>) =>
  [account, destination].filter(Boolean).join(' · ') || '–'

const columns: readonly Column<Alarm>[] = [
  {
    id: 'state',
    head: 'State',
    cell: ({ state, severity }) => (
      <Chip word={state} tone={state === 'firing' ? (severity === 'critical' ? 'bad' : 'waiting') : 'unknown'} />
    ),
  },
  { id: 'name', head: 'Alarm', cell: ({ name }) => wordOf(name) },
  { id: 'of', head: 'About', rank: 2, isOnPhone: true, cell: aboutOf },
  {
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
  },
  { id: 'since', head: 'Since', isNumber: true, cell: ({ since }) => <Age at={since} /> },
  { id: 'over', head: headOf('resolved_at'), isNumber: true, rank: 3, cell: ({ resolved_at }) => <Age at={resolved_at} /> },
  {
    id: 'noted',
    head: headOf('acknowledged_by'),
    holds: 'buttons',
    cell: (alarm) =>
      alarm.state === 'firing' && alarm.acknowledged_by === null ? (
        <Acknowledge alarm={alarm} />
      ) : (
        <Noted by={alarm.acknowledged_by} at={alarm.acknowledged_at} />
      ),
  },
]

const episodeColumns: readonly Column<Schemas['AlarmEpisode']>[] = [
  { id: 'name', head: 'Alarm', cell: ({ name }) => wordOf(name) },
  { id: 'of', head: 'About', rank: 2, isOnPhone: true, cell: aboutOf },
  {
    id: 'text',
    head: headOf('text'),
    isWide: true,
    isOnPhone: true,
    rank: 3,
    cell: ({ text }) => (
      <span title={text}>
        <Sentence text={text} />
      </span>
    ),
  },
  { id: 'fired', head: headOf('fired_at'), isNumber: true, cell: ({ fired_at }) => <Age at={fired_at} /> },
  { id: 'ended', head: headOf('resolved_at'), isNumber: true, cell: ({ resolved_at }) => <Age at={resolved_at} none="still on" /> },
  {
    id: 'noted',
    head: headOf('acknowledged_by'),
    rank: 2,
    cell: ({ acknowledged_by, acknowledged_at }) => <Noted by={acknowledged_by} at={acknowledged_at} />,
  },
]

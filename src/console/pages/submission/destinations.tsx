import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/client.ts'
import { outboxQuery } from '../../api/queries.ts'
import { Chip, type Tone } from '../../parts/chip.tsx'
import { Facts, Section, StyledText } from '../../parts/fields.tsx'
import { count, counted } from '../../parts/numbers.ts'
import { QueryTable } from '../../parts/query-table.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age, Moment, WordAndAge } from '../../parts/time.tsx'
import type { View } from './view.tsx'

type Push = Schemas['OutboxRow']
type Reached = Schemas['ReachedDestination']

export function Destinations({ view }: { readonly view: View }) {
  const { account, submission_id } = view.summary
  const query = useInfiniteQuery(outboxQuery({ account, submission_id, limit: 10 }))
  const needing = new Set(view.reached.filter(({ mapping }) => mapping !== 'none').map(({ destination }) => destination))
  const clients = view.clients.filter(({ destination, client }) => client !== null || needing.has(destination))
  return (
    <Section id="destinations" title="Pushes to destinations">
      {view.reached.length > 0 && (
        <ul className="lines">
          {view.reached.map((reached) => (
            <ReachedLine key={reached.destination} reached={reached} />
          ))}
        </ul>
      )}
      {clients.length > 0 && (
        <Facts
          items={clients.map(({ destination, client, policy }) => [
            `Client at ${destination}`,
            client === null ? (
              <StyledText key={destination} className="quiet" text="not mapped" />
            ) : (
              [client, policy].filter(Boolean).join(' · ')
            ),
          ])}
        />
      )}
      <QueryTable
        query={query}
        label="Pushes to destinations"
        columns={columns}
        keyOf={({ outbox_id }) => String(outbox_id)}
        empty="No recent pushes."
        more="Show earlier pushes"
      />
    </Section>
  )
}

/**
 * @returns `stuck` and `open`: how many of the submission's changes are stuck or waiting at the destination.
 * `tone` and `word`: color and word of the chip.
 */
function statusOf(r: Reached) {
  const stuck = r.dead + r.unknown + r.unmapped + r.held
  const open = r.waiting + r.not_queued
  const [tone, word]: readonly [Tone, string] =
    r.lacks > 0
      ? ['bad', 'incomplete']
      : stuck > 0
        ? ['bad', 'stuck']
        : open > 0
          ? ['waiting', 'waiting']
          : r.delivered > 0
            ? ['good', isVerified(r) ? 'verified' : 'delivered']
            : ['unknown', 'nothing sent']
  return { stuck, open, tone, word }
}

function isVerified({ delivered, has }: Reached): boolean {
  return delivered > 0 && has >= delivered
}

export function ReachedText({ reached }: { readonly reached: Reached }) {
  const { stuck, open } = statusOf(reached)
  const { delivered, last_delivered_at, lacks, verified_at } = reached
  if (stuck + open === 0 && delivered === 0) return <>nothing sent</>
  if (lacks > 0) return <WordAndAge word={`lacks ${counted(lacks, 'change')}, verified`} at={verified_at} />
  if (stuck + open > 0)
    return <>{[stuck > 0 && `${counted(stuck, 'change')} stuck`, open > 0 && `${count(open)} waiting`].filter(Boolean).join(', ')}</>
  const all = `${delivered > 1 ? 'all ' : ''}${counted(delivered, 'change')}`
  if (isVerified(reached)) return <WordAndAge word={`has ${all}, verified`} at={verified_at} />
  return <WordAndAge word={`${all} delivered,`} at={last_delivered_at} />
}

function ReachedLine({ reached: r }: { readonly reached: Reached }) {
  const { stuck, open, tone, word } = statusOf(r)
  return (
    <li>
      <span>
        <Link to="/destinations/$name" params={{ name: r.destination }}>
          {r.destination}
        </Link>{' '}
        {stuck + open + r.skipped === 0 ? <CompleteText reached={r} /> : <PartialText reached={r} />}
      </span>
      <span />
      <Chip word={word} tone={tone} />
    </li>
  )
}

function CompleteText({ reached }: { readonly reached: Reached }) {
  const { delivered, last_delivered_at, lacks, differs, verified_at } = reached
  if (delivered === 0) return <>received no recent changes.</>
  const all = delivered === 1 ? '1 change' : `all ${count(delivered)} changes`
  if (isVerified(reached))
    return (
      <>
        <WordAndAge word={`has ${all}, verified`} at={verified_at} />.
      </>
    )
  const wrong = [lacks > 0 && `lacks ${count(lacks)}`, differs > 0 && `has ${count(differs)} different from what was sent`].filter(Boolean)
  return (
    <>
      received {all}, last delivery <Moment at={last_delivered_at} />
      {wrong.length > 0 && <WordAndAge word={`, but ${wrong.join(' and ')}, verified`} at={verified_at} />}.
    </>
  )
}

function PartialText({ reached: r }: { readonly reached: Reached }) {
  const total = r.delivered + r.waiting + r.unmapped + r.held + r.dead + r.unknown + r.skipped
  const parts: readonly (readonly [n: number, text: string])[] = [
    [r.waiting, 'waiting'],
    [r.unmapped, 'waiting for a client'],
    [r.held, 'blocked by a stuck change'],
    [r.dead, 'dead'],
    [r.unknown, 'with unknown outcome'],
    [r.skipped, 'skipped'],
    [r.not_queued, 'newer not queued yet'],
  ]
  const texts = parts.flatMap(([n, text]) => (n > 0 ? [`${count(n)} ${text}`] : []))
  return (
    <>
      received {count(r.delivered)} of {counted(total, 'change')}
      {texts.length > 0 && `: ${texts.join(', ')}`}
      {r.oldest_waiting_at !== null && <WordAndAge word="; oldest queued" at={r.oldest_waiting_at} />}.
    </>
  )
}

const columns: readonly Column<Push>[] = [
  {
    id: 'destination',
    head: 'Destination',
    cell: ({ destination }) => (
      <Link to="/destinations/$name" params={{ name: destination }}>
        {destination}
      </Link>
    ),
  },
  { id: 'what', head: 'Change', isWide: true, cell: ({ entity, operation, seq }) => `${entity} ${operation} · change ${seq}` },
  { id: 'state', head: 'State', cell: ({ state }) => <Chip word={state} /> },
  { id: 'attempts', head: 'Attempts', isNumber: true, rank: 2, cell: ({ attempts }) => attempts },
  {
    id: 'at',
    head: 'When',
    isNumber: true,
    cell: ({ delivered_at, tried_at, queued_at }) => <Age at={delivered_at ?? tried_at ?? queued_at} />,
  },
]

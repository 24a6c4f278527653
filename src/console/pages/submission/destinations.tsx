import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Schemas } from '../../api/client.ts'
import { outboxQuery } from '../../api/queries.ts'
import { Chip, type Tone } from '../../parts/chip.tsx'
import { Facts, Section } from '../../parts/fields.tsx'
import { Listed } from '../../parts/listed.tsx'
import { count, counted } from '../../parts/numbers.ts'
import type { Column } from '../../parts/table.tsx'
import { Age, Moment } from '../../parts/time.tsx'
import type { View } from './view.ts'

type Push = Schemas['OutboxRow']
type Reached = Schemas['ReachedDestination']

/** What reached which destination, and whose client it is there. */
export function Destinations({ view }: { readonly view: View }) {
  const { account, submission_id } = view.summary
  const query = useInfiniteQuery(outboxQuery({ account, submission_id, limit: 10 }))
  const needing = new Set(view.reached.filter(({ mapping }) => mapping !== 'none').map(({ destination }) => destination))
  const clients = view.clients.filter(({ destination, client }) => client !== null || needing.has(destination))
  return (
    <Section id="destinations" title="Deliveries to destinations">
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
              <span key={destination} className="quiet">
                not mapped
              </span>
            ) : (
              [client, policy].filter(Boolean).join(' · ')
            ),
          ])}
        />
      )}
      <Listed
        query={query}
        loading={3}
        label="Deliveries to destinations"
        columns={columns}
        keyOf={({ outbox_id }) => String(outbox_id)}
        empty="Nothing of it is on its way, or was lately."
        more="Show earlier deliveries"
      />
    </Section>
  )
}

/** Whether a destination has all of the submission: what is stuck there, and what only waits. */
function standingOf(r: Reached) {
  const stuck = r.dead + r.unknown + r.unmapped + r.held
  const open = r.waiting + r.not_queued
  const [tone, word]: readonly [Tone, string] =
    r.lacks > 0
      ? ['bad', 'lacks some']
      : stuck > 0
        ? ['bad', 'stuck']
        : open > 0
          ? ['waiting', 'waiting']
          : r.delivered > 0
            ? ['good', isVerified(r) ? 'verified' : 'delivered']
            : ['unknown', 'nothing sent']
  return { stuck, open, tone, word }
}

/** Whether it answered of each change that it took that it has it. */
function isVerified({ delivered, has }: Reached): boolean {
  return delivered > 0 && has >= delivered
}

/** The answer in a few words, for the head of the page. */
export function ReachedText({ reached }: { readonly reached: Reached }) {
  const { stuck, open } = standingOf(reached)
  const { delivered, last_delivered_at, lacks, verified_at } = reached
  if (stuck + open === 0 && delivered === 0) return <>nothing sent</>
  if (lacks > 0)
    return (
      <>
        lacks {count(lacks)}, verified <Age at={verified_at} />
      </>
    )
  if (stuck + open > 0)
    return <>{[stuck > 0 && `${count(stuck)} stuck`, open > 0 && `${count(open)} waiting`].filter(Boolean).join(', ')}</>
  if (isVerified(reached))
    return (
      <>
        has {delivered > 1 && 'all '}
        {count(delivered)}, verified <Age at={verified_at} />
      </>
    )
  return (
    <>
      {delivered > 1 && 'all '}
      {count(delivered)} delivered, <Age at={last_delivered_at} />
    </>
  )
}

/** The answer before the rows. */
function ReachedLine({ reached: r }: { readonly reached: Reached }) {
  const { stuck, open, tone, word } = standingOf(r)
  return (
    <li>
      <span>
        <Link to="/destinations/$name" params={{ name: r.destination }}>
          {r.destination}
        </Link>{' '}
        {stuck + open + r.skipped === 0 ? <HasAll reached={r} /> : <Lacks reached={r} />}
      </span>
      <span />
      <Chip word={word} tone={tone} />
    </li>
  )
}

function HasAll({ reached }: { readonly reached: Reached }) {
  const { delivered, last_delivered_at, lacks, differs, verified_at } = reached
  if (delivered === 0) return <>was sent nothing of it, or not lately; nothing waits.</>
  const all = delivered === 1 ? 'the one change' : `all ${count(delivered)} changes`
  if (isVerified(reached))
    return (
      <>
        has {all}, verified <Age at={verified_at} />.
      </>
    )
  const wrong = [lacks > 0 && `lacks ${count(lacks)}`, differs > 0 && `has ${count(differs)} not as sent`].filter(Boolean)
  return (
    <>
      took {all}, the last at <Moment at={last_delivered_at} />
      {wrong.length > 0 && (
        <>
          ; it {wrong.join(' and ')}, verified <Age at={verified_at} />
        </>
      )}
      .
    </>
  )
}

function Lacks({ reached: r }: { readonly reached: Reached }) {
  const total = r.delivered + r.waiting + r.unmapped + r.held + r.dead + r.unknown + r.skipped
  const parts: (readonly [name: string, n: number, text: ReactNode])[] = [
    [
      'waiting',
      r.waiting,
      <>
        {count(r.waiting)} of {count(total)} {r.waiting === 1 ? 'waits' : 'wait'}, the oldest since <Moment at={r.oldest_waiting_at} />
      </>,
    ],
    [
      'unmapped',
      r.unmapped,
      <>
        {count(r.unmapped)} of {count(total)} {r.unmapped === 1 ? 'waits' : 'wait'} for a client since <Moment at={r.oldest_waiting_at} />:
        it is not mapped
      </>,
    ],
    ['held', r.held, `${counted(r.held, 'change is', 'changes are')} on hold behind one that a person must see to`],
    ['dead', r.dead, `${count(r.dead)} ${r.dead === 1 ? 'is' : 'are'} dead`],
    ['unknown', r.unknown, `of ${count(r.unknown)} nobody knows whether ${r.unknown === 1 ? 'it' : 'they'} arrived`],
    ['skipped', r.skipped, `${count(r.skipped)} ${r.skipped === 1 ? 'was' : 'were'} given up`],
    ['not_queued', r.not_queued, `${counted(r.not_queued, 'newer change is', 'newer changes are')} not queued yet`],
  ]
  const said = parts.filter(([, n]) => n > 0)
  return (
    <>
      took {count(r.delivered)} of {counted(total, 'change')}
      {said.map(([name, , text], index) => (
        <span key={name}>
          {index === 0 ? ': ' : '; '}
          {text}
        </span>
      ))}
      .
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
  { id: 'what', head: 'Change', isWide: true, cell: ({ entity, operation, seq }) => `${entity}.${operation} · ${seq}` },
  { id: 'state', head: 'State', cell: ({ state }) => <Chip word={state} /> },
  { id: 'attempts', head: 'Attempts', isNumber: true, rank: 2, cell: ({ attempts }) => attempts },
  {
    id: 'at',
    head: 'When',
    isNumber: true,
    cell: ({ delivered_at, tried_at, queued_at }) => <Age at={delivered_at ?? tried_at ?? queued_at} />,
  },
]

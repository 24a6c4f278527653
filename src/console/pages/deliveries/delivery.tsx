import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { answered, api, Refusal, type Schemas } from '../../api/client.ts'
import { deliveryQuery, rejectedOneQuery } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Detail } from '../../parts/detail.tsx'
import { Facts, Section } from '../../parts/fields.tsx'
import { Id } from '../../parts/id.tsx'
import { Json, parsedJson } from '../../parts/json.tsx'
import { counted, size } from '../../parts/numbers.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Asked, Failed } from '../../parts/states.tsx'
import { Moment } from '../../parts/time.tsx'
import { Became } from './became.tsx'
import { SubmissionOf } from './deliveries.tsx'
import { Reason, reasonMend } from './reason.tsx'
import { VerifyAgain } from './verify-again.tsx'

const REJECTED = 'rejected-'

/** One delivery: what came, and what it became. */
export function Delivery() {
  const { delivery = '' } = useParams({ strict: false })
  if (delivery.startsWith(REJECTED)) return <RefusedOne id={delivery.slice(REJECTED.length)} />
  return <Stored id={delivery} />
}

function Stored({ id }: { readonly id: string }) {
  const query = useQuery(deliveryQuery(id))
  if (query.error instanceof Refusal) {
    return (
      <Detail title={query.error.status === 404 ? 'Not found' : 'Delivery'} back="/deliveries">
        <Failed error={query.error} />
      </Detail>
    )
  }
  return (
    <Asked query={query}>
      {({ items }) => (
        <>
          {items.map((delivery, index) => (
            <StoredOne key={delivery.inbox_id} delivery={delivery} isFirst={index === 0} />
          ))}
        </>
      )}
    </Asked>
  )
}

interface StoredProps {
  readonly delivery: Schemas['DeliveryShown']
  readonly isFirst: boolean
}

function StoredOne({ delivery, isFirst }: StoredProps) {
  const replay = useAction({
    run: () => answered(api.POST('/api/v1/inbox/replay', { body: { ids: [String(delivery.inbox_id)] } })),
    done: ({ replayed }) => `${counted(replayed, 'delivery', 'deliveries')} will be worked again; its state is shown here.`,
  })
  const facts = (
    <Facts
      items={[
        ['Delivery', <Id key="id" id={delivery.delivery_id} />],
        ['Account', delivery.account],
        ['Received', <Moment key="came" at={delivery.received_at} />],
        ['Settled', <Moment key="settled" at={delivery.settled_at} none="not yet" />],
        ['Signed with', `secret ${delivery.secret} of the account`],
        ['Submission', <SubmissionOf key="of" {...delivery} />],
        ['Attempts', delivery.attempts],
        ...(delivery.error === null
          ? []
          : [
              [
                'Error',
                <span key="error" className="bad">
                  {delivery.error}
                </span>,
              ] as const,
            ]),
      ]}
    />
  )
  const parts = (
    <>
      {facts}
      <Became inboxId={delivery.inbox_id} />
      <Body body={delivery.body} />
      <Headers headers={delivery.headers} />
    </>
  )
  if (!isFirst) return parts
  const actions = (
    <Button needs="operator" isSmall isBusy={replay.isPending} onClick={() => replay.mutate()}>
      Replay
    </Button>
  )
  return (
    <Detail title={titleOf(delivery)} back="/deliveries" chip={<Chip word={delivery.state} />} actions={actions}>
      {parts}
    </Detail>
  )
}

/** @returns what happened, and to whom, as the list says it. */
function titleOf({ what, kind, insured_name }: Schemas['DeliveryShown']): string {
  return [what === null ? (kind ?? 'Delivery') : wordOf(what), insured_name].filter(Boolean).join(' · ')
}

function RefusedOne({ id }: { readonly id: string }) {
  const query = useQuery(rejectedOneQuery(id))
  return (
    <Detail
      title="Rejected delivery"
      back="/deliveries"
      chip={<Chip word={query.data?.replayed_at ? 'accepted' : 'refused'} />}
      actions={query.data?.replayed_at === null && <VerifyAgain id={id} />}
    >
      <Asked query={query}>
        {(refused) => (
          <>
            <Facts
              items={[
                ['Reason', <Reason key="reason" reason={refused.reason} />],
                [
                  'How to mend it',
                  refused.replayed_at === null ? reasonMend(refused.reason) : 'It was accepted later: nothing is left to do.',
                ],
                ['Received', <Moment key="came" at={refused.received_at} />],
                [
                  'From',
                  <span key="from" className="mono">
                    {refused.address}
                  </span>,
                ],
                [
                  'Path',
                  <span key="path" className="mono">
                    {refused.path}
                  </span>,
                ],
                ['Size', refused.body_bytes === null ? 'not read' : size(refused.body_bytes)],
              ]}
            />
            <Body body={refused.body} />
            <Headers headers={refused.headers} />
          </>
        )}
      </Asked>
    </Detail>
  )
}

function Body({ body }: { readonly body: string | null }) {
  const [find, setFind] = useState('')
  return (
    <Section title="Body" actions={body !== null && <SearchField label="Search in the body" value={find} onChange={setFind} />}>
      {body === null ? <p className="quiet">Not kept, or taken by retention.</p> : <Json value={parsedJson(body)} find={find} />}
    </Section>
  )
}

function Headers({ headers }: { readonly headers: Readonly<Record<string, string>> }) {
  return (
    <Section title="Headers">
      <Facts
        items={Object.entries(headers).map(([name, value]) => [
          name,
          <span key={name} className="mono">
            {value}
          </span>,
        ])}
      />
    </Section>
  )
}

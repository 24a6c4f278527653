import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { ApiError, api, type Schemas, unwrap } from '../../api/client.ts'
import { deliveryQuery, deliveryResultQuery, rejectedDeliveryQuery } from '../../api/queries.ts'
import { ActionButton } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Detail } from '../../parts/detail.tsx'
import { Facts, Section, StyledText } from '../../parts/fields.tsx'
import { Id } from '../../parts/id.tsx'
import { Json, parseJson } from '../../parts/json.tsx'
import { counted, size } from '../../parts/numbers.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Failed, QueryState } from '../../parts/states.tsx'
import { Moment } from '../../parts/time.tsx'
import { SubmissionOf } from './deliveries.tsx'
import { Reason, reasonFix } from './reason.tsx'
import { VerifyAgain } from './verify-again.tsx'

const REJECTED = 'rejected-'

export function Delivery() {
  const { delivery = '' } = useParams({ strict: false })
  if (delivery.startsWith(REJECTED)) return <RejectedDelivery id={delivery.slice(REJECTED.length)} />
  return <DeliveryFromInbox id={delivery} />
}

function DeliveryFromInbox({ id }: { readonly id: string }) {
  const query = useQuery(deliveryQuery(id))
  if (query.error instanceof ApiError) {
    return (
      <Detail title={query.error.status === 404 ? 'Not found' : 'Delivery'} back="/deliveries">
        <Failed error={query.error} />
      </Detail>
    )
  }
  return (
    <QueryState query={query}>
      {({ items }) => (
        <>
          {items.map((delivery, index) => (
            <StoredDelivery key={delivery.inbox_id} delivery={delivery} isFirst={index === 0} />
          ))}
        </>
      )}
    </QueryState>
  )
}

interface StoredProps {
  readonly delivery: Schemas['DeliveryShown']
  readonly isFirst: boolean
}

function StoredDelivery({ delivery, isFirst }: StoredProps) {
  const replay = useAction({
    run: () => unwrap(api.POST('/api/v1/inbox/replay', { body: { ids: [String(delivery.inbox_id)] } })),
    done: ({ replayed }) => `${counted(replayed, 'delivery', 'deliveries')} queued to be processed again.`,
  })
  const facts = (
    <Facts
      items={[
        ['Delivery', <Id key="id" id={delivery.delivery_id} />],
        ['Account', delivery.account],
        ['Received', <Moment key="came" at={delivery.received_at} />],
        ['Processing ended', <Moment key="settled" at={delivery.settled_at} none="not yet" />],
        ['Signed with', `webhook secret ${delivery.secret}`],
        ['Submission', <SubmissionOf key="of" {...delivery} />],
        ['Attempts', delivery.attempts],
        delivery.error !== null && ['Error', <StyledText key="error" className="bad" text={delivery.error} />],
      ]}
    />
  )
  const parts = (
    <>
      {facts}
      <DeliveryResult inboxId={delivery.inbox_id} />
      <Body body={delivery.body} />
      <Headers headers={delivery.headers} />
    </>
  )
  if (!isFirst) return parts
  const actions = <ActionButton action={replay}>Replay</ActionButton>
  return (
    <Detail title={titleOf(delivery)} back="/deliveries" chip={<Chip word={delivery.state} />} actions={actions}>
      {parts}
    </Detail>
  )
}

function titleOf({ what, kind, insured_name }: Schemas['DeliveryShown']): string {
  return [what === null ? (kind ?? 'Delivery') : wordOf(what), insured_name].filter(Boolean).join(' · ')
}

function RejectedDelivery({ id }: { readonly id: string }) {
  const query = useQuery(rejectedDeliveryQuery(id))
  return (
    <Detail
      title="Rejected delivery"
      back="/deliveries"
      chip={<Chip word={query.data?.replayed_at ? 'accepted' : 'rejected'} label={query.data?.replayed_at ? 'accepted' : 'rejected'} />}
      actions={query.data?.replayed_at === null && <VerifyAgain id={id} />}
    >
      <QueryState query={query}>
        {(rejected) => (
          <>
            <Facts
              items={[
                ['Reason', <Reason key="reason" reason={rejected.reason} />],
                ['How to fix it', rejected.replayed_at === null ? reasonFix(rejected.reason) : 'Accepted later. No action required.'],
                ['Received', <Moment key="came" at={rejected.received_at} />],
                ['From', <StyledText key="from" className="mono" text={rejected.address} />],
                ['Path', <StyledText key="path" className="mono" text={rejected.path} />],
                ['Size', rejected.body_bytes === null ? 'not read' : size(rejected.body_bytes)],
              ]}
            />
            <Body body={rejected.body} />
            <Headers headers={rejected.headers} />
          </>
        )}
      </QueryState>
    </Detail>
  )
}

function Body({ body }: { readonly body: string | null }) {
  const [find, setFind] = useState('')
  return (
    <Section title="Body" actions={body !== null && <SearchField label="Search body" value={find} onChange={setFind} />}>
      {body === null ? (
        <p className="quiet">Not stored, or deleted after the retention period.</p>
      ) : (
        <Json value={parseJson(body)} find={find} />
      )}
    </Section>
  )
}

function Headers({ headers }: { readonly headers: Readonly<Record<string, string>> }) {
  return (
    <Section title="Headers">
      <Facts items={Object.entries(headers)} isMono />
    </Section>
  )
}

/** Shows which rows of the mirror the delivery changed. */
function DeliveryResult({ inboxId }: { readonly inboxId: number }) {
  const query = useQuery(deliveryResultQuery(String(inboxId)))
  return (
    <Section title="Result">
      <QueryState query={query} rows={2}>
        {({ items }) => {
          const changes = items.find(({ inbox_id }) => inbox_id === inboxId)?.changes ?? []
          if (changes.length === 0)
            return <p className="quiet">No changes. The mirror was up to date, or the delivery only triggered a read.</p>
          return (
            <ul className="lines">
              {changes.map(({ seq, entity, operation }) => (
                <li key={seq}>
                  <span>
                    {wordOf(entity)}, {operation}
                  </span>
                  <span className="quiet number">change {seq}</span>
                </li>
              ))}
            </ul>
          )
        }}
      </QueryState>
    </Section>
  )
}

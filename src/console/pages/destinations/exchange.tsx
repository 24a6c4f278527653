import { useQuery } from '@tanstack/react-query'
import { Braces } from 'lucide-react'
import { useState } from 'react'
import { exchangeQuery } from '../../api/queries.ts'
import { Facts, Section } from '../../parts/fields.tsx'
import { Json } from '../../parts/json.tsx'
import { Modal } from '../../parts/modal.tsx'
import { Asked } from '../../parts/states.tsx'
import { Moment } from '../../parts/time.tsx'
import { useMay } from '../../session/session.ts'
import { ChangePreview } from './preview.tsx'

interface ExchangeProps {
  readonly outboxId: number
  readonly seq: number
  readonly destination: string
}

/** What a destination is sent of a change, and what it answered. */
export function Exchange({ outboxId, seq, destination }: ExchangeProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="plain raw" aria-label={`Request and answer of change ${seq}`} onClick={() => setOpen(true)}>
        <Braces aria-hidden="true" />
      </button>
      {isOpen && (
        <Modal title={`Change ${seq}: request and answer`} onClose={() => setOpen(false)} className="large">
          <Told outboxId={outboxId} />
          <Section title="Request as it would be sent now">
            <ChangePreview destination={destination} seq={seq} />
          </Section>
        </Modal>
      )}
    </>
  )
}

/** What went wrong with a change, with what the destination said of it: lists leave that out, and who saw it is noted. */
export function WholeError({ outboxId, error }: { readonly outboxId: number; readonly error: string }) {
  const may = useMay('operator')
  const { data } = useQuery({ ...exchangeQuery(String(outboxId)), enabled: may })
  const answer = data?.items.find(({ outbox_id }) => outbox_id === outboxId)?.answer
  return <>{answer?.text ?? error}</>
}

function Told({ outboxId }: { readonly outboxId: number }) {
  const query = useQuery(exchangeQuery(String(outboxId)))
  return (
    <Asked query={query} rows={4}>
      {({ items }) => (
        <>
          {items
            .filter(({ outbox_id }) => outbox_id === outboxId)
            .map(({ outbox_id, request, answer, attempts }) => (
              <div key={outbox_id}>
                <Facts
                  items={[
                    ['Request', [request.method, request.url].filter(Boolean).join(' ') || request.kind || '–'],
                    [
                      'Message id',
                      <span key="id" className="mono">
                        {request.message_id}
                      </span>,
                    ],
                    ['Attempts', attempts],
                    ['Answered', answer ? <Moment key="at" at={answer.at} /> : 'not tried yet'],
                    ['Answer', answer ? (answer.text ?? answer.status ?? '–') : '–'],
                  ]}
                />
                <Section title="Change that it is sent">
                  <Json value={{ before: request.before, after: request.after }} />
                </Section>
              </div>
            ))}
        </>
      )}
    </Asked>
  )
}

import { useQuery } from '@tanstack/react-query'
import { Braces } from 'lucide-react'
import { exchangeQuery } from '../../api/queries.ts'
import { Facts, Section, StyledText } from '../../parts/fields.tsx'
import { Json } from '../../parts/json.tsx'
import { OpensModal } from '../../parts/modal.tsx'
import { QueryState } from '../../parts/states.tsx'
import { Moment } from '../../parts/time.tsx'
import { useMay } from '../../session/session.ts'
import { ChangePreview } from './preview.tsx'

interface ExchangeProps {
  readonly outboxId: number
  readonly seq: number
  readonly destination: string
}

export function Exchange({ outboxId, seq, destination }: ExchangeProps) {
  const button = (open: () => void) => (
    <button type="button" className="plain raw" aria-label={`Request and answer of change ${seq}`} onClick={open}>
      <Braces aria-hidden="true" />
    </button>
  )
  return (
    <OpensModal title={`Change ${seq}: request and answer`} className="large" button={button}>
      <Content outboxId={outboxId} />
      <Section title="Request if sent now">
        <ChangePreview destination={destination} seq={seq} />
      </Section>
    </OpensModal>
  )
}

/**
 * Shows the full answer of the destination as the error. Until the answer is fetched, and for viewers, shows `error`.
 * Lists don't fetch the full answer, because each fetch adds an entry to the audit log.
 */
export function WholeError({ outboxId, error }: { readonly outboxId: number; readonly error: string }) {
  const may = useMay('operator')
  const { data } = useQuery({ ...exchangeQuery(String(outboxId)), enabled: may })
  const answer = data?.items.find(({ outbox_id }) => outbox_id === outboxId)?.answer
  return <>{answer?.text ?? error}</>
}

function Content({ outboxId }: { readonly outboxId: number }) {
  const query = useQuery(exchangeQuery(String(outboxId)))
  return (
    <QueryState query={query} rows={4}>
      {({ items }) => (
        <>
          {items
            .filter(({ outbox_id }) => outbox_id === outboxId)
            .map(({ outbox_id, request, answer, attempts }) => (
              <div key={outbox_id}>
                <Facts
                  items={[
                    ['Request', [request.method, request.url].filter(Boolean).join(' ') || request.kind || '–'],
                    ['Message id', <StyledText key="id" className="mono" text={request.message_id} />],
                    ['Attempts', attempts],
                    ['Answered', answer ? <Moment key="at" at={answer.at} /> : 'not sent yet'],
                    ['Answer', answer ? (answer.text ?? answer.status ?? '–') : '–'],
                  ]}
                />
                <Section title="Change">
                  <Json value={{ before: request.before, after: request.after }} />
                </Section>
              </div>
            ))}
        </>
      )}
    </QueryState>
  )
}

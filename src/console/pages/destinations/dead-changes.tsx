import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { failuresQuery, outboxQuery } from '../../api/queries.ts'
import { shortId } from '../../parts/id.tsx'
import { count } from '../../parts/numbers.ts'

const NAMED = 3

interface DeadChangesProps {
  readonly destination: string
  readonly total: number
}

/**
 * Text of the question before all dead changes are retried. Names the first few changes, counts the others, and shows
 * why changes failed.
 */
export function DeadChanges({ destination, total }: DeadChangesProps) {
  const { data } = useInfiniteQuery(outboxQuery({ destination, state: 'dead', limit: NAMED }))
  const { data: failures } = useQuery(failuresQuery(destination))
  const named = data?.pages[0]?.items ?? []
  const reasons = failures?.items.filter(({ state, reason }) => state === 'dead' && reason !== null) ?? []
  return (
    <>
      <ul className="lines">
        {named.map(({ outbox_id, entity, operation, insured_name, submission_id }) => (
          <li key={outbox_id}>
            <span>
              <bdi>{insured_name || shortId(submission_id ?? '')}</bdi>, {entity}.{operation}
            </span>
          </li>
        ))}
      </ul>
      {named.length > 0 && total > named.length && <p className="quiet">and {count(total - named.length)} more</p>}
      {reasons.slice(0, NAMED).map(({ reason, status }) => (
        <p key={`${status} ${reason}`} className="bad">
          <bdi>{reason}</bdi>
        </p>
      ))}
      <p>Changes are sent again in their order, with the same message ids.</p>
    </>
  )
}

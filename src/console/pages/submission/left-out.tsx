import { Age } from '../../parts/time.tsx'
import type { View } from './view.ts'

interface Props {
  readonly view: View
  readonly part: 'rail' | 'quote_history' | 'assessment'
}

/** A note for rows of a part that the service left out of its last answer. */
export function LeftOut({ view, part }: Props) {
  const [row] = view.tables.submissions ?? []
  if (!row?.state_read_at) return null
  const readAt = row[`${part}_read_at`]
  if (readAt === row.state_read_at) return null
  return (
    <p className="quiet">
      Missing from the service's last answer. Last read: <Age at={readAt} none="never" />
    </p>
  )
}

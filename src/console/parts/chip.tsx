import { CircleCheck, CircleCheckBig, CircleDashed, CircleSlash, Clock3, TriangleAlert } from 'lucide-react'
import { wordOf } from '../../ops/output/words.ts'

/** The four meanings, and no more; of what is good `won` is best, and `declined` is unknown to none. */
export type Tone = 'won' | 'good' | 'waiting' | 'bad' | 'declined' | 'unknown'

const icons = {
  won: CircleCheckBig,
  good: CircleCheck,
  waiting: Clock3,
  bad: TriangleAlert,
  declined: CircleSlash,
  unknown: CircleDashed,
} as const

/** What the words of the service and of the program mean; any other is unknown. */
const words: Readonly<Record<Tone, readonly string[]>> = {
  won: ['bound'],
  good: ['quoted', 'done', 'delivered', 'active', 'resolved', 'complete', 'stored', 'binder_received', 'ok', 'accepted', 'resent'],
  waiting: [
    'needs_info',
    'in_progress',
    'ready',
    'waiting',
    'queued',
    'running',
    'requested',
    'catching_up',
    'retrying',
    'pending',
    'submitted',
    'sent',
    'drafted',
    'budget',
    'begun',
    'rate_limited',
    'sending',
    'warning',
    'not started',
  ],
  bad: [
    'dead',
    'failed',
    'held',
    'unmapped',
    'unreachable',
    'firing',
    'critical',
    'suspended',
    'attention',
    'unknown outcome',
    'bind_failed',
    'refused',
    'wrong',
  ],
  declined: ['not_available', 'declined', 'blocked', 'closed'],
  // `paused`: somebody chose it.
  unknown: [],
}

const tones = new Map(Object.entries(words).flatMap(([tone, list]) => list.map((word) => [word, tone as Tone])))

export function toneOf(word: string | null | undefined): Tone {
  return tones.get(word ?? '') ?? 'unknown'
}

interface ChipProps {
  readonly word: string | null | undefined
  /** When it is not the word's own. */
  readonly tone?: Tone
  readonly label?: string | null | undefined
}

/** A state: its meaning by icon and colour, and always its word. */
export function Chip({ word, tone = toneOf(word), label }: ChipProps) {
  const Icon = icons[tone]
  return (
    <span className={`chip ${tone}`}>
      <Icon aria-hidden="true" />
      {label ?? wordOf(word ?? 'unknown')}
    </span>
  )
}

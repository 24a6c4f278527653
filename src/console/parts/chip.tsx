import { CircleCheck, CircleCheckBig, CircleDashed, CircleSlash, Clock3, TriangleAlert } from 'lucide-react'
import { wordOf } from '../../ops/output/words.ts'

/** Meaning of a state. A chip shows the meaning by an icon and a color. */
export type Tone = 'won' | 'good' | 'waiting' | 'bad' | 'declined' | 'unknown'

const icons = {
  won: CircleCheckBig,
  good: CircleCheck,
  waiting: Clock3,
  bad: TriangleAlert,
  declined: CircleSlash,
  unknown: CircleDashed,
} as const

/** States by meaning. A state that is missing here has the meaning `unknown`. */
const words: Readonly<Record<Tone, readonly string[]>> = {
  won: ['bound'],
  good: ['quoted', 'done', 'delivered', 'active', 'resolved', 'complete', 'stored', 'binder_received', 'ok', 'accepted', 'resent'],
  waiting: [
    ...['needs_info', 'in_progress', 'ready', 'waiting', 'queued', 'running', 'requested', 'catching_up', 'retrying', 'pending'],
    ...['submitted', 'sent', 'drafted', 'budget', 'begun', 'rate_limited', 'sending', 'warning', 'not started'],
  ],
  bad: [
    ...['dead', 'failed', 'held', 'unmapped', 'unreachable', 'firing', 'critical', 'suspended', 'attention', 'unknown outcome'],
    ...['bind_failed', 'rejected', 'wrong'],
  ],
  declined: ['not_available', 'declined', 'blocked', 'closed'],
  // Empty, because every state that isn't listed above, such as `paused`, has the meaning `unknown`.
  unknown: [],
}

const tones = new Map(Object.entries(words).flatMap(([tone, list]) => list.map((word) => [word, tone as Tone])))

export function toneOf(word: string | null | undefined): Tone {
  return tones.get(word ?? '') ?? 'unknown'
}

interface ChipProps {
  readonly word: string | null | undefined
  /** Meaning that the chip shows by its icon and color. Default: the meaning of `word`. */
  readonly tone?: Tone
  readonly label?: string | null | undefined
}

export function Chip({ word, tone = toneOf(word), label }: ChipProps) {
  const Icon = icons[tone]
  return (
    <span className={`chip inline small-text ${tone}`}>
      <Icon aria-hidden="true" />
      {label ?? wordOf(word ?? 'unknown')}
    </span>
  )
}

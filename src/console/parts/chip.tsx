import { CircleCheck, CircleCheckBig, CircleDashed, CircleSlash, Clock3, TriangleAlert } from 'lucide-react'
import { wordOf } from '../../ops/output/words.ts'

/** Meaning of a state. The icon and the color of a chip show it. */
export type Tone = 'won' | 'good' | 'waiting' | 'bad' | 'declined' | 'unknown'

const icons = {
  won: CircleCheckBig,
  good: CircleCheck,
  waiting: Clock3,
  bad: TriangleAlert,
  declined: CircleSlash,
  unknown: CircleDashed,
} as const

/** States by their meaning. A state that isn't listed means `unknown`. */
const words: Readonly<Record<Tone, readonly string[]>> = {
  won: ['bound'],
  good: ['quoted', 'done', 'delivered', 'active', 'resolved', 'complete', 'stored', 'binder_received', 'ok', 'accepted', 'resent'],
  waiting: [
    ...['needs_info', 'in_progress', 'ready', 'waiting', 'queued', 'running', 'requested', 'catching_up', 'retrying', 'pending'],
    ...['submitted', 'sent', 'drafted', 'budget', 'begun', 'rate_limited', 'sending', 'warning', 'not started'],
  ],
  bad: [
    ...['dead', 'failed', 'held', 'unmapped', 'unreachable', 'firing', 'critical', 'suspended', 'attention', 'unknown outcome'],
    ...['bind_failed', 'refused', 'wrong'],
  ],
  declined: ['not_available', 'declined', 'blocked', 'closed'],
  // The meaning of all other states, such as `paused`.
  unknown: [],
}

const tones = new Map(Object.entries(words).flatMap(([tone, list]) => list.map((word) => [word, tone as Tone])))

export function toneOf(word: string | null | undefined): Tone {
  return tones.get(word ?? '') ?? 'unknown'
}

interface ChipProps {
  readonly word: string | null | undefined
  /** Default: the meaning of `word`. */
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

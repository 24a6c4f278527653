import type { Schemas } from '../../api/client.ts'
import { Chip } from '../../parts/chip.tsx'
import { counted } from '../../parts/numbers.ts'

type Destination = Schemas['Destination']

/** A destination's state, and beside it what is wrong: an active one may yet have changes that nobody sends any more. */
export function StateChip({ destination: d }: { readonly destination: Destination }) {
  const stuck = [
    d.filter_error !== null && 'its filter fails',
    d.dead > 0 && counted(d.dead, 'dead', 'dead'),
    d.unknown > 0 && counted(d.unknown, 'unknown outcome'),
    d.held_lanes > 0 && `${counted(d.held_lanes, 'submission')} on hold`,
    d.unmapped_lanes > 0 && `${counted(d.unmapped_lanes, 'submission')} unmapped`,
  ].filter((part) => part !== false)
  const rests = d.state === 'active' && d.circuit === 'open' ? ['paused after failures'] : []
  const words = [d.state ?? 'not served yet', ...rests, ...stuck]
  if (d.state === 'active' && (stuck.length > 0 || rests.length > 0)) {
    return <Chip word={d.state} tone={stuck.length > 0 ? 'bad' : 'waiting'} label={words.join(' · ')} />
  }
  return <Chip word={d.state} label={words.join(' · ')} />
}

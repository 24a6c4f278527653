import type { Schemas } from '../../api/client.ts'
import { Chip } from '../../parts/chip.tsx'
import { counted } from '../../parts/numbers.ts'

type Destination = Schemas['Destination']

/**
 * Shows a destination's state, and what is wrong with its changes. An active destination may also have changes
 * that are stuck.
 */
export function StateChip({ destination: d }: { readonly destination: Destination }) {
  const stuck = [
    d.filter_error !== null && 'filter fails',
    d.dead > 0 && counted(d.dead, 'dead change'),
    d.unknown > 0 && counted(d.unknown, 'unknown outcome'),
    d.held_streams > 0 && `${counted(d.held_streams, 'submission')} blocked`,
    d.unmapped_streams > 0 && `${counted(d.unmapped_streams, 'submission')} unmapped`,
  ].filter((part) => part !== false)
  const circuit = d.state === 'active' && d.circuit === 'open' ? ['waiting after failures'] : []
  const words = [d.state ?? 'not started', ...circuit, ...stuck]
  if (d.state === 'active' && (stuck.length > 0 || circuit.length > 0)) {
    return <Chip word={d.state} tone={stuck.length > 0 ? 'bad' : 'waiting'} label={words.join(' · ')} />
  }
  return <Chip word={d.state} label={words.join(' · ')} />
}

import { headOf, presenceText } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { Facts } from '../../parts/fields.tsx'
import { count, seconds, share } from '../../parts/numbers.ts'
import { Age } from '../../parts/time.tsx'

type Destination = Schemas['Destination']

const mappings: Readonly<Record<NonNullable<Destination['mapping']>, string>> = {
  none: 'not required',
  required: 'required',
  lookup: 'looked up in the AMS',
}

export function DestinationFacts({ destination: d }: { readonly destination: Destination }) {
  const { delivered, dead_lettered, unknown, success_rate, latency_p50, latency_p99 } = d.last_day
  return (
    <Facts
      items={[
        ['Kind', d.kind ?? 'no longer configured'],
        ['Address', d.address === null ? d.kind === 'http' ? 'set by a template' : '–' : <bdi key="address">{d.address}</bdi>],
        ['Receives', d.gets ?? '–'],
        ['Mapping', d.mapping === null ? '–' : mappings[d.mapping]],
        ['Delivered, last day', count(delivered)],
        [
          'Success rate, last day',
          success_rate === null
            ? '–'
            : [
                share(success_rate),
                dead_lettered > 0 && `${count(dead_lettered)} dead-lettered`,
                unknown > 0 && `${count(unknown)} with unknown outcome`,
              ]
                .filter(Boolean)
                .join(', '),
        ],
        ['Latency, last day', latency_p50 === null ? '–' : `median ${seconds(latency_p50)} (slowest 1%: ${seconds(latency_p99)})`],
        [
          'Verification',
          <span key="verified">
            {d.verified ? `${presenceText(d.verified)}, verified ` : d.can_verify ? 'not verified yet' : 'verification not supported'}
            {d.verified && <Age at={d.verified.at} />}
          </span>,
        ],
        ['Last delivery', <Age key="success" at={d.last_success_at} />],
        d.since !== null && ['State since', <Age key="since" at={d.since} />],
        d.retry_at !== null && [headOf('retry_at'), <Age key="retry" at={d.retry_at} canBeFuture />],
        ['Waiting changes', count(d.queued)],
        ['Oldest waiting', <Age key="oldest" at={d.oldest_queued_at} />],
        ['Dead changes', count(d.dead)],
        ['Unknown outcome', count(d.unknown)],
        ['Blocked submissions', count(d.held_streams)],
        ['Unmapped submissions', count(d.unmapped_streams)],
        d.filtered > 0 && ['Filtered changes', count(d.filtered)],
        d.filter_error !== null && [headOf('filter_error'), <bdi key="filter">{d.filter_error}</bdi>],
      ]}
    />
  )
}

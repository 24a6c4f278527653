import { useAddress } from '../../layout/search.ts'
import { Moment } from '../../parts/time.tsx'
import type { View } from './view.tsx'

/** Field for the time to show, in the browser's time zone. The address contains the time in UTC. */
export function AsOf({ shown }: { readonly shown?: View['as_of'] }) {
  const [{ at = '' }, set] = useAddress()
  const ms = Date.parse(at)
  const local = Number.isNaN(ms) ? '' : new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  const choose = (value: string) => set({ at: value && new Date(value).toISOString() })
  return (
    <p className="lead" role="status">
      <label>
        Show as of <input type="datetime-local" defaultValue={local} key={at} onChange={({ target }) => choose(target.value)} />
      </label>{' '}
      {shown && (
        <>
          As the mirror knew it at <Moment at={shown.at} />. The earliest time that can be shown is <Moment at={shown.since} />.{' '}
          <button type="button" className="button small" onClick={() => set({ at: '' })}>
            Show current
          </button>
        </>
      )}
    </p>
  )
}

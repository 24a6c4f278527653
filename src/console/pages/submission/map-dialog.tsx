import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useId } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api } from '../../api/client.ts'
import { destinationsQuery } from '../../api/queries.ts'
import { shortId } from '../../parts/id.tsx'
import { Modal } from '../../parts/modal.tsx'

interface MapProps {
  readonly account: string
  readonly id: string
  /** Whose data goes to the client; null when the mirror does not know the name yet. */
  readonly insured: string | null
  /** The destination; left out, one chooses among those that need a client. */
  readonly at?: string
  readonly onClose: () => void
}

/** Says which client of an AMS a submission belongs to: a wrong one gets somebody else's data, so the title tells whose they are. */
export function MapDialog({ account, id, insured, at, onClose }: MapProps) {
  const { data } = useQuery(destinationsQuery)
  const fields = useId()
  const whose = insured || shortId(id)
  const map = useAction({
    run: (given: { destination: string; client: string; policy: string }) => {
      const { destination: name, client, policy } = given
      const rows = [{ account, submission_id: id, client, ...(policy && { policy }) }]
      return answered(api.POST('/api/v1/destinations/{name}/mappings', { params: { path: { name } }, body: { rows } }))
    },
    done: (_, { destination, client }) => `${whose}: 1 submission mapped to ${client} at ${destination}; what waited goes out.`,
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    map.mutate({ destination: text('destination'), client: text('client'), policy: text('policy') }, { onSuccess: onClose })
  }
  const needing = data?.items.filter(({ mapping }) => mapping === 'required' || mapping === 'lookup') ?? []
  const names = at === undefined ? needing.map(({ destination }) => destination) : [at]
  return (
    <Modal title={`Map to a client: ${whose}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p className="quiet">
          Submission <span title={id}>{shortId(id)}</span> of account {account}. What waits for it goes to this client.
        </p>
        {data !== undefined && names.length === 0 && (
          <p>
            No destination asks for a client: <code>config/destinations.md</code> tells how one does.
          </p>
        )}
        <label htmlFor={`${fields}d`}>Destination</label>
        <select id={`${fields}d`} name="destination" required>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <label htmlFor={`${fields}c`}>Client</label>
        <input
          id={`${fields}c`}
          name="client"
          required
          maxLength={500}
          autoComplete="off"
          placeholder="Its id in the AMS, such as C-2001"
        />
        <label htmlFor={`${fields}p`}>Policy id in the AMS (optional)</label>
        <input id={`${fields}p`} name="policy" maxLength={500} autoComplete="off" />
        {map.error && <p role="alert">{map.error.message}</p>}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={map.isPending || names.length === 0}>
            Map submission
          </button>
        </div>
      </form>
    </Modal>
  )
}

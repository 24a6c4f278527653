import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useId, useState } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api } from '../../api/client.ts'
import { destinationsQuery } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Modal } from '../../parts/modal.tsx'
import { counted } from '../../parts/numbers.ts'

interface Of {
  readonly account: string
  readonly id: string
}

/** What an operator can do with one submission. */
export function SubmissionActions({ account, id }: Of) {
  const [isMapping, setMapping] = useState(false)
  const navigate = useNavigate()
  const sync = (isReplay: boolean, done: string) => ({
    run: () => answered(api.POST('/api/v1/submissions/sync', { body: { account, ids: [id], replay: isReplay } })),
    done: () => done,
  })
  const read = useAction(sync(false, 'The service is asked now; the figure "Read" tells when it has answered.'))
  const replay = useAction(sync(true, 'Both feeds are read again from the beginning; what was missed appears in the timeline.'))
  const reconcile = useAction({
    run: () => answered(api.POST('/api/v1/reconcile-runs', { body: { account, submissions: [id] } })),
    done: () => 'A reconcile run of this submission was asked for; it is shown under Reconcile.',
  })
  const open = (run: string | undefined) => run && void navigate({ to: '/reconcile/$run_id', params: { run_id: run } })
  return (
    <div className="actions">
      <Button needs="operator" isSmall isBusy={read.isPending} onClick={() => read.mutate()}>
        Read now
      </Button>
      <Button needs="operator" isSmall isBusy={replay.isPending} onClick={() => replay.mutate()}>
        Replay feeds
      </Button>
      <Button
        needs="operator"
        isSmall
        isBusy={reconcile.isPending}
        onClick={() => reconcile.mutate(undefined, { onSuccess: ({ items }) => open(items[0]?.run_id) })}
      >
        Reconcile
      </Button>
      <Button needs="operator" isSmall onClick={() => setMapping(true)}>
        Map to client…
      </Button>
      {isMapping && <MapDialog account={account} id={id} onClose={() => setMapping(false)} />}
    </div>
  )
}

/** Says which client of an AMS a submission belongs to. */
export function MapDialog({ account, id, onClose, at }: Of & { readonly onClose: () => void; readonly at?: string }) {
  const { data } = useQuery(destinationsQuery)
  const fields = useId()
  const map = useAction({
    run: (given: { destination: string; client: string; policy: string }) => {
      const { destination: name, client, policy } = given
      const rows = [{ account, submission_id: id, client, ...(policy && { policy }) }]
      return answered(api.POST('/api/v1/destinations/{name}/mappings', { params: { path: { name } }, body: { rows } }))
    },
    done: ({ stored }, { destination, client }) =>
      `${counted(stored, 'submission')} mapped to ${client} at ${destination}; what waited goes out.`,
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    map.mutate({ destination: text('destination'), client: text('client'), policy: text('policy') }, { onSuccess: onClose })
  }
  const names = at === undefined ? (data?.items.filter(({ kind }) => kind !== null).map(({ destination }) => destination) ?? []) : [at]
  return (
    <Modal title="Map to a client" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <label htmlFor={`${fields}d`}>Destination</label>
        <select id={`${fields}d`} name="destination" required>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <label htmlFor={`${fields}c`}>Client</label>
        <input id={`${fields}c`} name="client" required maxLength={500} autoComplete="off" placeholder="Its id in the AMS" />
        <label htmlFor={`${fields}p`}>Policy</label>
        <input id={`${fields}p`} name="policy" maxLength={500} autoComplete="off" placeholder="When there is one" />
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

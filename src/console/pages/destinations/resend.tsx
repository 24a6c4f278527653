import { type FormEvent, useId, useState } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { Facts } from '../../parts/fields.tsx'
import { Modal } from '../../parts/modal.tsx'
import { count, counted } from '../../parts/numbers.ts'

type Resent = Schemas['Resent']

interface Which {
  readonly since?: string
  readonly until?: string
  readonly new_ids: boolean
}

interface ResendProps {
  readonly destination: string
  readonly onClose: () => void
}

/** @returns a moment of the reader's zone as the routes take it. */
function momentOf(local: FormDataEntryValue | null): string | undefined {
  if (typeof local !== 'string' || local === '') return undefined
  return new Date(local).toISOString()
}

/** Sends changes again that an AMS lost: first says how many, then does it. */
export function ResendDialog({ destination: name, onClose }: ResendProps) {
  const fields = useId()
  const [plan, setPlan] = useState<{ readonly which: Which; readonly resent: Resent } | null>(null)
  const ask = (which: Which, dry_run: boolean) =>
    answered(api.POST('/api/v1/destinations/{name}/resend', { params: { path: { name } }, body: { ...which, dry_run } }))
  const look = useAction({
    run: async (which: Which) => {
      const resent = await ask(which, true)
      setPlan({ which, resent })
      return resent
    },
    done: ({ changes }) => `${counted(changes, 'change')} would be sent again.`,
  })
  const resend = useAction({
    run: (which: Which) => ask(which, false),
    done: ({ queued }) => `${counted(queued, 'change')} queued for ${name} again, behind what waits.`,
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const [since, until] = [momentOf(form.get('since')), momentOf(form.get('until'))]
    look.mutate({ ...(since && { since }), ...(until && { until }), new_ids: form.has('new') })
  }
  return (
    <Modal title={`Resend changes to ${name}`} onClose={onClose}>
      <form className="form" onSubmit={submit} onChange={() => setPlan(null)}>
        <label htmlFor={`${fields}s`}>Logged since</label>
        <input id={`${fields}s`} name="since" type="datetime-local" required />
        <label htmlFor={`${fields}u`}>Logged before</label>
        <input id={`${fields}u`} name="until" type="datetime-local" />
        <label className="check" htmlFor={`${fields}n`}>
          <input id={`${fields}n`} name="new" type="checkbox" /> Under new message ids, for a receiver that leaves out those it has seen
        </label>
        {look.error && <p role="alert">{look.error.message}</p>}
        {plan && <Plan resent={plan.resent} />}
        <div className="actions">
          <button type="submit" className="button" disabled={look.isPending}>
            Count the changes
          </button>
          <button
            type="button"
            className="button primary"
            disabled={plan === null || plan.resent.changes === 0 || resend.isPending}
            onClick={() => plan && resend.mutate(plan.which, { onSuccess: onClose })}
          >
            {plan ? `Resend ${counted(plan.resent.changes, 'change')}` : 'Resend'}
          </button>
        </div>
      </form>
    </Modal>
  )
}

function Plan({ resent }: { readonly resent: Resent }) {
  return (
    <>
      <Facts
        items={[
          ['Changes', count(resent.changes)],
          ['Submissions', count(resent.submissions)],
          ['From and to', resent.first_seq === null ? '–' : `${resent.first_seq} to ${resent.last_seq}`],
          ['Left out by its filters', count(resent.filtered)],
        ]}
      />
      {resent.notes.map((note) => (
        <p key={note} className="quiet">
          {note}
        </p>
      ))}
    </>
  )
}

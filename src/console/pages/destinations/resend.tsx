import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import type { paths } from '../../api/schema.d.ts'
import { Facts } from '../../parts/fields.tsx'
import { Modal } from '../../parts/modal.tsx'
import { count, counted } from '../../parts/numbers.ts'
import { Sentence } from '../../parts/sentence.tsx'
import { momentText } from '../../parts/time.tsx'
import { SubmissionChoice } from './submission-choice.tsx'

type Resent = Schemas['Resent']
type Body = NonNullable<paths['/api/v1/destinations/{name}/resend']['post']['requestBody']>['content']['application/json']

type Entity = NonNullable<Body['entity']>
type Which = Pick<Body, 'since' | 'until' | 'seq' | 'submission_id' | 'entity'> & { readonly new_ids: boolean }

/** Every table whose changes go out: one that is missing here fails the type check. */
const entities: Readonly<Record<Entity, true>> = {
  submissions: true,
  market_events: true,
  thread_messages: true,
  thread_attachments: true,
  lanes: true,
  quotes: true,
  source_offers: true,
  quote_history: true,
  market_readiness: true,
  carrier_api_sessions: true,
  documents_on_file: true,
  program_assessments: true,
  requirement_items: true,
  outstanding_items: true,
  application_workspaces: true,
  applications: true,
  application_answers: true,
  facts: true,
  bind_requests: true,
  bind_assumptions: true,
  bind_contingencies: true,
  policies: true,
  insureds: true,
  documents: true,
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
  const ask = (which: Which, dry_run: boolean) =>
    answered(api.POST('/api/v1/destinations/{name}/resend', { params: { path: { name } }, body: { ...which, dry_run } }))
  const look = useMutation<Resent, Error, Which>({ mutationFn: (which) => ask(which, true) })
  const plan = look.data === undefined ? null : { which: look.variables, resent: look.data }
  const resend = useAction({
    run: (which: Which) => ask(which, false),
    done: ({ queued }) => `${counted(queued, 'change')} queued for ${name} again, behind what waits.`,
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const [since, until] = [momentOf(form.get('since')), momentOf(form.get('until'))]
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const [seq, submission_id, entity] = [text('seq'), text('submission'), text('entity') as Entity | '']
    look.mutate({
      ...(since && { since }),
      ...(until && { until }),
      ...(seq && { seq }),
      ...(submission_id && { submission_id }),
      ...(entity && { entity }),
      new_ids: form.has('new'),
    })
  }
  return (
    <Modal title={`Resend changes to ${name}`} onClose={onClose}>
      <form className="form" onSubmit={submit} onChange={look.reset}>
        <Choices fields={fields} onChange={look.reset} />
        <label className="check" htmlFor={`${fields}n`}>
          <input id={`${fields}n`} name="new" type="checkbox" /> Under new message ids, for a receiver that leaves out those it has seen
        </label>
        {look.error && <p role="alert">{look.error.message}</p>}
        <div role="status">{plan && <Plan {...plan} />}</div>
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
            {plan && plan.resent.changes > 0 ? `Resend ${counted(plan.resent.changes, 'change')}` : 'Resend'}
          </button>
        </div>
      </form>
    </Modal>
  )
}

const date = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })

/** @returns the beginning of the day of a moment in the reader's zone, or so many days later, as a field takes it. */
function dayStart(at: number | string, daysLater = 0): string {
  const of = new Date(at)
  const day = new Date(of.getFullYear(), of.getMonth(), of.getDate() + daysLater)
  const two = (n: number) => String(n).padStart(2, '0')
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}T00:00`
}

const presets = [
  ['Today', 0],
  ['Yesterday', -1],
] as const

interface ChoicesProps {
  readonly fields: string
  /** Called when something is chosen of which the form itself does not tell. */
  readonly onChange: () => void
}

/** Which changes: one of these at least, and what is left empty does not narrow. */
function Choices({ fields, onChange }: ChoicesProps) {
  const [{ since, until }, setPeriod] = useState({ since: '', until: '' })
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
  const setDay = (day: number) => {
    const now = Date.now()
    setPeriod({ since: dayStart(now, day), until: day < 0 ? dayStart(now, day + 1) : '' })
    onChange()
  }
  return (
    <>
      <p className="quiet">Say which changes by one of these at least. Times are of {zone}.</p>
      <div className="chosen">
        {presets.map(([name, day]) => (
          <button key={name} type="button" className="button small" onClick={() => setDay(day)}>
            {name}
          </button>
        ))}
      </div>
      <label htmlFor={`${fields}s`}>Logged since</label>
      <input
        id={`${fields}s`}
        name="since"
        type="datetime-local"
        value={since}
        onChange={({ target }) => setPeriod({ since: target.value, until })}
      />
      <label htmlFor={`${fields}u`}>Logged before</label>
      <input
        id={`${fields}u`}
        name="until"
        type="datetime-local"
        value={until}
        onChange={({ target }) => setPeriod({ since, until: target.value })}
      />
      <label htmlFor={`${fields}q`}>Changes by number</label>
      <input id={`${fields}q`} name="seq" placeholder="100-250" pattern="\d+-\d+" autoComplete="off" />
      <span>Submission</span>
      <SubmissionChoice name="submission" onChange={onChange} />
      <label htmlFor={`${fields}e`}>Table</label>
      <select id={`${fields}e`} name="entity">
        <option value="">Any table</option>
        {Object.keys(entities).map((entity) => (
          <option key={entity} value={entity}>
            {wordOf(entity)}
          </option>
        ))}
      </select>
    </>
  )
}

/** @returns when nothing was logged: ` on Nov 26`, ` since Nov 26, 14:00`. */
function periodText({ since, until }: Pick<Which, 'since' | 'until'>): string {
  if (since !== undefined && until !== undefined && since === momentOf(dayStart(since)) && until === momentOf(dayStart(since, 1)))
    return ` on ${date.format(new Date(since))}`
  const [from, to] = [since, until].map((at) => at && momentText(at))
  return [from && ` since ${from}`, to && ` before ${to}`].filter(Boolean).join(' and')
}

function Plan({ which, resent }: { readonly which: Which; readonly resent: Resent }) {
  if (resent.changes + resent.filtered + resent.purged === 0) {
    const { since: _, until: __, new_ids: ___, ...others } = which
    const what = Object.keys(others).length > 0 ? 'No change of this choice' : 'No change'
    return <p>{`${what} was logged${periodText(which)}.`}</p>
  }
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
          <Sentence text={`${note.charAt(0).toUpperCase()}${note.slice(1)}.`} />
        </p>
      ))}
    </>
  )
}

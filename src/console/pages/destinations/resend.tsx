import { useMutation } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import type { paths } from '../../api/schema.d.ts'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/fields.tsx'
import { Check, Field, Form } from '../../parts/form.tsx'
import { Modal } from '../../parts/modal.tsx'
import { count, counted } from '../../parts/numbers.ts'
import { Sentence } from '../../parts/sentence.tsx'
import { momentText } from '../../parts/time.tsx'
import { SubmissionChoice } from './submission-choice.tsx'

type Resent = Schemas['Resent']
type Body = NonNullable<paths['/api/v1/destinations/{name}/resend']['post']['requestBody']>['content']['application/json']

type Entity = NonNullable<Body['entity']>
type Which = Pick<Body, 'since' | 'until' | 'seq' | 'submission_id' | 'entity'> & { readonly new_ids: boolean }

/** All tables whose changes are sent. Type checking fails if a table is missing here. */
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

function momentOf(local: string): string | undefined {
  return local === '' ? undefined : new Date(local).toISOString()
}

/** Dialog to send changes again to a destination that lost them. First shows how many changes would be sent. */
export function ResendDialog({ destination: name, onClose }: ResendProps) {
  const ask = (which: Which, dry_run: boolean) =>
    unwrap(api.POST('/api/v1/destinations/{name}/resend', { params: { path: { name } }, body: { ...which, dry_run } }))
  const look = useMutation<Resent, Error, Which>({ mutationFn: (which) => ask(which, true) })
  const plan = look.data === undefined ? null : { which: look.variables, resent: look.data }
  const resend = useAction({
    run: (which: Which) => ask(which, false),
    done: ({ queued }) => `${counted(queued, 'change')} queued for ${name}, after those already waiting.`,
  })
  const chosenBy = (text: (name: string) => string): Omit<Which, 'new_ids'> => {
    const [since, until] = [momentOf(text('since')), momentOf(text('until'))]
    const [seq, submission_id, entity] = [text('seq'), text('submission'), text('entity') as Entity | '']
    return {
      ...(since && { since }),
      ...(until && { until }),
      ...(seq && { seq }),
      ...(submission_id && { submission_id }),
      ...(entity && { entity }),
    }
  }
  return (
    <Modal title={`Resend changes to ${name}`} onClose={onClose}>
      <Form onSubmit={({ text, has }) => look.mutate({ ...chosenBy(text), new_ids: has('new') })} onChange={look.reset}>
        <Choices onChange={look.reset} />
        <Check name="new">Use new message ids, if the receiver ignores ids it has seen</Check>
        {look.error && <p role="alert">{look.error.message}</p>}
        <div role="status">{plan && <Plan {...plan} />}</div>
        <div className="actions">
          <Button type="submit" isBusy={look.isPending}>
            Count changes
          </Button>
          <Button
            kind="primary"
            isBusy={resend.isPending}
            disabled={plan === null || plan.resent.changes === 0}
            onClick={() => plan && resend.mutate(plan.which, { onSuccess: onClose })}
          >
            {plan && plan.resent.changes > 0 ? `Resend ${counted(plan.resent.changes, 'change')}` : 'Resend'}
          </Button>
        </div>
      </Form>
    </Modal>
  )
}

const date = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })

/**
 * @param daysLater number of days to add to the day of `at`; may be negative.
 * @returns the local midnight at which that day begins, as the value of a `datetime-local` field.
 */
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
  /** Called if the user changes a choice in a way that doesn't trigger the form's `change` event. */
  readonly onChange: () => void
}

function Choices({ onChange }: ChoicesProps) {
  const table = useId()
  const [{ since, until }, setPeriod] = useState({ since: '', until: '' })
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
  const setDay = (day: number) => {
    const now = Date.now()
    setPeriod({ since: dayStart(now, day), until: day < 0 ? dayStart(now, day + 1) : '' })
    onChange()
  }
  return (
    <>
      <p className="quiet">Fill in at least one field. Times are in {zone}.</p>
      <div className="line">
        {presets.map(([name, day]) => (
          <Button key={name} isSmall onClick={() => setDay(day)}>
            {name}
          </Button>
        ))}
      </div>
      <Field
        label="Logged since"
        name="since"
        type="datetime-local"
        value={since}
        onChange={({ target }) => setPeriod({ since: target.value, until })}
      />
      <Field
        label="Logged before"
        name="until"
        type="datetime-local"
        value={until}
        onChange={({ target }) => setPeriod({ since, until: target.value })}
      />
      <Field label="Change numbers" name="seq" placeholder="100-250" pattern="\d+-\d+" />
      <span>Submission</span>
      <SubmissionChoice name="submission" onChange={onChange} />
      <label htmlFor={table}>Table</label>
      <select id={table} name="entity">
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

/** @returns the period as text, such as ` on Nov 26` or ` since Nov 26, 14:00`; '' if there is no period. */
function periodText({ since, until }: Pick<Which, 'since' | 'until'>): string {
  if (since !== undefined && until !== undefined && since === momentOf(dayStart(since)) && until === momentOf(dayStart(since, 1)))
    return ` on ${date.format(new Date(since))}`
  const [from, to] = [since, until].map((at) => at && momentText(at))
  return [from && ` since ${from}`, to && ` before ${to}`].filter(Boolean).join(' and')
}

function Plan({ which, resent }: { readonly which: Which; readonly resent: Resent }) {
  if (resent.changes + resent.filtered + resent.purged === 0) {
    const { since: _, until: __, new_ids: ___, ...others } = which
    const what = Object.keys(others).length > 0 ? 'No matching changes were' : 'No changes were'
    return <p>{`${what} logged${periodText(which)}.`}</p>
  }
  return (
    <>
      <Facts
        items={[
          ['Changes', count(resent.changes)],
          ['Submissions', count(resent.submissions)],
          ['Change numbers', resent.first_seq === null ? '–' : `${resent.first_seq} to ${resent.last_seq}`],
          ['Excluded by filters', count(resent.filtered)],
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

import { Link, type LinkProps } from '@tanstack/react-router'
import { CircleCheck } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useAction } from '../../api/action.ts'
import { announce } from '../../api/announce.ts'
import { type Schemas, send } from '../../api/client.ts'
import { ActionButton } from '../../parts/button.tsx'
import { Confirm, ConfirmButton, type Question } from '../../parts/confirm.tsx'
import { counted } from '../../parts/numbers.ts'
import { Sentence } from '../../parts/sentence.tsx'
import { Age } from '../../parts/time.tsx'
import { DeadChanges } from '../destinations/dead-changes.tsx'

type Issue = Schemas['Overview']['issues'][number]

interface OpenQuestion extends Question {
  readonly onDo: () => void
}

interface Fix {
  /** Label of the button that fixes the issue. */
  readonly verb: string
  readonly done: string
  /** Question to confirm an action on several items. The question states the number of items. */
  readonly question?: { readonly label: (n: number) => string; readonly text: (n: number, issue: Issue) => ReactNode }
}

/** Texts for fixes, by the operation that fixes the issue. */
const fixes: Readonly<Record<string, Fix>> = {
  'account.resume': { verb: 'Resume account', done: 'Account resumed.' },
  'destination.resume': { verb: 'Resume destination', done: 'Destination resumed. It continues with waiting changes.' },
  'reconcile.request': { verb: 'Reconcile again', done: 'Reconcile run queued. See Reconcile.' },
  'inbox.replay': {
    verb: 'Replay deliveries',
    done: 'Deliveries queued to be processed again. See Deliveries.',
    question: {
      label: (n) => `Replay ${counted(n, 'delivery', 'deliveries')}`,
      text: () => 'Replay processes a delivery again as if it had just arrived. No data is duplicated.',
    },
  },
  'outbox.retry': {
    verb: 'Retry changes',
    done: 'Changes queued for retry. See Destinations.',
    question: {
      label: (n) => `Retry ${counted(n, 'change')}`,
      text: (n, { destination }) => destination !== null && <DeadChanges destination={destination} total={n} />,
    },
  },
}

/** Texts of links to changes that a person must resolve one by one, by the state of the changes. */
const linkTexts: Readonly<Record<string, string>> = {
  unmapped: 'Map submissions',
  held: 'Show blocking changes',
  unknown: 'Show changes',
}

/**
 * @returns a key of the issue. The key doesn't contain the issue's count or text, because these may change while the
 * user answers a question about the issue.
 */
function keyOf({ kind, account, destination, run_id, fix }: Issue): string {
  return JSON.stringify([kind, account, destination, run_id, fix])
}

/**
 * Lists the issues. A question stays open even if its issue is no longer listed. The program may leave out issues for a
 * moment, if it couldn't read them in time.
 */
export function Issues({ issues }: { readonly issues: readonly Issue[] }) {
  const [question, setQuestion] = useState<OpenQuestion | null>(null)
  return (
    <>
      {issues.length === 0 && (
        <p className="nothing line quiet">
          <CircleCheck aria-hidden="true" /> No action required.
        </p>
      )}
      {issues.length > 0 && (
        <ul className="issues">
          {issues.map((issue) => (
            <Row key={keyOf(issue)} issue={issue} onQuestion={setQuestion} />
          ))}
        </ul>
      )}
      {question && <Confirm {...question} onClose={() => setQuestion(null)} />}
    </>
  )
}

function Row({ issue, onQuestion }: { readonly issue: Issue; readonly onQuestion: (question: OpenQuestion) => void }) {
  const { fix } = issue
  const { verb, done, question }: Fix = fixes[fix.operation ?? ''] ?? { verb: 'Fix', done: 'Done.' }
  const action = useAction({ run: () => send(fix.method ?? 'POST', fix.path ?? '', fix.body), done: () => done })
  const ask = async ({ label, text }: NonNullable<Fix['question']>) => {
    const n = await countOf(issue)
    if (n > 0) return { title: `${label(n)}?`, confirmLabel: label(n), text: text(n, issue) }
    announce('Already resolved.')
    return null
  }
  return (
    <li>
      <span className="issue-what">
        <Sentence text={issue.what} />
      </span>
      <span className="issue-since number quiet">
        {issue.since !== null && (
          <>
            began <Age at={issue.since} />
          </>
        )}
      </span>
      <span className="issue-fix">
        {fix.path === undefined ? (
          <FixHint issue={issue} />
        ) : question === undefined ? (
          <ActionButton action={action} kind="primary">
            {verb}
          </ActionButton>
        ) : (
          <ConfirmButton
            kind="primary"
            isBusy={action.isPending}
            ask={() => ask(question)}
            onDo={action.mutate}
            onQuestion={(opened) => onQuestion({ ...opened, onDo: action.mutate })}
          >
            {verb}
          </ConfirmButton>
        )}
      </span>
    </li>
  )
}

/** Asks the program how many items the fix would change, without changing them. */
async function countOf({ fix, count: known }: Issue): Promise<number> {
  const answer = await send(fix.method ?? 'POST', fix.path ?? '', { ...fix.body, dry_run: true })
  const { changed, replayed } = (answer ?? {}) as { readonly changed?: number; readonly replayed?: number }
  return changed ?? replayed ?? known
}

/** Shows how to fix an issue without a fix button: a link to a page, a command, or a section of the runbook. */
function FixHint({ issue: { destination, run_id, kind, fix } }: { readonly issue: Issue }) {
  const { account, state: ofInput } = fix.input ?? {}
  const link = (text: string | undefined, to: LinkProps) => (
    <Link className="button small" {...to}>
      {text}
    </Link>
  )
  if (fix.operation === 'document.list') return link('Show documents', { to: '/documents', search: { account } })
  const state = fix.operation === 'destination.map' ? 'unmapped' : ofInput
  if (destination !== null && state !== undefined)
    return link(linkTexts[state], { to: '/destinations/$name', params: { name: destination }, search: { state } })
  if (run_id !== null) return link('Show run', { to: '/reconcile/$run_id', params: { run_id } })
  if (fix.command !== undefined) return <code className="small-text">{fix.command}</code>
  return fix.runbook === undefined ? null : <Runbook section={fix.runbook} kind={kind} />
}

/**
 * Pages that show the cause of an issue whose fix is in the runbook, by kind of issue. Other kinds link to the list of
 * alarms.
 */
const runbookPages: Readonly<
  Record<string, { readonly to: '/operations' | '/deliveries'; readonly hash?: string; readonly name: string }>
> = {
  account_throttled: { to: '/operations', hash: 'accounts', name: 'Show account' },
  identity_unknown: { to: '/operations', hash: 'accounts', name: 'Show account' },
  webhook_loss: { to: '/deliveries', name: 'Show deliveries' },
}

/** @param section file and heading in the runbook, such as `docker/runbook.md#the-disk-fills`. */
function Runbook({ section, kind }: { readonly section: string; readonly kind: string }) {
  const heading = (section.split('#')[1] ?? '').replaceAll('-', ' ')
  const { to, hash, name } = runbookPages[kind] ?? { to: '/operations', hash: 'alarms', name: 'Show alarm' }
  return (
    <span className="runbook">
      <span className="quiet">
        See “{heading.charAt(0).toUpperCase()}
        {heading.slice(1)}” in the runbook.
      </span>{' '}
      <Link className="button small" to={to} {...(hash && { hash })}>
        {name}
      </Link>
    </span>
  )
}

import { Link } from '@tanstack/react-router'
import { CircleCheck } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useAction } from '../../api/action.ts'
import { announce, announceRefusal } from '../../api/announce.ts'
import { reasonOf, type Schemas, send } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { count, counted } from '../../parts/numbers.ts'
import { Sentence } from '../../parts/sentence.tsx'
import { Age } from '../../parts/time.tsx'
import { DeadChanges } from '../destinations/dead-changes.tsx'

type Need = Schemas['Overview']['needs'][number]

interface Deed {
  /** Of the button. */
  readonly verb: string
  readonly done: string
  /** What is done to many things at once is asked first, with their number. */
  readonly asked?: { readonly deed: (n: number) => string; readonly what: (n: number, need: Need) => ReactNode }
}

/** In words, what each operation does that mends something. */
const deeds: Readonly<Record<string, Deed>> = {
  'account.resume': { verb: 'Resume account', done: 'The account tries again now.' },
  'destination.resume': { verb: 'Resume destination', done: 'The destination goes on; what waited is sent.' },
  'reconcile.request': { verb: 'Reconcile again', done: 'A run was asked for; see Reconcile.' },
  'inbox.replay': {
    verb: 'Replay deliveries',
    done: 'They will be worked again; see Deliveries.',
    asked: {
      deed: (n) => `Replay ${counted(n, 'delivery', 'deliveries')}`,
      what: (n) =>
        `${n === 1 ? 'It is' : 'They are'} worked again as if ${n === 1 ? 'it' : 'they'} had just come. What the mirror has already is not written twice.`,
    },
  },
  'outbox.retry': {
    verb: 'Retry changes',
    done: 'They will be sent again; see Destinations.',
    asked: {
      deed: (n) => `Retry ${counted(n, 'change')}`,
      what: (n, { destination }) => destination !== null && <DeadChanges destination={destination} total={n} />,
    },
  },
}

/** What a person looks at one by one, by the state that they are in. */
const lookedAt: Readonly<Record<string, string>> = {
  unmapped: 'Map submissions',
  held: 'Look at what holds them',
  unknown: 'Look at the changes',
}

/** The same when its count or its words change: what was asked about it is still being answered. */
function keyOf({ kind, account, destination, run_id, mend }: Need): string {
  return JSON.stringify([kind, account, destination, run_id, mend])
}

/** What needs a person, a row each; one quiet line when nothing does. */
export function Needs({ needs }: { readonly needs: readonly Need[] }) {
  if (needs.length === 0) {
    return (
      <p className="nothing">
        <CircleCheck aria-hidden="true" /> Nothing needs you.
      </p>
    )
  }
  return (
    <ul className="needs">
      {needs.map((need) => (
        <Row key={keyOf(need)} need={need} />
      ))}
    </ul>
  )
}

function Row({ need }: { readonly need: Need }) {
  const { mend } = need
  const { verb, done, asked: asking }: Deed = deeds[mend.operation ?? ''] ?? { verb: 'Mend', done: 'Done.' }
  const [asked, setAsked] = useState<number | null>(null)
  const [isCounting, setIsCounting] = useState(false)
  const action = useAction({ run: () => send(mend.method ?? 'POST', mend.path ?? '', mend.body), done: () => done })
  const ask = async () => {
    setIsCounting(true)
    try {
      const n = await countOf(need)
      if (n === 0) announce('There is none any more that this could be done to.')
      else setAsked(n)
    } catch (error) {
      announceRefusal(reasonOf(error))
    } finally {
      setIsCounting(false)
    }
  }
  return (
    <li>
      <span className="need-what">
        <Sentence text={need.what} />
      </span>
      <span className="need-count number">{count(need.count)}</span>
      <span className="need-since number">
        <Age at={need.since} />
      </span>
      <span className="need-mend">
        {mend.path === undefined ? (
          <How need={need} />
        ) : (
          <Button
            needs="operator"
            isSmall
            kind="primary"
            isBusy={action.isPending || isCounting}
            onClick={() => (asking === undefined ? action.mutate() : void ask())}
          >
            {verb}
          </Button>
        )}
        {asking && asked !== null && (
          <Confirm title={`${asking.deed(asked)}?`} deed={asking.deed(asked)} onDo={() => action.mutate()} onClose={() => setAsked(null)}>
            {asking.what(asked, need)}
          </Confirm>
        )}
      </span>
    </li>
  )
}

/** @returns to how many things the request would be done. */
async function countOf({ mend, count: known }: Need): Promise<number> {
  const answer = await send(mend.method ?? 'POST', mend.path ?? '', { ...mend.body, dry_run: true })
  const { changed, replayed } = (answer ?? {}) as { readonly changed?: number; readonly replayed?: number }
  return changed ?? replayed ?? known
}

/** Where no request mends it: the page where one looks, or what a person has to type or read. */
function How({ need: { destination, run_id, kind, mend } }: { readonly need: Need }) {
  const { account, state: ofInput } = mend.input ?? {}
  if (mend.operation === 'document.list') {
    return (
      <Link className="button small" to="/documents" search={{ account }}>
        Show documents
      </Link>
    )
  }
  const state = mend.operation === 'destination.map' ? 'unmapped' : ofInput
  if (destination !== null && state !== undefined) {
    return (
      <Link className="button small" to="/destinations/$name" params={{ name: destination }} search={{ state }}>
        {lookedAt[state]}
      </Link>
    )
  }
  if (run_id !== null) {
    return (
      <Link className="button small" to="/reconcile/$run_id" params={{ run_id }}>
        Look at the run
      </Link>
    )
  }
  if (mend.command !== undefined) return <code>{mend.command}</code>
  return mend.runbook === undefined ? null : <Runbook section={mend.runbook} kind={kind} />
}

/** Where one looks at what the runbook is about, by the kind of the matter. */
const looks: Readonly<Record<string, { readonly to: '/operations' | '/deliveries'; readonly hash?: string; readonly name: string }>> = {
  alarm: { to: '/operations', hash: 'alarms', name: 'Show the alarm' },
  account_throttled: { to: '/operations', hash: 'accounts', name: 'Show the account' },
  identity_unknown: { to: '/operations', hash: 'accounts', name: 'Show the account' },
  webhooks_lost: { to: '/deliveries', name: 'Show deliveries' },
}

/** @param section `docker/runbook.md#the-disk-fills`. */
function Runbook({ section, kind }: { readonly section: string; readonly kind: string }) {
  const heading = (section.split('#')[1] ?? '').replaceAll('-', ' ')
  const { to, hash, name } = looks[kind] ?? { to: '/operations', name: 'Show operations' }
  return (
    <span className="runbook">
      <span className="quiet">
        Read “{heading.charAt(0).toUpperCase()}
        {heading.slice(1)}” in the runbook.
      </span>{' '}
      <Link className="button small" to={to} {...(hash && { hash })}>
        {name}
      </Link>
    </span>
  )
}

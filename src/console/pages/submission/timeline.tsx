import { useInfiniteQuery } from '@tanstack/react-query'
import { Check, GitCommitHorizontal, ListChecks, type LucideIcon, MessageSquare, RefreshCw, Send, Webhook } from 'lucide-react'
import { useState } from 'react'
import { wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { timelineQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Clamped } from '../../parts/clamped.tsx'
import { Section } from '../../parts/fields.tsx'
import { MASK, Masked, Raw, textOf } from '../../parts/masked.tsx'
import { More } from '../../parts/more.tsx'
import { Asked, Empty } from '../../parts/states.tsx'
import { bothTimes, clockTime, dayOf, durationText } from '../../parts/time.tsx'
import { useMay } from '../../session/session.ts'

type Item = Schemas['TimelineItem']
type Kind = Item['kind']

const kinds: readonly (readonly [Kind, string])[] = [
  ['event', 'Events'],
  ['message', 'Messages'],
  ['change', 'Changes'],
  ['push', 'Pushes'],
]
/** What is told first: a change and a push tell the same once more, from within. */
const FIRST = 'event,message'
/** As many texts are shown at once. */
const MOST_TEXTS = 200
/** A record that became known later than this came late. */
const LATE_MS = 15 * 60_000

const ways: Readonly<Record<string, readonly [LucideIcon, string]>> = {
  webhook: [Webhook, 'received by webhook'],
  poll: [RefreshCw, 'found by polling'],
  replay: [RefreshCw, 'found by polling (full re-read)'],
  backfill: [RefreshCw, 'found in the history'],
  reconcile: [ListChecks, 'found by a reconcile run'],
}

/** What happened, the newest first, with how it became known and where it went. */
export function Timeline({ account, id }: { readonly account: string; readonly id: string }) {
  const [search, set] = useAddress()
  const chosen = (search['kinds'] ?? FIRST).split(',') as Kind[]
  const query = useInfiniteQuery(timelineQuery(account, id, chosen))
  const may = useMay('operator')
  // Asked for once, when somebody wants them: it is noted each time.
  const [texts, setTexts] = useState<ReadonlyMap<string, string | null>>(new Map())
  const showAll = useAction({
    run: () =>
      answered(
        api.GET('/api/v1/submissions/{account}/{submission_id}/texts', {
          params: { path: { account, submission_id: id }, query: { limit: MOST_TEXTS, kinds: chosen } },
        }),
      ),
    done: ({ items }) => {
      setTexts(new Map(items.map((item) => [`${item.kind} ${item.id}`, item.text])))
      return 'The texts are shown; it was noted who saw them.'
    },
  })
  const toggle = (kind: Kind) => {
    const next = chosen.includes(kind) ? chosen.filter((each) => each !== kind) : [...chosen, kind]
    set({ kinds: next.length > 0 ? next.join(',') : FIRST })
  }
  const toggles = kinds.map(([kind, name]) => (
    <button key={kind} type="button" className="toggle" aria-pressed={chosen.includes(kind)} onClick={() => toggle(kind)}>
      {name}
    </button>
  ))
  const actions = (
    <>
      {may && texts.size === 0 && (
        <Button needs="operator" isSmall isBusy={showAll.isPending} onClick={() => showAll.mutate()}>
          Show all texts
        </Button>
      )}
      {toggles}
    </>
  )
  return (
    <Section title="Timeline" actions={actions}>
      <Asked query={query} rows={5}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          if (items.length === 0) return <Empty>Nothing of these kinds has happened yet.</Empty>
          return (
            <>
              {[...Map.groupBy(items, ({ at }) => dayOf(at))].map(([day, entries]) => (
                <div key={day}>
                  <h3 className="day">{day}</h3>
                  <ol className="timeline">
                    {entries.map((item) => (
                      <Entry key={`${item.kind} ${item.id}`} item={{ ...item, text: texts.get(`${item.kind} ${item.id}`) ?? item.text }} />
                    ))}
                  </ol>
                </div>
              ))}
              <More pages={query} />
            </>
          )
        }}
      </Asked>
    </Section>
  )
}

function iconOf({ kind, known_via }: Item): LucideIcon {
  if (kind === 'push') return Send
  if (kind === 'message') return MessageSquare
  return ways[known_via ?? '']?.[0] ?? GitCommitHorizontal
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
/** As many letters tell whether two words are of one: `Quoted`, `quote received`. */
const STEM = 4

/** What happened in one wording, and what else is to be said: of an event the type and the state it led to often say the same. */
function wordsOf({ kind, what, summary }: Item): readonly [title: string, more: string | null] {
  const type = wordOf(what)
  if (summary === null) return [capital(type), null]
  if (kind !== 'event') return [summary, type]
  if (what === 'status_changed') return [summary, null]
  const isSame = summary.slice(0, STEM).toLowerCase() === type.slice(0, STEM).toLowerCase()
  return [capital(type), isSame ? null : summary]
}

function Entry({ item }: { readonly item: Item }) {
  const Icon = iconOf(item)
  const about = item.entity && item.row_key ? { table: item.entity, row: item.row_key } : null
  const [title, more] = wordsOf(item)
  return (
    <li className={`entry ${item.kind}${item.gone_at ? ' gone' : ''}`}>
      <span className="entry-at">
        <time dateTime={item.at} title={bothTimes(item.at)}>
          {clockTime(item.at)}
        </time>
      </span>
      <span className="entry-icon" title={ways[item.known_via ?? '']?.[1]}>
        <Icon aria-hidden="true" />
      </span>
      <div className="entry-what">
        <p>
          <strong>
            <bdi>{title}</bdi>
          </strong>{' '}
          <span className="quiet">
            {more} {item.party !== null && item.party !== MASK && <bdi>{item.party}</bdi>}
          </span>
          {item.gone_at && <Chip word="gone" tone="unknown" label="no longer shown by the service" />}
        </p>
        {item.text !== null && about && (
          <Clamped>
            <bdi>
              <Masked {...about} column={item.kind === 'message' ? 'body_text' : 'detail'} value={item.text} what="text" />
            </bdi>
          </Clamped>
        )}
        <Changes item={item} />
        <Known item={item} />
      </div>
      <Pushes item={item} />
      {about ? <Raw {...about} what={title} /> : <span />}
    </li>
  )
}

/** How it became known, and how late: a lost webhook is told of here. */
function Known({ item }: { readonly item: Item }) {
  const { late_ms: late, known_via: via, webhook } = item
  if (item.kind === 'push') return item.error === null ? null : <p className="entry-known bad">{item.error}</p>
  const way = ways[via ?? '']?.[1] ?? `found by ${via ?? 'the program'}`
  const isLost = webhook === 'none'
  const isLate = via !== 'backfill' && late !== null && late >= LATE_MS
  const words = [
    way,
    late !== null && via !== 'backfill' ? `${durationText(late)} after it happened` : null,
    isLost ? 'its webhook never came' : webhook === 'later' ? 'its webhook came later' : null,
  ]
  return <p className={`entry-known${isLost || isLate ? ' late' : ''}`}>{words.filter(Boolean).join(', ')}</p>
}

function Changes({ item }: { readonly item: Item }) {
  if (item.changed.length === 0) return null
  return (
    <ul className="changed">
      {item.changed.slice(0, 6).map(({ column, before, after }) => (
        <li key={column}>
          <span className="mono">{column}</span> <del>{textOf(before)}</del> → <ins>{textOf(after)}</ins>
        </li>
      ))}
      {item.changed.length > 6 && <li className="quiet">and {item.changed.length - 6} more columns</li>}
    </ul>
  )
}

/** Where it went: what is delivered needs no more than a mark. */
function Pushes({ item }: { readonly item: Item }) {
  return (
    <ul className="entry-pushes">
      {item.pushes.map(({ outbox_id, destination, state, delivered_at, resent }) => (
        <li key={outbox_id}>
          {state === 'delivered' ? (
            <span className="quiet" title={`delivered${delivered_at ? `, ${bothTimes(delivered_at)}` : ''}`}>
              <Check aria-label="delivered to" /> {destination}
              {resent && ', again'}
            </span>
          ) : (
            <>
              <span>
                {destination}
                {resent && ', again'}
              </span>{' '}
              <Chip word={state} />
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

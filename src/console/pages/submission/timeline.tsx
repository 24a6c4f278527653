import { useInfiniteQuery } from '@tanstack/react-query'
import { Check, GitCommitHorizontal, ListChecks, type LucideIcon, MessageSquare, RefreshCw, Send, Webhook } from 'lucide-react'
import { useState } from 'react'
import { wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { timelineQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { ActionButton } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { ClampedText } from '../../parts/clamped-text.tsx'
import { Section } from '../../parts/fields.tsx'
import { MASK, MaskedValue, Raw, textOf } from '../../parts/masked.tsx'
import { More } from '../../parts/more.tsx'
import { Empty, QueryState } from '../../parts/states.tsx'
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
/** Kinds of entries to show at first. Changes and pushes would repeat what events and messages say. */
const DEFAULT_KINDS = 'event,message'
const MAX_TEXTS = 200
/** A record counts as late if it was found more than this many ms after it occurred. */
const LATE_MS = 15 * 60_000

const sources: Readonly<Record<string, readonly [LucideIcon, string]>> = {
  webhook: [Webhook, 'received by webhook'],
  poll: [RefreshCw, 'found by polling'],
  full_read: [RefreshCw, 'found by polling (full re-read)'],
  backfill: [RefreshCw, 'imported from history'],
  reconcile: [ListChecks, 'found by a reconcile run'],
}

export function Timeline({ account, id }: { readonly account: string; readonly id: string }) {
  const [{ kinds: asked = DEFAULT_KINDS, at }, set] = useAddress()
  const chosen = asked.split(',') as Kind[]
  const query = useInfiniteQuery(timelineQuery(account, id, chosen, at))
  const may = useMay('operator')
  // Fetch the texts only if the user asks for them, because each fetch adds an entry to the audit log.
  const [texts, setTexts] = useState<ReadonlyMap<string, string | null>>(new Map())
  const showAll = useAction({
    run: () =>
      unwrap(
        api.GET('/api/v1/submissions/{account}/{submission_id}/texts', {
          params: { path: { account, submission_id: id }, query: { limit: MAX_TEXTS, kinds: chosen, ...(at !== undefined && { at }) } },
        }),
      ),
    done: ({ items }) => {
      setTexts(new Map(items.map((item) => [`${item.kind} ${item.id}`, item.text])))
      return 'All texts are shown. The audit log records who saw them.'
    },
  })
  const toggle = (kind: Kind) => {
    const next = chosen.includes(kind) ? chosen.filter((each) => each !== kind) : [...chosen, kind]
    set({ kinds: next.length > 0 ? next.join(',') : DEFAULT_KINDS })
  }
  const toggles = kinds.map(([kind, name]) => (
    <button key={kind} type="button" className="toggle quiet table-text" aria-pressed={chosen.includes(kind)} onClick={() => toggle(kind)}>
      {name}
    </button>
  ))
  const actions = (
    <>
      {may && texts.size === 0 && <ActionButton action={showAll}>Show message texts</ActionButton>}
      {toggles}
    </>
  )
  return (
    <Section title="Timeline" actions={actions}>
      <QueryState query={query} rows={5}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          if (items.length === 0) return <Empty>No entries of these kinds.</Empty>
          return (
            <>
              {[...Map.groupBy(items, ({ at }) => dayOf(at))].map(([day, entries]) => (
                <div key={day}>
                  <h3 className="day underlined quiet">{day}</h3>
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
      </QueryState>
    </Section>
  )
}

function iconOf({ kind, known_via }: Item): LucideIcon {
  if (kind === 'push') return Send
  if (kind === 'message') return MessageSquare
  return sources[known_via ?? '']?.[0] ?? GitCommitHorizontal
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
/**
 * Number of characters to compare. If two texts have the same beginning, such as `Quoted` and `quote received`, only
 * one of them is shown.
 */
const STEM = 4

/** @returns the title of an entry, and further text. The further text is null if it would repeat the title. */
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
    <li className={`entry table-text ${item.kind}${item.gone_at ? ' gone' : ''}`}>
      <span className="entry-at quiet">
        <time dateTime={item.at} title={bothTimes(item.at)}>
          {clockTime(item.at)}
        </time>
      </span>
      <span className="entry-icon quiet" title={sources[item.known_via ?? '']?.[1]}>
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
          {item.gone_at && <Chip word="gone" tone="unknown" label="no longer in the service" />}
        </p>
        {item.text !== null && about && (
          <ClampedText>
            <bdi>
              <MaskedValue {...about} column={item.kind === 'message' ? 'body_text' : 'detail'} value={item.text} what="text" />
            </bdi>
          </ClampedText>
        )}
        <Changes item={item} />
        <Discovery item={item} />
      </div>
      <Pushes item={item} />
      {about ? <Raw {...about} what={title} /> : <span />}
    </li>
  )
}

function Discovery({ item }: { readonly item: Item }) {
  const { late_ms: late, known_via: via, webhook } = item
  if (item.kind === 'push') return item.error === null ? null : <p className="small-text bad">{item.error}</p>
  const way = sources[via ?? '']?.[1] ?? `found by ${via ?? 'submission-mirror'}`
  const isLost = webhook === 'none'
  const isLate = via !== 'backfill' && late !== null && late >= LATE_MS
  const words = [
    way,
    late !== null && via !== 'backfill' ? `${durationText(late)} after the event` : null,
    isLost ? 'webhook lost' : webhook === 'later' ? 'webhook arrived later' : null,
  ]
  return <p className={isLost || isLate ? 'small-text late' : 'small-text quiet'}>{words.filter(Boolean).join(', ')}</p>
}

function Changes({ item }: { readonly item: Item }) {
  if (item.changed.length === 0) return null
  return (
    <ul className="changed small-text">
      {item.changed.slice(0, 6).map(({ column, before, after }) => (
        <li key={column}>
          <span className="mono">{column}</span> <del>{textOf(before)}</del> → <ins>{textOf(after)}</ins>
        </li>
      ))}
      {item.changed.length > 6 && <li className="quiet">and {item.changed.length - 6} more columns</li>}
    </ul>
  )
}

function Pushes({ item }: { readonly item: Item }) {
  return (
    <ul className="entry-pushes stack">
      {item.pushes.map(({ outbox_id, destination, state, delivered_at, resent }) => (
        <li key={outbox_id} className="cluster">
          {state === 'delivered' ? (
            <span className="quiet" title={`delivered${delivered_at ? `, ${bothTimes(delivered_at)}` : ''}`}>
              <Check aria-label="delivered to" /> {destination}
              {resent && ', sent again'}
            </span>
          ) : (
            <>
              <span>
                {destination}
                {resent && ', sent again'}
              </span>{' '}
              <Chip word={state} />
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

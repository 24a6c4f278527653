import { useSyncExternalStore } from 'react'

const SECOND_MS = 1_000
const DAY_MS = 86_400_000
const STEPS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const

const time = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false })
const minute = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const short = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hour12: false })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

/** @returns the time of day, in the reader's zone. */
export function clockTime(at: number | string): string {
  return time.format(new Date(at))
}

const longDay = new Intl.DateTimeFormat(undefined, { weekday: 'long', month: 'long', day: 'numeric', year: 'numeric' })

/** @returns the day of a moment, in the reader's zone. */
export function dayOf(at: string): string {
  return longDay.format(new Date(at))
}

/** @returns a date of the service, which belongs to no zone. */
export function dateText(date: string): string {
  const ms = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(ms) ? date : day.format(ms)
}

let nowMs = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** One clock for all ages on the page. */
function useNow(): number {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      timer ??= setInterval(() => {
        nowMs = Date.now()
        for (const each of listeners) each()
      }, SECOND_MS)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
    () => nowMs,
  )
}

/** @returns how long something takes or is ago: `4 min`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND_MS))
  for (const [unit, length] of STEPS) if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`
  return `${seconds} s`
}

/** The reader's time and UTC, for whoever points at an age. */
export function bothTimes(at: string): string {
  return `${whole.format(new Date(at))} · ${at.slice(0, 19).replace('T', ' ')} UTC`
}

interface AgeProps {
  readonly at: string | null | undefined
  readonly none?: string
  /** Whether it is a time to come, such as that of the next attempt; else what lies ahead is now, for clocks differ. */
  readonly mayLieAhead?: boolean
}

function ageText(ms: number, mayLieAhead: boolean): string {
  if (mayLieAhead && ms <= -SECOND_MS) return `in ${durationText(-ms)}`
  return ms < SECOND_MS ? 'now' : `${durationText(ms)} ago`
}

/** How long ago something was. */
export function Age({ at, none = '–', mayLieAhead = false }: AgeProps) {
  const now = useNow()
  if (!at) return <span className="quiet">{none}</span>
  const ms = now - Date.parse(at)
  return (
    <time dateTime={at} title={bothTimes(at)}>
      {ageText(ms, mayLieAhead)}
    </time>
  )
}

/** When figures were counted that are counted once a minute: `as of 12:03`; nothing where they are of now. */
export function AsOf({ at }: { readonly at: string | null | undefined }) {
  const now = useNow()
  if (!at) return null
  const isOld = now - Date.parse(at) > DAY_MS
  return (
    <time dateTime={at} title={bothTimes(at)}>
      as of {isOld ? momentText(at) : minute.format(new Date(at))}
    </time>
  )
}

interface MomentProps {
  readonly at: string | null | undefined
  readonly none?: string
}

/** @returns a moment in the reader's zone. */
export function momentText(at: string): string {
  return short.format(new Date(at))
}

/** When something was. */
export function Moment({ at, none = '–' }: MomentProps) {
  if (!at) return <span className="quiet">{none}</span>
  return (
    <time dateTime={at} title={bothTimes(at)}>
      {momentText(at)}
    </time>
  )
}

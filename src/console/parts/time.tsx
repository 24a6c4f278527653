import { createStore, useStore } from '../api/store.ts'

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

export function clockTime(at: number | string): string {
  return time.format(new Date(at))
}

const longDay = new Intl.DateTimeFormat(undefined, { weekday: 'long', month: 'long', day: 'numeric', year: 'numeric' })

export function dayOf(at: string): string {
  return longDay.format(new Date(at))
}

/** @param date a date from the service, such as `2026-01-31`. It belongs to no time zone. */
export function dateText(date: string): string {
  const ms = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(ms) ? date : day.format(ms)
}

const now = createStore(Date.now())
setInterval(() => now.set(Date.now()), SECOND_MS)

/** @returns a duration as text, such as `4 min`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND_MS))
  for (const [unit, length] of STEPS) if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`
  return `${seconds} s`
}

/** @returns a time as text for a tooltip: first in local time, then in UTC. */
export function bothTimes(at: string): string {
  return `${whole.format(new Date(at))} · ${at.slice(0, 19).replace('T', ' ')} UTC`
}

interface AgeProps {
  readonly at: string | null | undefined
  readonly none?: string
  /**
   * Whether `at` may be in the future. If false, a future time is shown as `now`, because the browser's clock
   * may be behind.
   */
  readonly canBeFuture?: boolean
}

function ageText(ms: number, canBeFuture: boolean): string {
  if (canBeFuture && ms <= -SECOND_MS) return `in ${durationText(-ms)}`
  return ms < SECOND_MS ? 'now' : `${durationText(ms)} ago`
}

export function Age({ at, none = '–', canBeFuture = false }: AgeProps) {
  const nowMs = useStore(now)
  if (!at) return <span className="quiet">{none}</span>
  const ms = nowMs - Date.parse(at)
  return (
    <time dateTime={at} title={bothTimes(at)}>
      {ageText(ms, canBeFuture)}
    </time>
  )
}

/** Shows a word and an age, such as `verified 2 h ago`. */
export function WordAndAge({ word, at }: Pick<AgeProps, 'at'> & { readonly word: string }) {
  return (
    <>
      {word} <Age at={at} />
    </>
  )
}

/**
 * Shows when cached numbers were counted, such as `as of 12:03`. If `at` is null, the numbers are current, and nothing
 * is shown.
 */
export function AsOf({ at }: { readonly at: string | null | undefined }) {
  const nowMs = useStore(now)
  if (!at) return null
  const isOld = nowMs - Date.parse(at) > DAY_MS
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

export function momentText(at: string): string {
  return short.format(new Date(at))
}

export function Moment({ at, none = '–' }: MomentProps) {
  if (!at) return <span className="quiet">{none}</span>
  return (
    <time dateTime={at} title={bothTimes(at)}>
      {momentText(at)}
    </time>
  )
}

import type { ColumnTypes } from '../src/store/schema/migration.ts'
import { same } from './expressions.ts'

/*
 * What quotes are, as expressions of a row of `quotes`. Each looks only at its own lane or submission, by its key.
 */

function sameLane(a: string, b: string): string {
  return `${a}.account = ${b}.account and ${a}.submission_id = ${b}.submission_id and ${a}.lane_id = ${b}.lane_id`
}

/**
 * Whether a revision of the same lane and lines has come since: true when it was first seen later, null when both were first seen together. The
 * service does not say which quote a revision replaces.
 */
export function maybeSuperseded(t: ColumnTypes, quote: string): string {
  return `case when ${quote}.is_revision is true then false else (
    select case when max(r.first_seen_at) > ${quote}.first_seen_at then true
      when max(r.first_seen_at) = ${quote}.first_seen_at then null else false end
    from quotes r where ${sameLane('r', quote)} and r.is_revision is true and r.gone_at is null and ${same(t, 'r.lines', `${quote}.lines`)}) end`
}

/** Whether a quote is shown and no later revision is known to replace it. */
export function isCurrent(t: ColumnTypes, quote: string): string {
  return `${quote}.gone_at is null and (${maybeSuperseded(t, quote)}) is not true`
}

/** A bound bind request that names a quote of this submission. */
function boundRequest(quote: string): string {
  return `b.account = ${quote}.account and b.submission_id = ${quote}.submission_id and b.quote_id = ${quote}.quote_id and b.status = 'bound'
      and b.gone_at is null`
}

/** Whether a bound bind request names a quote of the lane. */
export function isBoundByRequest(lane: string): string {
  return `exists (select 1 from quotes q join bind_requests b on ${boundRequest('q')} where ${sameLane('q', lane)})`
}

/**
 * Whether the quote is what its lane is bound at: a bound bind request names it, or it is the only current one of a bound lane. Null when the
 * lane is bound and no such request names one of its several current quotes.
 * @param lane its row of `lanes`.
 */
export function isBoundQuote(t: ColumnTypes, quote: string, lane: string): string {
  return `case when exists (select 1 from bind_requests b where ${boundRequest(quote)}) then true
    when ${lane}.bound is not true then false
    when ${isBoundByRequest(lane)} then false
    else (select case when count(*) = 1 then max(o.quote_id) = ${quote}.quote_id end
      from quotes o where ${sameLane('o', quote)} and ${isCurrent(t, 'o')}) end`
}

/** A value of the quote named by bind request `b` and of its lane `l`; null unless exactly one lane has that quote. */
export function ofNamedQuote(column: string): string {
  return `(select case when count(*) = 1 then max(${column}) end
      from quotes q left join lanes l on ${sameLane('l', 'q')}
      where q.account = b.account and q.submission_id = b.submission_id and q.quote_id = b.quote_id)`
}

import { items, section, value, words } from './builders.ts'
import { matching } from './values.ts'

const path = value(
  matching(
    /^(?=.{1,200}$)[^\s.]+(?:\.[^\s.]+)*$/,
    'must be a path: keys of the record, joined by dots, such as premium.total_billed_cents',
  ),
)

function lookedForAt(...paths: string[]) {
  return items(path, 20, words).prefault(paths)
}

/**
 * Where columns of policies and insureds are looked for. The service shows no fields of these records, so the defaults are guesses: the
 * sandbox's fields first, then names that its words suggest. Amounts are guessed only where the name says that they are cents.
 */
export const recordFieldsSchema = section({
  policies: section({
    policy_number: lookedForAt('policy_number', 'identifiers.policy_number', 'number'),
    carrier_name: lookedForAt('carrier.name', 'carrier.carrier_name', 'carrier_name', 'carrier'),
    effective_date: lookedForAt('term.effective_date', 'effective_date', 'term.start_date'),
    expiration_date: lookedForAt('term.expiration_date', 'expiration_date', 'term.end_date'),
    total_billed_cents: lookedForAt('premium.total_billed_cents', 'premium_breakdown.total_billed_cents', 'total_billed_cents'),
    commission_cents: lookedForAt('commission.amount_cents', 'commission.commission_cents', 'commission_amount_cents', 'commission_cents'),
  }).prefault({}),
  insureds: section({
    legal_name: lookedForAt('name', 'legal_name', 'identity.name', 'identity.legal_name'),
    dba_name: lookedForAt('dba_name', 'dba', 'identity.dba_name', 'identity.dba'),
  }).prefault({}),
})

import type { ColumnPaths } from '../../model/record-fields.ts'
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

/** Returns its argument. Without this transform, `Config` would contain the names of columns in camel case. */
const asColumns = (paths: ColumnPaths): ColumnPaths => paths

/**
 * Paths of column values in the service's records of policies and insureds. The specification doesn't show the fields
 * of these records, so the defaults are guesses. The sandbox's fields come first, then names that the specification's
 * text suggests.
 * An amount is guessed only from a name with "cents".
 */
export const recordFieldsSchema = section({
  policies: section({
    policy_number: lookedForAt('policy_number', 'identifiers.policy_number', 'number'),
    lines: lookedForAt('coverage_lines', 'lines', 'lines_of_business'),
    carrier_name: lookedForAt('carrier.name', 'carrier.carrier_name', 'carrier_name', 'carrier'),
    naic_code: lookedForAt('underwriting_paper.naic_code', 'paper.naic_code', 'carrier.naic_code', 'naic_code'),
    admitted: lookedForAt('underwriting_paper.admitted', 'paper.admitted', 'carrier.admitted', 'admitted'),
    effective_date: lookedForAt('term.effective_date', 'effective_date', 'term.start_date'),
    expiration_date: lookedForAt('term.expiration_date', 'expiration_date', 'term.end_date'),
    net_premium_cents: lookedForAt(
      'premium.net_cents',
      'premium.net_premium_cents',
      'premium_breakdown.net_premium_cents',
      'net_premium_cents',
    ),
    fees_cents: lookedForAt('premium.fees_cents', 'premium_breakdown.fees_cents', 'fees_cents'),
    taxes_cents: lookedForAt('premium.taxes_cents', 'premium_breakdown.taxes_cents', 'taxes_cents'),
    total_billed_cents: lookedForAt('premium.total_billed_cents', 'premium_breakdown.total_billed_cents', 'total_billed_cents'),
    commission_rate: lookedForAt('commission.rate', 'commission.commission_rate', 'commission_rate'),
    commission_cents: lookedForAt('commission.amount_cents', 'commission.commission_cents', 'commission_amount_cents', 'commission_cents'),
    payment_terms: lookedForAt('payment_terms', 'payment.terms'),
  })
    .transform(asColumns)
    .prefault({}),
  insureds: section({
    legal_name: lookedForAt('name', 'legal_name', 'identity.name', 'identity.legal_name'),
    dba_name: lookedForAt('dba_name', 'dba', 'identity.dba_name', 'identity.dba'),
    entity_type: lookedForAt('entity_type', 'identity.entity_type'),
    naics: lookedForAt('naics', 'naics_code', 'identity.naics', 'identity.naics_code'),
    sic: lookedForAt('sic', 'sic_code', 'identity.sic', 'identity.sic_code'),
    mailing_address: lookedForAt('mailing_address', 'identity.mailing_address', 'address'),
    contacts: lookedForAt('contacts', 'active_contacts'),
  })
    .transform(asColumns)
    .prefault({}),
})

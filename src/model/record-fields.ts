type Paths<Column extends string> = Readonly<Record<Column, readonly string[]>>

/**
 * Where columns of policies and insureds are looked for in their records, whose fields the service does not show. For each column, paths in
 * order: keys of the record, joined by dots.
 */
export interface RecordFields {
  readonly policies: Paths<
    | 'policy_number'
    | 'lines'
    | 'carrier_name'
    | 'naic_code'
    | 'admitted'
    | 'effective_date'
    | 'expiration_date'
    | 'net_premium_cents'
    | 'fees_cents'
    | 'taxes_cents'
    | 'total_billed_cents'
    | 'commission_rate'
    | 'commission_cents'
    | 'payment_terms'
  >
  readonly insureds: Paths<'legal_name' | 'dba_name' | 'entity_type' | 'naics' | 'sic' | 'mailing_address' | 'contacts'>
}

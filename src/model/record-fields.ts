type Paths<Column extends string> = Readonly<Record<Column, readonly string[]>>

/**
 * Where columns of policies and insureds are looked for in their records, whose fields the service does not show. For each column, paths in
 * order: keys of the record, joined by dots.
 */
export interface RecordFields {
  readonly policies: Paths<
    'policy_number' | 'carrier_name' | 'effective_date' | 'expiration_date' | 'total_billed_cents' | 'commission_cents'
  >
  readonly insureds: Paths<'legal_name' | 'dba_name'>
}

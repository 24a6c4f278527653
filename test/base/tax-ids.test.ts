import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { isHarmless, rewriteJsonText, rewriteWords } from '../../src/base/tax-id-text.ts'
import { isOptionsKey, isSubjectKey, isValueKey, taxIdKeys } from '../../src/base/tax-ids.ts'
import { entities } from '../../src/model/entities.ts'

const keys = taxIdKeys(['owner_no'])

const TAX_IDS = `
  fein fein_or_ssn FEIN feins FEINs fein_number feinNumber FEINNumber feinnumber FEIN_1 fein_value fein_masked fein-normalized applicant.fein
  ssn SSN ssns ssn_number ssnLast4 ssn_last_4 owner_ssn ownerSsn ownerSSN SSNOwner applicantssn S.S.N. ssn_of_owner primary_ssn_encrypted
  ein EIN ein_number einNumber EIN_A federal_ein eins tin TIN tin_no itin itin_number
  tax_id taxId TaxID TAX_ID taxid tax_ids taxIds tax-id tax_id_number taxIdNumber TaxIdentifier tax_identifier tax_identification_number
  NamedInsured_TaxIdentifier_A NamedInsured.TaxIdentifier[0] taxpayer_id TaxPayerId taxPayerIdentificationNumber federal_tax_id
  federal_id federalId FederalID fed_id fed_tax_id federal_employer_id federalEmployerIdentificationNumber employer_identification_number
  employerIdentificationNumber employer_id_number tax_number tax_no irs_number social_security_number socialSecurityNumber social_security
  SocialSecurityNo owner_no ownerNo owner_no_2 social_sec_no socSec soc_sec_num ss_number SSNumber fed_emp_id FedEmplId ein_raw ein_company
  EIN_applicant E.I.N. tin_masked companyein insuredtin tax_ident taxIdentity tax_reference_number taxRef tax_registration_no national_id
  nationalIdNumber tin_owner tinOfApplicant SS# Tax# IRS# taxpayer#`
const OTHERS = `
  tax taxes tax_cents state_tax_cents premium_tax net_taxes tax_exempt tax_year taxable taxonomy taxi_driver tax_state sales_tax_rate
  session_id assessment assessment_id federal_state federal federal_program_id business_name class_number business classNumber
  protein casein einstein rating outstanding tin_roof martin tinted pertinent_no certain beginning
  tax_id_type tax_id_kind fein_status fein_required ssn_document_id ssn_document_ids fein_question_id ssn_verified_at tax_id_options
  TaxIdentifierType_A missing_ssn_count employer_id employer_name social security security_number owner_name owner_no_type
  submission_id client_id fact_key question_key content_hash identity_id network_id statement_number
  assn assn_number class_no business_number social_section soc_security_monitoring tin_roof_company fed_employee_count
  tax_refund tax_return tax_region international_id national_carrier national_program national_insurance_company nationality policy# class# tin_roof_owner subject`
const words = (text: string) => text.split(/\s+/).filter((word) => word !== '')

describe('the keys of tax ids', () => {
  it.each(words(TAX_IDS))('%s is one, and is found in JSON text', (key) => {
    expect(keys.has(key)).toBe(true)
    expect(keys.mayBeIn(JSON.stringify({ [key]: 1 }))).toBe(true)
    expect(keys.mayBeIn(JSON.stringify(JSON.stringify({ a: { [key]: 1 } })))).toBe(true)
  })
  it.each(words(OTHERS))('%s is none', (key) => {
    expect(keys.has(key)).toBe(false)
  })
  it('match only the columns of the mirror and fields of the service that contain one', async () => {
    const columns = entities.flatMap((entity) => Object.keys(entity.columns))
    expect(columns.filter((column) => keys.has(column))).toEqual([])
    const folder = new URL('../../src/client/schemas/', import.meta.url)
    const schemas = await Promise.all((await readdir(folder)).map((name) => readFile(new URL(name, folder), 'utf8')))
    const fields = schemas.flatMap((text) => text.match(/\b[a-z_]+(?=:)/g) ?? [])
    expect(fields.length).toBeGreaterThan(300)
    expect(new Set(fields.filter((field) => keys.has(field)))).toEqual(new Set(['fein_or_ssn']))
  })
  it.each([
    'FEIN or SSN',
    "What is the applicant's FEIN?",
    'Federal Tax ID (FEIN)',
    'Which SSN is on file',
    'fein',
    'Social Security #',
    'Owner SS #',
  ])('%s names a tax id', (text) => expect(keys.isName(text)).toBe(true))
  it.each(['SSN 123-45-6789', 'Tax ID type', 'Premium tax', 'Tin Roof Bakery'])('%s names none', (text) =>
    expect(keys.isName(text)).toBe(false),
  )
  it('appear under keys of these kinds', () => {
    const subjects = 'key question_key fieldName field_name title type label id name code question_text display_name'
    const others = 'insured_name file_name market_id text document_id company_name source_id subject'
    expect(words(subjects).filter((key) => !isSubjectKey(key))).toEqual([])
    expect(words(others).filter((key) => isSubjectKey(key))).toEqual([])
    const values =
      'value values data val display_value valueString raw_value answer answer_text number id_number old_value new text snippet'
    const none = 'answer_type value_type input data_type help_text question_text options label how_to_provide markets confirmed source_id'
    expect(words(values).filter((key) => !isValueKey(key))).toEqual([])
    expect(words(none).filter((key) => isValueKey(key))).toEqual([])
    expect(isOptionsKey('allowed_options')).toBe(true)
  })
})

describe('long and strange text', () => {
  const rewriting = { keys, replace: (value: string) => (isHarmless(value, keys) ? value : '"X"') }
  it('is searched in linear time', () => {
    const deep = `${'{"key":"a","value":1,"x":'.repeat(20_000)}{"fein":"12-3456789"}${'}'.repeat(20_000)}`
    expect(rewriteJsonText(deep, rewriting)).not.toContain('3456789')
    const values = `${'[{"value":1,"x":'.repeat(20_000)}1${'}]'.repeat(20_000)}`
    expect(rewriteJsonText(`{"key":"fein","y":${values}}`, rewriting)).toContain('"value":"X"')
    const quotes = `${'"'.repeat(200_000)}{`
    expect(rewriteWords(quotes, rewriting)).toBe(quotes)
    const slashes = `{${'\\'.repeat(200_000)}"`
    expect(rewriteWords(slashes, rewriting)).toBe(slashes)
  })
  it.each([
    ['answered 400: {"fein":"12-3456789"}', 'answered 400: {"fein":"X"}'],
    ['answered "no": {"fein":"12-3456789","cut', 'answered "no": {"fein":"X","cut'],
    ['answered "{\\"fein\\":\\"12-3456789\\"}"', 'answered "{\\"fein\\":\\"X\\"}"'],
    ['answered {\\"fein\\":\\"12-3456789\\"}', 'answered {"fein":"X"}'],
    ['see [1] and {2}', 'see [1] and {2}'],
  ])('%s', (given, expected) => expect(rewriteWords(given, rewriting)).toBe(expected))
})

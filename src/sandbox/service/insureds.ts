import type { PlainObject } from '../world/plain.ts'
import type { Submission } from '../world/submission.ts'
import { policiesOf } from './policies.ts'

/**
 * Fields of an insured record besides its name. The specification doesn't define these fields, so the sandbox shows
 * fields of the applicant (see `GET /_sandbox/variants`).
 */

const identityFields = [
  'dba_name',
  'entity_type',
  'nature_of_business',
  'date_business_started',
  'business_phone',
  'business_email',
  'website',
  'naics',
  'sic',
  'mailing_address',
] as const

/**
 * @param submissions all submissions of a brokerage, oldest first.
 * @returns the insured record; undefined if the insured is unknown.
 */
export function insuredOf(insuredId: string, submissions: readonly Submission[]) {
  const own = submissions.filter((one) => one.insuredId === insuredId)
  const [first] = own
  if (!first) return undefined
  const applicants = own.flatMap(({ records }) => applicantOf(records.brief?.body))
  const latest = (field: string) => applicants.findLast((applicant) => (applicant[field] ?? null) !== null)?.[field] ?? null
  return {
    insured_id: insuredId,
    name: first.facts.insured_name,
    ...Object.fromEntries(identityFields.map((field) => [field, latest(field)])),
    contacts: contactsOf(applicants),
    submissions: own.map(({ id }) => ({ submission_id: id })),
    policies: own.flatMap(policiesOf).map(({ policy_id, submission_id }) => ({ policy_id, submission_id })),
  }
}

function applicantOf(body: PlainObject | undefined): PlainObject[] {
  const applicant = body?.['applicant']
  return typeof applicant === 'object' && applicant !== null && !Array.isArray(applicant) ? [applicant as PlainObject] : []
}

function contactsOf(applicants: readonly PlainObject[]): PlainObject[] {
  const contacts = new Map<string, PlainObject>()
  for (const applicant of applicants) {
    const named = ['first_name', 'last_name', 'title', 'phone', 'email'].map(
      (name) => [name, applicant[`contact_${name}`] ?? null] as const,
    )
    const contact = Object.fromEntries(named)
    const { first_name: first, last_name: last, email } = contact
    if (named.some(([, value]) => value !== null)) contacts.set(`${first ?? ''} ${last ?? ''} ${email ?? ''}`.toLowerCase(), contact)
  }
  return [...contacts.values()].map((contact) => ({ ...contact, active: true }))
}

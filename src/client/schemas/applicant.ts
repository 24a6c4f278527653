import { z } from 'zod'
import { filled, sentDay, text } from './fields.ts'

/** `line1`, `city`, `state`, and `zip` are required. */
export const addressSchema = z
  .looseObject({
    line1: text('First line'),
    line2: text('Second line'),
    city: text('City'),
    county: text('County'),
    state: z.string().length(2).describe('State, exactly 2 characters'),
    zip: text('ZIP code'),
    zip4: text('ZIP+4 extension'),
    country: z.string().meta({ description: 'Country', default: 'US' }),
  })
  .partial()
  .required({ line1: true, city: true, state: true, zip: true })
  .describe('A postal address')

export const applicantSchema = z
  .looseObject({
    insured_name: filled('Name of the insured, at most 256 characters').max(256),
    dba_name: text('Name that the insured does business as'),
    entity_type: text('Legal entity type such as llc, corporation, sole_proprietor'),
    fein_or_ssn: text('FEIN, or SSN for a sole proprietor'),
    nature_of_business: text('Nature of the business'),
    date_business_started: sentDay('Day on which the business started'),
    business_phone: text('Phone number of the business'),
    business_email: text('E-mail address of the business'),
    website: text('Website of the business'),
    contact_first_name: text('First name of the contact'),
    contact_last_name: text('Last name of the contact'),
    contact_title: z.string().max(128).describe('Title of the contact, at most 128 characters'),
    contact_phone: text('Phone number of the contact'),
    contact_email: text("The producer's e-mail address: clearance, questions and quotes are sent there"),
    naics: text('NAICS code'),
    sic: z.string().max(64).describe('SIC code, at most 64 characters'),
    gl_code: z.string().max(64).describe('General liability class code, at most 64 characters'),
    mailing_address: addressSchema,
  })
  .partial()
  .required({ insured_name: true })
  .describe('Who is to be insured')

export const locationSchema = z
  .looseObject({
    location_number: z.int().min(1).describe('Number of the location, unique within the submission'),
    address: addressSchema,
    description_of_operations: z.string().max(10_000).describe('What is done there, at most 10000 characters'),
    employees_full_time: z.int().min(0).describe('Employees in full time'),
    employees_part_time: z.int().min(0).describe('Employees in part time'),
    annual_revenue_at_location: z.number().min(0).describe('Annual revenue at the location'),
  })
  .partial()
  .required({ location_number: true, address: true })
  .describe('A location of the insured')

/** All fields are optional. Used for loss-run requests. */
export const priorCarrierSchema = z
  .looseObject({
    coverage_category: text('Canonical line slug or common alias'),
    carrier_name: text('Name of the carrier'),
    policy_number: text('Number of the policy'),
    effective_date: sentDay('First day of the policy'),
    expiration_date: sentDay('Last day of the policy'),
  })
  .partial()
  .describe('An earlier policy; drives loss-run requests')

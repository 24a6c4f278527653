import type { ProgramCategory } from './wire.ts'

export interface Trade {
  readonly suffixes: readonly string[]
  readonly lines: readonly string[]
  readonly forms: readonly string[]
  readonly questions: readonly (readonly [question: string, answer: string])[]
}

export const trades: readonly Trade[] = [
  {
    suffixes: ['Roofing', 'Roofing & Sheet Metal', 'Exteriors'],
    lines: ['general_liability', 'workers_compensation', 'commercial_auto'],
    forms: ['acord_125', 'acord_126', 'acord_130', 'contractors_supplement'],
    questions: [
      ['What share of the work is torch-applied or hot tar?', 'None since 2021. Everything is TPO or standing seam metal.'],
      ['Maximum height of the buildings you work on?', 'Four storeys, about 55 feet.'],
    ],
  },
  {
    suffixes: ['Kitchen', 'Taproom', 'Bistro', 'Grill & Bar'],
    lines: ['general_liability', 'commercial_property', 'liquor_liability'],
    forms: ['acord_125', 'acord_126', 'acord_140', 'restaurant_supplement'],
    questions: [
      ['Please confirm the share of sales from alcohol.', '28 % over the last twelve months.'],
      ['Is the hood suppression system on a service contract?', 'Yes, serviced every six months; the tag is attached to the file.'],
    ],
  },
  {
    suffixes: ['Machine Works', 'Precision', 'Tool & Die'],
    lines: ['general_liability', 'commercial_property', 'umbrella'],
    forms: ['acord_125', 'acord_126', 'acord_140', 'acord_131'],
    questions: [
      ['Do any parts go into aircraft?', 'No. Agricultural and food-processing equipment only.'],
      ['Sprinkler coverage of the production hall?', 'Fully sprinklered, wet system, inspected in March.'],
    ],
  },
  {
    suffixes: ['Landscaping', 'Grounds Care', 'Lawn & Snow'],
    lines: ['general_liability', 'workers_compensation', 'inland_marine'],
    forms: ['acord_125', 'acord_126', 'acord_130'],
    questions: [
      ['Is snow removal more than 25 % of revenue?', 'About 18 % in an average winter.'],
      ['Any tree work above 20 feet?', 'We subcontract that, with certificates on file.'],
    ],
  },
  {
    suffixes: ['Systems', 'IT Partners', 'Networks'],
    lines: ['professional_liability', 'cyber', 'general_liability'],
    forms: ['acord_125', 'cyber_supplement', 'eo_supplement'],
    questions: [
      ['Is multi-factor authentication enforced for all remote access?', 'Yes, for staff and for every client tenant we administer.'],
      ['Largest client as a share of revenue?', 'One clinic group at 14 %.'],
    ],
  },
  {
    suffixes: ['Freight', 'Hauling', 'Transport'],
    lines: ['commercial_auto', 'motor_truck_cargo', 'general_liability'],
    forms: ['acord_125', 'acord_127', 'acord_129', 'trucking_supplement'],
    questions: [
      [
        'Please send the driver list with dates of birth and years of experience.',
        'Attached: eleven drivers, all with at least four years.',
      ],
      ['Radius of operation?', 'Up to 300 miles; two states.'],
    ],
  },
]

export const owners = [
  'Bellweather',
  'Cedar Hollow',
  'Ostrander',
  'Três Rios',
  'Kowalczyk',
  'Bluestem',
  'Harrow',
  'Nguyễn & Sons',
  "O'Dell",
  'Silverlake',
] as const
export const moreOwners = [
  'Fairmont',
  'Castañeda',
  'Larkspur',
  'Whitcomb',
  'Juniper Ridge',
  'Delacroix',
  'Prairie Star',
  'Tidewater',
] as const
export const endings = ['LLC', 'Inc.', 'Co.', 'Group LLC'] as const
export const states = ['TX', 'OH', 'CO', 'GA', 'WI', 'OR', 'PA', 'AZ', 'NC', 'MN'] as const
export const producers = ['dana.reyes', 'm.lindqvist', 'priya.shah', 'tom.abernathy', 'jo.castellano'] as const
export const brokerages = ['Summit & Vale Insurance', 'Northbridge Risk Partners', 'Copperfield Brokerage', 'Lakeshore Commercial'] as const

export interface Market {
  readonly name: string
  readonly slug: string
  readonly program: string
  readonly category: ProgramCategory
  readonly channel: 'email' | 'api' | 'portal'
}

export const markets: readonly Market[] = [
  { name: 'Quickwell Commercial', slug: 'quickwell', program: 'Quickwell Main Street', category: 'instant_quote', channel: 'api' },
  { name: 'Beacon Direct', slug: 'beacon-direct', program: 'Beacon Small Business', category: 'instant_quote', channel: 'api' },
  { name: 'Corvid Digital', slug: 'corvid', program: 'Corvid Package', category: 'instant_quote', channel: 'api' },
  { name: 'Stonegate Mutual', slug: 'stonegate', program: 'Stonegate Artisan', category: 'binding', channel: 'portal' },
  { name: 'Prairie National', slug: 'prairie-national', program: 'Prairie Select BOP', category: 'binding', channel: 'portal' },
  { name: 'Harborline', slug: 'harborline', program: 'Harborline Middle Market', category: 'binding', channel: 'portal' },
  { name: 'Alder Point Specialty', slug: 'alder-point', program: 'Alder Point E&S Casualty', category: 'specialty', channel: 'email' },
  { name: 'Kestrel Underwriting', slug: 'kestrel', program: 'Kestrel Contractors', category: 'specialty', channel: 'email' },
  { name: 'Northfork Surplus', slug: 'northfork', program: 'Northfork Property', category: 'specialty', channel: 'email' },
]

export const categoryLabels: Readonly<Record<ProgramCategory, string>> = {
  instant_quote: 'Instant Quote',
  binding: 'Binding',
  specialty: 'Specialty',
}

export const declineReasons = [
  'Loss experience over the last five years exceeds the program tolerance (3 claims, $84,200 incurred).',
  'Class of business is outside of appetite in this state.',
  'Location is within the coastal exclusion zone of the program.',
  'Years in business below the program minimum of three.',
] as const

export const blockReasons = [
  'A carrier account under another agency of record exists for this insured.',
  'The carrier portal refuses new business for this class until the next filing.',
] as const
